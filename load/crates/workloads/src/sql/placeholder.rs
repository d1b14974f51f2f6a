//! The meaning of a placeholder, and the draws of its values.

use crate::statement::Parameters;
use contend_random::{Distribution, ZIPFIAN_EXP_MAX};
use contend_random::{Sampler, Shape, Stream};

/// An argument of a placeholder's type.
#[derive(Clone, Debug, PartialEq)]
pub enum Argument {
    Int(i64),
    Real(f64),
    Text(String),
}

/// The source of a placeholder's values.
#[derive(Clone, Debug)]
pub enum Source {
    /// A whole number: `low` plus what the sampler draws from zero on.
    Int {
        low: i64,
        offset: Sampler,
    },
    Double {
        low: f64,
        high: f64,
    },
    /// Text by a template, see [`Stream::fill_template`].
    Template(Vec<u8>),
    /// One of these, each equally likely.
    Choice(Vec<Argument>),
    /// The number of the event, counted from this: no two events have the same.
    Serial(i64),
}

impl PartialEq for Source {
    fn eq(&self, other: &Self) -> bool {
        // Only tests compare sources, and what they print is what they are.
        format!("{self:?}") == format!("{other:?}")
    }
}

/// The types with their arguments, as a refusal lists them.
const TYPES: [(&str, &str); 9] = [
    ("uniform", "uniform(low, high)"),
    ("gaussian", "gaussian(low, high)"),
    ("special", "special(low, high)"),
    ("pareto", "pareto(low, high) or pareto(low, high, h)"),
    (
        "zipfian",
        "zipfian(low, high) or zipfian(low, high, exponent)",
    ),
    ("double", "double(low, high)"),
    (
        "text",
        "text('template'), where # is a digit and @ a letter",
    ),
    ("choice", "choice('a', 'b', 3)"),
    ("serial", "serial(first)"),
];

impl Source {
    /// The source that a script names.
    ///
    /// # Errors
    /// The name or the arguments are wrong.
    pub fn new(kind: &str, arguments: Vec<Argument>) -> Result<Self, String> {
        use Argument::{Int, Real, Text};
        let Some((_, usage)) = TYPES.iter().find(|(name, _)| *name == kind) else {
            let names: Vec<&str> = TYPES.iter().map(|(name, _)| *name).collect();
            return Err(format!(
                "unknown type {kind:?}; the types are {}",
                names.join(", ")
            ));
        };
        match (kind, Distribution::usual(kind), arguments.as_slice()) {
            (_, Some(usual), [Int(low), Int(high)]) => int(*low, *high, usual),
            ("pareto", _, [Int(low), Int(high), Real(h)]) if *h > 0.0 && *h < 1.0 => {
                int(*low, *high, Distribution::Pareto { h: *h })
            }
            ("pareto", _, [_, _, _]) => Err("use a third argument between 0 and 1".to_owned()),
            ("zipfian", _, [Int(low), Int(high), exponent]) => match number(exponent) {
                Some(exp) if (0.0..=ZIPFIAN_EXP_MAX).contains(&exp) => {
                    int(*low, *high, Distribution::Zipfian { exp })
                }
                _ => Err(format!(
                    "the third argument must be between 0 and {ZIPFIAN_EXP_MAX}"
                )),
            },
            ("double", _, [low, high]) => match (number(low), number(high)) {
                (Some(low), Some(high)) if low > high => Err(format!("{low} is above {high}")),
                // The width is what a draw is a share of.
                (Some(low), Some(high)) if !(high - low).is_finite() => Err(format!(
                    "{low:e} to {high:e} is too wide a range for a double"
                )),
                (Some(low), Some(high)) => Ok(Self::Double { low, high }),
                _ => Err(format!("write {usage}")),
            },
            ("text", _, [Text(template)]) => Ok(Self::Template(template.clone().into_bytes())),
            ("choice", _, [_, ..]) => Ok(Self::Choice(arguments)),
            ("serial", _, [Int(first)]) => Ok(Self::Serial(*first)),
            _ => Err(format!("write {usage}")),
        }
    }

    /// Appends the value of event number `cycle`; `stream` is the placeholder's own.
    pub fn put(&self, cycle: u64, mut stream: Stream, parameters: &mut Parameters) {
        match self {
            Self::Int { low, offset } => {
                parameters.int(low.wrapping_add(offset.draw(&mut stream) as i64) as u64);
            }
            Self::Double { low, high } => parameters.double(low + stream.unit() * (high - low)),
            Self::Template(template) => parameters.template(&mut stream, template),
            Self::Choice(choices) => {
                match choices.get(stream.below(choices.len() as u64) as usize) {
                    Some(Argument::Int(value)) => parameters.int(*value as u64),
                    Some(Argument::Real(value)) => parameters.double(*value),
                    Some(Argument::Text(text)) => parameters.bytes(text.as_bytes()),
                    None => parameters.null(),
                }
            }
            Self::Serial(first) => parameters.int((*first as u64).wrapping_add(cycle)),
        }
    }
}

fn int(low: i64, high: i64, distribution: Distribution) -> Result<Source, String> {
    if low > high {
        return Err(format!("{low} is above {high}"));
    }
    let span = high.wrapping_sub(low) as u64;
    Ok(Source::Int {
        low,
        offset: Sampler::new(Shape::new(&distribution), 0, span),
    })
}

fn number(argument: &Argument) -> Option<f64> {
    match argument {
        Argument::Int(value) => Some(*value as f64),
        Argument::Real(value) => Some(*value),
        Argument::Text(_) => None,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::statement::Statement;
    use proptest::prelude::*;

    fn drawn(kind: &str, arguments: Vec<Argument>, cycle: u64) -> String {
        let mut parameters = Parameters::default();
        Source::new(kind, arguments)
            .unwrap()
            .put(cycle, Stream::new(1, cycle), &mut parameters);
        Statement::new(vec![String::new(), String::new()]).text(&parameters)
    }

    #[test]
    fn values_are_what_they_say() {
        use Argument::{Int, Real, Text};
        assert_eq!(drawn("uniform", vec![Int(7), Int(7)], 0), "7");
        assert_eq!(drawn("uniform", vec![Int(-5), Int(-5)], 0), "-5");
        assert_eq!(drawn("serial", vec![Int(100)], 23), "123");
        assert_eq!(drawn("choice", vec![Text("it's".into())], 0), "'it''s'");
        assert_eq!(drawn("choice", vec![Real(2.5)], 0), "2.5e0");
        assert_eq!(drawn("double", vec![Int(3), Int(3)], 0), "3e0");
        assert_eq!(drawn("text", vec![Text("ab#".into())], 0).len(), 5);
        assert_eq!(drawn("zipfian", vec![Int(4), Int(4), Int(1)], 0), "4");
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        use Argument::{Int, Real, Text};
        for (kind, arguments) in [
            ("uniform", vec![Int(1)]),
            ("uniform", vec![Int(2), Int(1)]),
            ("uniform", vec![Real(1.5), Int(3)]),
            ("pareto", vec![Int(1), Int(2), Real(1.5)]),
            ("zipfian", vec![Int(1), Int(2), Real(-1.0)]),
            ("double", vec![Int(2), Int(1)]),
            ("double", vec![Real(-1e308), Real(1e308)]),
            ("text", vec![Int(1)]),
            ("choice", vec![]),
            ("serial", vec![Text("x".into())]),
            ("nothing", vec![]),
        ] {
            assert!(Source::new(kind, arguments).is_err(), "{kind}");
        }
    }

    proptest! {
        #[test]
        fn ranges_may_span_everything(a: i64, b: i64, cycle: u64) {
            let (low, high) = (a.min(b), a.max(b));
            let text = drawn("uniform", vec![Argument::Int(low), Argument::Int(high)], cycle);
            prop_assert!((low..=high).contains(&text.parse::<i64>().unwrap()));
        }
    }
}

//! ScriptOptions of a script host: names, kinds, values. Scripts see them all as `sysbench.opt`.

use std::collections::BTreeMap;

/// Kinds of option values, as sysbench names them. The numbers are those that scripts see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptionType {
    Bool = 1,
    Int = 2,
    Size = 3,
    Double = 4,
    Str = 5,
    List = 6,
    File = 7,
}

impl OptionType {
    pub fn from_number(number: i64) -> Option<Self> {
        [
            Self::Bool,
            Self::Int,
            Self::Size,
            Self::Double,
            Self::Str,
            Self::List,
            Self::File,
        ]
        .into_iter()
        .find(|kind| *kind as i64 == number)
    }
}

/// The value of one option.
#[derive(Clone, Debug, PartialEq)]
pub enum OptionValue {
    Bool(bool),
    Int(i64),
    Double(f64),
    Str(String),
    List(Vec<String>),
}

/// Why a text is not a value of its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadValue {
    /// Not a number, or one that does not fit.
    Number,
    /// Neither on nor off.
    Bool,
}

/// Reads `text` (none: the option was given without a value) as a value of `kind`.
///
/// # Errors
/// A number must be one from its first to its last character. sysbench reads numbers of scripts up
/// to the first character that fits none, so `--table-size=10M` gives 10 rows. Here a size suffix
/// is honoured for those numbers, and anything else after the digits is refused.
pub fn parse(kind: OptionType, text: Option<&str>) -> Result<OptionValue, BadValue> {
    Ok(match kind {
        OptionType::Bool => OptionValue::Bool(match text.map(str::to_ascii_lowercase).as_deref() {
            None | Some("on" | "true" | "1") => true,
            Some("off" | "false" | "0") => false,
            Some(_) => return Err(BadValue::Bool),
        }),
        OptionType::Int => OptionValue::Int(match text.unwrap_or("").trim_start() {
            "" => 0,
            digits => {
                let number: i32 = digits.parse().map_err(|_| BadValue::Number)?;
                i64::from(number)
            }
        }),
        OptionType::Size => {
            OptionValue::Int(whole_size(text.unwrap_or("")).ok_or(BadValue::Number)?)
        }
        OptionType::Double => {
            OptionValue::Double(double(text.unwrap_or("")).ok_or(BadValue::Number)?)
        }
        OptionType::Str | OptionType::File => OptionValue::Str(text.unwrap_or("").to_owned()),
        OptionType::List => OptionValue::List(list(text.unwrap_or(""))),
    })
}

/// Splits at commas; empty items are dropped.
pub fn list(text: &str) -> Vec<String> {
    let items = text.split(',').map(str::trim);
    items
        .filter(|item| !item.is_empty())
        .map(str::to_owned)
        .collect()
}

fn double(text: &str) -> Option<f64> {
    let text = text.trim();
    if text.is_empty() {
        return Some(0.0);
    }
    if let Ok(number) = text.parse::<f64>() {
        return Some(number);
    }
    let (digits, factor) = split_suffix(text)?;
    digits
        .parse::<f64>()
        .ok()
        .map(|number| number * factor as f64)
}

fn whole_size(text: &str) -> Option<i64> {
    let text = text.trim();
    if text.is_empty() {
        return Some(0);
    }
    let (digits, factor) = split_suffix(text).unwrap_or((text, 1));
    digits.parse::<i64>().ok()?.checked_mul(factor)
}

/// The number before a size suffix, and the value of the suffix, in steps of 1024.
fn split_suffix(text: &str) -> Option<(&str, i64)> {
    let (at, suffix) = text.char_indices().next_back()?;
    let power = match suffix.to_ascii_lowercase() {
        'k' => 1,
        'm' => 2,
        'g' => 3,
        't' => 4,
        _ => return None,
    };
    Some((text.get(..at)?, 1i64 << (10 * power)))
}

/// Option names take `-` and `_` alike.
pub fn normal_name(name: &str) -> String {
    name.replace('-', "_")
}

/// Values by normal name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ScriptOptions {
    values: BTreeMap<String, OptionValue>,
}

impl ScriptOptions {
    pub fn set(&mut self, name: &str, value: OptionValue) {
        self.values.insert(normal_name(name), value);
    }

    pub fn get(&self, name: &str) -> Option<&OptionValue> {
        self.values.get(name)
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &OptionValue)> {
        self.values
            .iter()
            .map(|(name, value)| (name.as_str(), value))
    }

    /// The whole number an option holds; 0 if it holds none.
    pub fn int(&self, name: &str) -> i64 {
        match self.get(name) {
            Some(OptionValue::Int(number)) => *number,
            Some(OptionValue::Double(number)) => *number as i64,
            _ => 0,
        }
    }

    pub fn double(&self, name: &str) -> f64 {
        match self.get(name) {
            Some(OptionValue::Int(number)) => *number as f64,
            Some(OptionValue::Double(number)) => *number,
            _ => 0.0,
        }
    }

    pub fn flag(&self, name: &str) -> bool {
        matches!(self.get(name), Some(OptionValue::Bool(true)))
    }

    pub fn text(&self, name: &str) -> &str {
        match self.get(name) {
            Some(OptionValue::Str(text)) => text,
            _ => "",
        }
    }

    pub fn list(&self, name: &str) -> &[String] {
        match self.get(name) {
            Some(OptionValue::List(items)) => items,
            _ => &[],
        }
    }
}

/// An option that a script declares.
#[derive(Clone, Debug, PartialEq)]
pub struct Declared {
    /// The name, spelled as in the script.
    pub name: String,
    pub help: String,
    pub default: Option<String>,
    pub kind: OptionType,
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn numbers_are_read_whole_or_refused() {
        assert_eq!(
            parse(OptionType::Double, Some("10M")),
            Ok(OptionValue::Double(10_485_760.0))
        );
        assert_eq!(
            parse(OptionType::Double, Some("1.5k")),
            Ok(OptionValue::Double(1536.0))
        );
        assert_eq!(
            parse(OptionType::Double, Some("1e3")),
            Ok(OptionValue::Double(1000.0))
        );
        assert_eq!(
            parse(OptionType::Double, Some("-2")),
            Ok(OptionValue::Double(-2.0))
        );
        for bad in ["abc", "10x", "1 2", "M", "10MB"] {
            assert_eq!(
                parse(OptionType::Double, Some(bad)),
                Err(BadValue::Number),
                "{bad}"
            );
        }
        assert_eq!(parse(OptionType::Int, Some("12")), Ok(OptionValue::Int(12)));
        for bad in ["2x", "1M", "99999999999", "1.5"] {
            assert_eq!(
                parse(OptionType::Int, Some(bad)),
                Err(BadValue::Number),
                "{bad}"
            );
        }
        assert_eq!(
            parse(OptionType::Size, Some("64K")),
            Ok(OptionValue::Int(65_536))
        );
        assert_eq!(
            parse(OptionType::Size, Some("9T")),
            Ok(OptionValue::Int(9 << 40))
        );
        assert_eq!(parse(OptionType::Size, Some("64Q")), Err(BadValue::Number));
        assert_eq!(
            parse(OptionType::Size, Some("9999999999999T")),
            Err(BadValue::Number)
        );
    }

    #[test]
    fn no_value_means_on_empty_or_zero() {
        assert_eq!(parse(OptionType::Bool, None), Ok(OptionValue::Bool(true)));
        assert_eq!(
            parse(OptionType::Bool, Some("OFF")),
            Ok(OptionValue::Bool(false))
        );
        assert_eq!(parse(OptionType::Bool, Some("maybe")), Err(BadValue::Bool));
        assert_eq!(parse(OptionType::Int, None), Ok(OptionValue::Int(0)));
        assert_eq!(
            parse(OptionType::Str, None),
            Ok(OptionValue::Str(String::new()))
        );
        assert_eq!(
            parse(OptionType::List, Some("a,b,,c")),
            Ok(OptionValue::List(vec!["a".into(), "b".into(), "c".into()]))
        );
    }

    #[test]
    fn dashes_and_underscores_are_one() {
        let mut options = ScriptOptions::default();
        options.set("my-num", OptionValue::Int(3));
        assert_eq!(options.int("my_num"), 3);
    }

    proptest! {
        #[test]
        fn no_text_panics(text in ".*") {
            for number in 0..9 {
                if let Some(kind) = OptionType::from_number(number) {
                    let _ = parse(kind, Some(&text));
                }
            }
        }

        #[test]
        fn every_integer_reads_back(number: i32) {
            prop_assert_eq!(parse(OptionType::Int, Some(&number.to_string())), Ok(OptionValue::Int(number.into())));
        }
    }
}

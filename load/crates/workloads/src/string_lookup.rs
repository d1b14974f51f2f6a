//! One row of the table `test_data` by its string: the query of a study of warming.

use super::config::{WorkloadConfig, native};
use super::native::{Asker, EventEnd, EventResult, Kind, QueryText, Way};
use super::rows_keys::check_distribution;
use crate::config;
use contend_engine::workload::{EventKind, Workload};
use contend_random::Distribution;
use contend_random::row_strings::{LONGEST, SHORTEST, number_of, string};
use contend_random::{Sampler, Shape};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Which rows are read.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// Random, by the distribution.
    #[default]
    Random,
    /// The first rows of the table, in the order of insertion.
    FirstRows,
    /// The first rows of the index, in its order.
    Index,
}

/// `SELECT * FROM test_data WHERE random_str = ?`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Keys {
    /// Rows of the table.
    #[schemars(range(min = 1, max = 2_147_483_647))]
    rows: u64,
    /// Characters of each string.
    #[serde(default = "thirty_six")]
    #[schemars(range(min = SHORTEST, max = LONGEST))]
    string_length: usize,
    /// Which rows are read: random ones, by the distribution; the first of the table, in the order
    /// of insertion; or the first of the index, in its order. After the last row it continues with
    /// the first.
    #[serde(default)]
    order: Order,
    /// How keys are drawn.
    #[serde(default)]
    distribution: Distribution,
}

fn thirty_six() -> usize {
    36
}

impl config::Keys for Keys {
    const KIND: &'static str = "string_lookup";
    const WRITES: Option<bool> = Some(false);

    fn check(&self) -> Result<(), String> {
        if self.order != Order::Random && self.distribution != Distribution::default() {
            return Err("workload.distribution: it is used only with order \"random\"".to_owned());
        }
        check_distribution(&self.distribution)
    }
}

impl WorkloadConfig for Keys {
    fn build(&self, way: Way) -> Result<Arc<dyn Workload>, String> {
        let kind = StringLookup {
            rows: self.rows,
            length: self.string_length,
            order: self.order,
            numbers: Sampler::new(Shape::new(&self.distribution), 1, self.rows),
        };
        Ok(native(kind, way))
    }
}

/// `SELECT * FROM test_data WHERE random_str = ?`
#[derive(Clone, Debug)]
pub struct StringLookup {
    rows: u64,
    length: usize,
    order: Order,
    numbers: Sampler,
}

impl Kind for StringLookup {
    type Own = ();

    fn events(&self) -> Vec<EventKind> {
        EventKind::only("string_lookup", &["string_lookup"])
    }

    fn queries(&self) -> Vec<QueryText> {
        vec![QueryText::new(
            0,
            "SELECT * FROM test_data WHERE random_str = ?",
        )]
    }

    #[inline]
    async fn event(&self, ask: &mut Asker<Self>) -> EventResult {
        ask.ask(|event, values| {
            let in_turn = 1 + event.cycle % self.rows;
            let number = match self.order {
                Order::Random => self.numbers.draw(&mut event.stream),
                Order::FirstRows => number_of(in_turn, self.rows),
                Order::Index => in_turn,
            };
            values.bytes(&string(number, number)[..self.length]);
            0
        })
        .last(EventEnd::Done)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::native::tests::asked;
    use serde_json::json;

    fn numbers(order: Order, count: u64) -> Vec<u64> {
        let kind = StringLookup {
            rows: 1000,
            length: 12,
            order,
            numbers: Sampler::new(Shape::Uniform, 1, 1000),
        };
        let texts = asked(kind, 7, count);
        let number = |text: &String| {
            let literal = text
                .strip_prefix("SELECT * FROM test_data WHERE random_str = '")
                .and_then(|rest| rest.strip_suffix('\''))
                .unwrap();
            assert_eq!(literal.len(), 12);
            let number = literal[..10].parse().unwrap();
            assert_eq!(literal.as_bytes(), &string(number, number)[..12]);
            number
        };
        texts.iter().map(number).collect()
    }

    #[test]
    fn rows_come_in_the_order_that_is_wanted() {
        assert_eq!(numbers(Order::Index, 3), [1, 2, 3]);
        assert_eq!(
            numbers(Order::FirstRows, 3),
            [1, 2, 3].map(|id| number_of(id, 1000))
        );
        let drawn = numbers(Order::Random, 50);
        assert!(drawn.iter().all(|number| (1..=1000).contains(number)));
        assert!(!drawn.is_sorted());
        assert_eq!(drawn, numbers(Order::Random, 50));
    }

    #[test]
    fn after_the_last_row_comes_the_first() {
        assert_eq!(numbers(Order::Index, 1001)[999..], [1000, 1]);
    }

    #[test]
    fn a_distribution_that_draws_nothing_is_refused() {
        let told = |order: &str| {
            let keys = json!({"rows": 10, "order": order, "distribution": {"kind": "zipfian"}});
            config::Keys::check(&serde_json::from_value::<Keys>(keys).unwrap())
        };
        assert!(told("random").is_ok());
        assert!(told("index").unwrap_err().contains("distribution"));
    }
}

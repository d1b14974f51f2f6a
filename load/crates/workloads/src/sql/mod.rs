//! Your own statements: a script of weighted events with typed placeholders.

mod parse;
mod placeholder;

pub use parse::SqlError;

use super::config::{WorkloadConfig, native};
use super::native::{
    Asker, Carries, EventEnd, EventResult, Kind, LastQuestion, OpenEvent, QueryText, Way,
};
use super::statement::{Parameters, can_be_prepared};
use crate::config;
use contend_engine::workload::{EventKind, Workload};
use contend_sql::begins_with;
use parse::{EventText, StatementText};
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Statements of your own, from a script.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Keys {
    /// Statements with placeholders; docs/reference/sql-workload.md has the grammar.
    text: String,
    /// Share of an event in all events, in percent, by its name. The others share the rest by their
    /// weights.
    #[serde(default)]
    shares: BTreeMap<String, u32>,
}

impl config::Keys for Keys {
    const KIND: &'static str = "sql";
    const WRITES: Option<bool> = None;
    const METRIC: &'static str = config::EVENTS;
}

impl WorkloadConfig for Keys {
    fn build(&self, way: Way) -> Result<Arc<dyn Workload>, String> {
        let script = Sql::new(&self.text).map_err(|error| format!("workload.text: {error}"))?;
        Ok(native(script.with_shares(&self.shares)?, way))
    }
}

/// A script, read.
#[derive(Debug)]
pub struct Sql {
    events: Vec<EventText>,
    /// For each event: the sum of the weights up to it, and the place of its first query.
    ends: Vec<u64>,
    firsts: Vec<usize>,
}

impl Sql {
    /// Reads a script.
    ///
    /// # Errors
    /// The first thing that is wrong with it, with its place.
    pub fn new(text: &str) -> Result<Self, SqlError> {
        let events = parse::parse(text)?;
        let mut query = 0;
        let mut firsts = Vec::new();
        for event in &events {
            firsts.push(query);
            query += event.statements.len();
        }
        let ends = sums(events.iter().map(|event| event.weight));
        Ok(Self {
            events,
            ends,
            firsts,
        })
    }

    /// The same events, with these shares of all events, in percent, for some of them.
    ///
    /// # Errors
    /// Words that name the path.
    fn with_shares(self, shares: &BTreeMap<String, u32>) -> Result<Self, String> {
        if shares.is_empty() {
            return Ok(self);
        }
        if let Some(name) = shares.keys().find(|name| self.place_of(name).is_none()) {
            let names: Vec<&str> = self.events.iter().map(|e| e.name.as_str()).collect();
            return Err(format!(
                "workload.shares: unknown event \"{name}\"; the events are {}",
                names.join(", ")
            ));
        }
        let taken: u64 = shares.values().map(|share| u64::from(*share)).sum();
        let others = self.events.iter().filter(|e| !shares.contains_key(&e.name));
        let weight: u64 = others.map(|event| event.weight).sum();
        if taken > 100 || (weight == 0 && taken < 100) {
            let why = match taken > 100 {
                true => "the limit is 100",
                false => "no events are left for the rest",
            };
            return Err(format!(
                "workload.shares: together they are {taken} percent, and {why}"
            ));
        }
        let part = |event: &EventText| match shares.get(&event.name) {
            Some(share) => u64::from(*share) * weight.max(1),
            None => (100 - taken) * event.weight,
        };
        let ends = sums(self.events.iter().map(part));
        Ok(Self { ends, ..self })
    }

    fn place_of(&self, name: &str) -> Option<usize> {
        self.events.iter().position(|event| event.name == name)
    }

    /// The event for a draw below the sum of weights.
    fn chosen(&self, drawn: u64) -> usize {
        self.ends.partition_point(|end| *end <= drawn)
    }
}

impl Kind for Sql {
    type Own = ();

    /// An event of one statement is one class of its name; of several, `name.1`, `name.2`, ….
    fn events(&self) -> Vec<EventKind> {
        let classes = |event: &EventText| match event.statements.len() {
            1 => vec![event.name.clone()],
            count => (1..=count).map(|n| format!("{}.{n}", event.name)).collect(),
        };
        let kind = |event: &EventText| EventKind {
            name: event.name.clone(),
            classes: classes(event),
        };
        self.events.iter().map(kind).collect()
    }

    fn queries(&self) -> Vec<QueryText> {
        let statements = self.events.iter().flat_map(|event| &event.statements);
        statements
            .enumerate()
            .map(|(class, statement)| QueryText {
                class: class as u8,
                pieces: statement.pieces.clone(),
                carries: Carries::One,
                is_text: !can_be_prepared(beginning(statement)),
            })
            .collect()
    }

    fn is_single_query(&self) -> bool {
        matches!(self.events.as_slice(), [event] if event.statements.len() == 1)
    }

    fn asks_once(&self) -> bool {
        self.events.iter().all(|event| event.statements.len() == 1)
    }

    fn leaves_transaction(&self, event: &OpenEvent) -> bool {
        self.events
            .get(usize::from(event.kind))
            .is_some_and(|event| {
                let words = ["BEGIN", "START", "SET", "XA"];
                let mut statements = event.statements.iter();
                statements.any(|one| begins_with(beginning(one).as_bytes(), &words))
            })
    }

    async fn event(&self, ask: &mut Asker<Self>) -> EventResult {
        let place = match self.events.len() {
            1 => 0,
            _ => ask.with(|event, ()| {
                let sum = self.ends.last().copied().unwrap_or(1);
                let place = self.chosen(event.stream.below(sum));
                // There are fewer than 256 statements.
                event.kind = place as u8;
                place
            }),
        };
        let (Some(text), Some(first)) = (self.events.get(place), self.firsts.get(place)) else {
            return Ok(LastQuestion::End(EventEnd::Done));
        };
        let Some((last, statements)) = text.statements.split_last() else {
            return Ok(LastQuestion::End(EventEnd::Done));
        };
        for (step, statement) in statements.iter().enumerate() {
            ask.ask(|event, values| {
                text.put(statement, event, values);
                first + step
            })
            .done()
            .await?;
        }
        ask.ask(|event, values| {
            text.put(last, event, values);
            first + statements.len()
        })
        .last(EventEnd::Done)
    }
}

impl EventText {
    /// A separate stream for each name: used again, it gives the same value.
    fn put(&self, statement: &StatementText, event: &OpenEvent, values: &mut Parameters) {
        for place in &statement.placeholders {
            if let Some(source) = self.sources.get(*place) {
                source.put(event.cycle, event.stream_of(*place as u64), values);
            }
        }
    }
}

/// The sum up to each.
fn sums(weights: impl Iterator<Item = u64>) -> Vec<u64> {
    weights
        .scan(0, |sum, weight| {
            *sum += weight;
            Some(*sum)
        })
        .collect()
}

/// The text of a statement before its first placeholder.
fn beginning(statement: &StatementText) -> &str {
    statement.pieces.first().map_or("", String::as_str)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::native::tests::asked;

    const SCRIPT: &str = "
        @read weight 3
        SELECT c FROM t WHERE id = {id:uniform(1, 1000)};
        @move
        BEGIN;
        UPDATE t SET k = k + {by:uniform(1, 1000000)} WHERE id = {a:uniform(1, 1000)};
        UPDATE t SET k = k - {by} WHERE id = {b:uniform(1, 1000)};
        COMMIT;
    ";

    #[test]
    fn a_name_keeps_its_value_through_an_event() {
        let texts = asked(Sql::new(SCRIPT).unwrap(), 5, 200);
        let mut moves = 0;
        for event in texts.split(|text| text == "BEGIN").skip(1) {
            let by = |text: &str| {
                text.split(' ')
                    .nth(7)
                    .unwrap_or_default()
                    .parse::<u64>()
                    .unwrap()
            };
            assert_eq!(by(&event[0]), by(&event[1]), "{event:?}");
            assert!(event[0].starts_with("UPDATE t SET k = k + "));
            assert_eq!(event[2], "COMMIT");
            moves += 1;
        }
        assert!(moves > 20);
    }

    #[test]
    fn events_come_by_their_weight() {
        let texts = asked(Sql::new(SCRIPT).unwrap(), 1, 4000);
        let reads = texts
            .iter()
            .filter(|text| text.starts_with("SELECT"))
            .count();
        assert!((2850..3150).contains(&reads), "{reads}");
    }

    fn with(shares: &[(&str, u32)]) -> Result<Sql, String> {
        let script = Sql::new(&format!("{SCRIPT}\n@other weight 1\nSELECT 2;")).unwrap();
        let named = shares
            .iter()
            .map(|(name, share)| ((*name).to_owned(), *share));
        script.with_shares(&named.collect())
    }

    #[test]
    fn a_share_is_of_all_events_and_the_rest_goes_by_weight() {
        // read has weight 3, other 1: they share the 60 percent that move leaves.
        let texts = asked(with(&[("move", 40)]).unwrap(), 1, 8000);
        let count = |start: &str| texts.iter().filter(|text| text.starts_with(start)).count();
        let moves = count("BEGIN");
        let events = moves + count("SELECT c") + count("SELECT 2");
        let percent = |count: usize| count * 100 / events;
        assert!((37..43).contains(&percent(moves)), "{moves} of {events}");
        assert!((42..48).contains(&percent(count("SELECT c"))));
        let none = asked(with(&[("move", 0)]).unwrap(), 1, 2000);
        assert!(!none.iter().any(|text| text == "BEGIN"));
        let all = asked(with(&[("other", 100)]).unwrap(), 1, 200);
        assert!(all.iter().all(|text| text == "SELECT 2"));
    }

    #[test]
    fn shares_that_cannot_be_are_refused() {
        let said = |shares: &[(&str, u32)]| with(shares).unwrap_err();
        assert!(said(&[("moves", 5)]).contains("unknown event \"moves\""));
        assert!(said(&[("move", 101)]).contains("together they are 101 percent"));
        assert!(said(&[("move", 60), ("read", 50)]).contains("together they are 110 percent"));
        let each = [("move", 30), ("read", 30), ("other", 30)];
        assert!(said(&each).contains("no events are left"));
        let whole = [("move", 30), ("read", 30), ("other", 40)];
        assert!(with(&whole).is_ok());
    }

    #[test]
    fn classes_are_named_after_events() {
        let sql = Sql::new(SCRIPT).unwrap();
        let kinds = sql.events();
        assert_eq!(
            (kinds[0].name.as_str(), kinds[1].name.as_str()),
            ("read", "move")
        );
        assert_eq!(kinds[0].classes, ["read"]);
        assert_eq!(kinds[1].classes, ["move.1", "move.2", "move.3", "move.4"]);
        assert!(!sql.is_single_query());
        assert!(Sql::new("SELECT 1;").unwrap().is_single_query());
        let texts: Vec<bool> = sql.queries().iter().map(|query| query.is_text).collect();
        assert_eq!(texts, [false, true, false, false, true]);
    }

    #[test]
    fn only_events_with_a_transaction_are_taken_back() {
        let sql = Sql::new(SCRIPT).unwrap();
        let mut event = OpenEvent::new(1, 0);
        event.kind = 0;
        assert!(!sql.leaves_transaction(&event));
        event.kind = 1;
        assert!(sql.leaves_transaction(&event));
    }
}

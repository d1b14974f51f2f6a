//! Statements of one's own: a script of weighted events with typed placeholders.

mod parse;
mod placeholder;

pub use parse::SqlError;

use super::native::{Event, Heard, Kind, Next, Query, Way};
use super::statement::Parameters;
use super::told::{self, Told, native};
use super::{EventKind, Workload};
use parse::{EventText, StatementText};
use schemars::JsonSchema;
use serde::Deserialize;
use std::sync::Arc;

/// Statements of your own, from a script.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Keys {
    /// Statements with placeholders, in the grammar of the page on the sql workload.
    text: String,
}

impl told::Keys for Keys {
    const KIND: &'static str = "sql";
    const WRITES: Option<bool> = None;
}

impl Told for Keys {
    fn build(&self, way: Way) -> Result<Arc<dyn Workload>, String> {
        let script = Sql::new(&self.text).map_err(|error| format!("workload.text: {error}"))?;
        Ok(native(script, way))
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
        let (mut weight, mut query) = (0, 0);
        let (mut ends, mut firsts) = (Vec::new(), Vec::new());
        for event in &events {
            weight += event.weight;
            ends.push(weight);
            firsts.push(query);
            query += event.statements.len();
        }
        Ok(Self {
            events,
            ends,
            firsts,
        })
    }

    /// The event that a draw below the sum of weights stands for.
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

    fn queries(&self) -> Vec<Query> {
        let statements = self.events.iter().flat_map(|event| &event.statements);
        statements
            .enumerate()
            .map(|(class, statement)| Query {
                class: class as u8,
                pieces: statement.pieces.clone(),
                in_bulk: false,
                is_text: !can_be_prepared(beginning(statement)),
            })
            .collect()
    }

    fn is_single_query(&self) -> bool {
        matches!(self.events.as_slice(), [event] if event.statements.len() == 1)
    }

    fn leaves_transaction(&self, event: &Event) -> bool {
        self.events.get(event.place).is_some_and(|event| {
            event.statements.iter().any(|statement| {
                matches!(
                    first_word(beginning(statement)).as_str(),
                    "BEGIN" | "START" | "SET" | "XA"
                )
            })
        })
    }

    fn next(
        &self,
        _heard: Heard<'_>,
        event: &mut Event,
        _own: &mut (),
        values: &mut Parameters,
    ) -> Next {
        let step = event.step as usize;
        event.step += 1;
        if step == 0 && self.events.len() > 1 {
            let sum = self.ends.last().copied().unwrap_or(1);
            event.place = self.chosen(event.stream.below(sum));
            // There are fewer than 256 statements.
            event.kind = event.place as u8;
        }
        let text = self.events.get(event.place);
        if let Some(text) = text
            && let Some(statement) = text.statements.get(step)
        {
            for place in &statement.placeholders {
                if let Some(source) = text.sources.get(*place) {
                    // A stream of its own for each name: used again, it gives the same value.
                    source.put(event.cycle, event.stream_of(*place as u64), values);
                }
            }
        }
        let query = self.firsts.get(event.place).map_or(0, |first| first + step);
        let is_last = text.is_none_or(|text| step + 1 >= text.statements.len());
        Next::in_turn(query, is_last)
    }
}

/// Whether every server can prepare it. Others go as text, with their values written in.
pub(super) fn can_be_prepared(statement: &str) -> bool {
    matches!(
        first_word(statement).as_str(),
        "SELECT" | "INSERT" | "UPDATE" | "DELETE" | "REPLACE" | "CALL" | "WITH" | "DO"
    )
}

/// The text of a statement before its first placeholder.
fn beginning(statement: &StatementText) -> &str {
    statement.pieces.first().map_or("", String::as_str)
}

/// The first word of a statement, in capitals.
fn first_word(statement: &str) -> String {
    let text = statement.trim_start_matches(|c: char| c.is_whitespace() || c == '(');
    let end = text
        .find(|c: char| !c.is_ascii_alphabetic())
        .unwrap_or(text.len());
    text.get(..end).unwrap_or_default().to_ascii_uppercase()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::workload::native::tests::asked;

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
        let texts = asked(&Sql::new(SCRIPT).unwrap(), 5, 200);
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
        let texts = asked(&Sql::new(SCRIPT).unwrap(), 1, 4000);
        let reads = texts
            .iter()
            .filter(|text| text.starts_with("SELECT"))
            .count();
        assert!((2850..3150).contains(&reads), "{reads}");
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
        let mut event = Event::new(1, 0);
        event.place = 0;
        assert!(!sql.leaves_transaction(&event));
        event.place = 1;
        assert!(sql.leaves_transaction(&event));
    }
}

//! Statements of one's own: a script of weighted events with typed placeholders.

mod parse;
mod placeholder;

pub use parse::SqlError;

use super::native::{Ask, Event, Kind, Query};
use super::statement::Parameters;
use parse::{EventText, StatementText};

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
    /// An event of one statement is one class of its name; of several, `name.1`, `name.2`, ….
    fn classes(&self) -> Vec<String> {
        let mut classes = Vec::new();
        for event in &self.events {
            match event.statements.len() {
                1 => classes.push(event.name.clone()),
                count => classes.extend((1..=count).map(|n| format!("{}.{n}", event.name))),
            }
        }
        classes
    }

    fn queries(&self) -> Vec<Query> {
        let statements = self.events.iter().flat_map(|event| &event.statements);
        statements
            .enumerate()
            .map(|(class, statement)| Query {
                class: class as u8,
                pieces: statement.pieces.clone(),
                in_bulk: false,
                is_text: !can_be_prepared(statement),
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
                    first_word(statement).as_str(),
                    "BEGIN" | "START" | "SET" | "XA"
                )
            })
        })
    }

    fn ask(&self, step: u32, event: &mut Event, parameters: &mut Parameters) -> Ask {
        if step == 0 && self.events.len() > 1 {
            let sum = self.ends.last().copied().unwrap_or(1);
            event.place = self.chosen(event.stream.below(sum));
        }
        let step = step as usize;
        let text = self.events.get(event.place);
        if let Some(text) = text
            && let Some(statement) = text.statements.get(step)
        {
            for place in &statement.placeholders {
                if let Some(source) = text.sources.get(*place) {
                    // A stream of its own for each name: used again, it gives the same value.
                    source.put(event.cycle, event.stream_of(*place as u64), parameters);
                }
            }
        }
        Ask {
            query: self.firsts.get(event.place).map_or(0, |first| first + step),
            is_last: text.is_none_or(|text| step + 1 >= text.statements.len()),
        }
    }
}

/// Whether every server can prepare it. Others go as text, with their values written in.
fn can_be_prepared(statement: &StatementText) -> bool {
    matches!(
        first_word(statement).as_str(),
        "SELECT" | "INSERT" | "UPDATE" | "DELETE" | "REPLACE" | "CALL" | "WITH" | "DO"
    )
}

/// The first word of a statement, in capitals.
fn first_word(statement: &StatementText) -> String {
    let text = statement
        .pieces
        .first()
        .map(String::as_str)
        .unwrap_or_default();
    let text = text.trim_start_matches(|c: char| c.is_whitespace() || c == '(');
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
        assert_eq!(
            sql.classes(),
            ["read", "move.1", "move.2", "move.3", "move.4"]
        );
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

//! The event that a request belongs to, as far as the request itself shows.
//!
//! One rule: the number of a query is the first value of its statement, if that is a whole number.
//! `SELECT 17` as text and `SELECT ?` executed with 17 both belong to event 17, and the placeholder
//! `serial` of contend-load's own statements arrives this way. Requests without a number are
//! numbered in the order of receipt: a script's threads cannot know how many events the others have
//! begun, and sysbench has no number to send.

use super::text::first_value;
use contend_sql::{Mode, TokenKind, Tokens, begins_with};
use contend_wire::Value;
use contend_wire::mysql::BoundValues;

/// What a request asks of a server that takes its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Demand {
    /// A client settling in: it sets or queries variables, which does not belong to the load.
    Settings,
    /// An event, with its number where the request carries one.
    Event(Option<u64>),
}

/// What a statement that came as text asks.
pub fn of_text(sql: &[u8]) -> Demand {
    let mut tokens = Tokens::new(sql, Mode::default());
    let reads_variable = tokens.takes_word(b"SELECT") && tokens.takes(b"@@");
    if reads_variable || begins_with(sql, &["SET", "SHOW"]) {
        return Demand::Settings;
    }
    let value = first_value(sql).filter(|value| value.kind == TokenKind::Number);
    let digits = value.and_then(|value| std::str::from_utf8(value.text).ok());
    Demand::Event(digits.and_then(|digits| digits.parse().ok()))
}

/// The first value of an execution, if it is a whole number.
pub fn of_values(mut values: BoundValues<'_>) -> Option<u64> {
    match values.next()?.ok()? {
        Value::Int(number) => number.try_into().ok(),
        Value::UInt(number) => Some(number),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use contend_wire::Prepared;
    use contend_wire::mysql::PreparedStatement;
    use proptest::prelude::*;

    #[test]
    fn the_first_value_of_a_text_is_its_number() {
        for (sql, number) in [
            (" SELECT 17", Some(17)),
            ("SELECT c FROM sbtest1 WHERE id = 42 AND k = 5", Some(42)),
            ("SELECT c FROM sbtest1 WHERE id IN (3,4)", Some(3)),
            ("SELECT c FROM sbtest1", None),
            ("SELECT 'a', 5", None),
            ("SELECT 1.5", None),
            ("SELECT 1e3", None),
            ("SELECT 18446744073709551616", None),
            ("BEGIN", None),
            ("", None),
        ] {
            assert_eq!(of_text(sql.as_bytes()), Demand::Event(number), "{sql}");
        }
    }

    #[test]
    fn who_sets_or_asks_for_variables_is_only_settling_in() {
        for sql in [
            "SET NAMES utf8mb4",
            "show global status where x IN (1)",
            "SELECT @@max_connections, 5",
        ] {
            assert_eq!(of_text(sql.as_bytes()), Demand::Settings, "{sql}");
        }
    }

    #[test]
    fn our_client_s_first_parameter_is_the_number_of_every_execution() {
        for first in [Value::Int(77), Value::Int32(77), Value::UInt(77)] {
            let mut statement = PreparedStatement::new(Prepared {
                id: 1,
                columns: 1,
                parameters: 9,
            });
            let mut values = [Value::Bytes(b"x"); 9];
            values[0] = first;
            let mut types = [[0; 2]; 9];
            for _ in 0..3 {
                let mut out = Vec::new();
                statement.execute(&mut out, &values).unwrap();
                // Behind the header, the command, the id, the flags and the iteration count.
                let bound = BoundValues::read(&mut types, &out[14..]).unwrap();
                let read: Vec<_> = bound.clone().map(Result::unwrap).collect();
                assert_eq!(read[0].as_int(), Some(77));
                assert_eq!(read[1..], values[1..]);
                assert_eq!(of_values(bound), Some(77), "{first:?}");
            }
        }
    }

    #[test]
    fn a_first_parameter_that_is_no_whole_number_is_none() {
        for first in [Value::Null, Value::Double(7.0), Value::Bytes(b"12345678")] {
            let mut statement = PreparedStatement::new(Prepared {
                id: 1,
                columns: 1,
                parameters: 2,
            });
            let mut out = Vec::new();
            let values = [first, Value::Int(5)];
            statement.execute(&mut out, &values).unwrap();
            let mut types = [[0; 2]; 2];
            let bound = BoundValues::read(&mut types, &out[14..]).unwrap();
            assert_eq!(of_values(bound), None, "{first:?}");
        }
        assert_eq!(of_values(BoundValues::read(&mut [], &[]).unwrap()), None);
    }

    proptest! {
        #[test]
        fn rubbish_is_survived(bytes: Vec<u8>, mut types: Vec<[u8; 2]>) {
            let _ = of_text(&bytes);
            let count = types.len();
            if let Ok(bound) = BoundValues::read(&mut types, &bytes) {
                let _ = of_values(bound.clone());
                prop_assert!(bound.count() <= count);
            }
        }
    }
}

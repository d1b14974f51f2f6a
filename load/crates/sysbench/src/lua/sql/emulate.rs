//! Statements whose parameters are put into their text, for `--db-ps-mode=disable` and for
//! statements that the server cannot prepare.
//!
//! sysbench puts strings in unescaped and up to their first NUL, and replaces question marks inside
//! quotes too. Here strings are escaped, and quotes and comments are respected.

use contend_sql::{Mode, placeholders};
use contend_wire::Value;
use contend_workloads::statement::put_literal;

/// A statement cut at its placeholders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    /// One more than there are parameters.
    pieces: Vec<Vec<u8>>,
}

impl Template {
    pub fn new(sql: &[u8]) -> Self {
        let mut pieces = Vec::new();
        let mut start = 0;
        for mark in placeholders(sql, Mode::default()) {
            pieces.push(sql.get(start..mark.start).unwrap_or_default().to_vec());
            start = mark.end();
        }
        pieces.push(sql.get(start..).unwrap_or_default().to_vec());
        Self { pieces }
    }

    /// Appends the statement with these values; missing ones are NULL.
    pub fn write<'v>(&self, out: &mut Vec<u8>, mut values: impl Iterator<Item = Value<'v>>) {
        for (place, piece) in self.pieces.iter().enumerate() {
            if place > 0 {
                put_literal(out, values.next().unwrap_or(Value::Null));
            }
            out.extend_from_slice(piece);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    fn written(sql: &str, values: &[Value<'_>]) -> String {
        let mut out = Vec::new();
        Template::new(sql.as_bytes()).write(&mut out, values.iter().copied());
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn placeholders_are_replaced_outside_of_quotes() {
        assert_eq!(
            written(
                "SELECT ?, '?', \"a\\\"?\", `?` FROM t WHERE a=?",
                &[Value::Int(-1), Value::Bytes(b"it's"),]
            ),
            "SELECT -1, '?', \"a\\\"?\", `?` FROM t WHERE a='it''s'"
        );
        assert_eq!(Template::new(b"SELECT '''?', ?").pieces.len(), 2);
    }

    #[test]
    fn values_are_written_as_sql() {
        let all = [
            Value::Null,
            Value::UInt(u64::MAX),
            Value::Double(0.1),
            Value::Double(1e300),
            Value::Bytes(b"a\0\\"),
        ];
        assert_eq!(
            written("? ? ? ? ? ?", &all),
            "NULL 18446744073709551615 1e-1 1e300 'a\0\\\\' NULL"
        );
    }

    proptest! {
        #[test]
        fn a_string_never_ends_its_own_quotes(text in proptest::collection::vec(any::<u8>(), 0..40)) {
            let mut out = Vec::new();
            Template::new(b"?").write(&mut out, [Value::Bytes(&text)].into_iter());
            out.push(b'?');
            // Read back by the same rules of quoting, the mark after it is outside.
            prop_assert_eq!(Template::new(&out).pieces.len(), 2);
        }
    }
}

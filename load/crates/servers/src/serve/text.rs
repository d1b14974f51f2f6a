//! The part of SQL needed for a plausible answer: which columns, how many rows.
//!
//! Nothing is parsed that a benchmark does not send. A statement that is not understood has no
//! result.

use super::reply::ColumnOut;
use contend_wire::mysql::value::kind;

/// Rows of a range: sysbench's ranges span a hundred.
const RANGE_ROWS: usize = 100;
/// Most columns and values looked at: a statement with more is not a benchmark's.
const COLUMNS_MAX: usize = 64;

/// What kind of statement it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TextMeaning {
    /// Rows come back.
    Rows {
        columns: Vec<ColumnOut>,
        rows: usize,
    },
    /// This number of rows is changed.
    Changes(u64),
    /// A local file is loaded.
    LocalFile,
}

/// Understands a statement.
pub fn meaning(sql: &[u8]) -> TextMeaning {
    let sql = sql.trim_ascii();
    let first = word(sql);
    match first.as_slice() {
        b"SELECT" => TextMeaning::Rows {
            columns: columns(sql),
            rows: rows(sql),
        },
        b"SHOW" => TextMeaning::Rows {
            columns: ["Variable_name", "Value"].map(ColumnOut::text).to_vec(),
            rows: 0,
        },
        b"LOAD" if find(sql, b"LOCAL").is_some() => TextMeaning::LocalFile,
        b"INSERT" | b"UPDATE" | b"DELETE" | b"REPLACE" => TextMeaning::Changes(1),
        _ => TextMeaning::Changes(0),
    }
}

/// Question marks outside of texts.
pub fn parameters(sql: &[u8]) -> u16 {
    let mut quote = None;
    let mut count = 0u16;
    for byte in sql {
        match (quote, byte) {
            (None, b'?') => count = count.saturating_add(1),
            (None, b'\'' | b'"' | b'`') => quote = Some(*byte),
            (Some(open), close) if open == *close => quote = None,
            _ => {}
        }
    }
    count
}

/// The text up to its first value: the common start of all statements of a kind.
pub fn prefix(sql: &[u8]) -> &[u8] {
    let mut before = None;
    for (place, byte) in sql.iter().enumerate() {
        if starts_value(before, *byte) {
            return sql.get(..place).unwrap_or(sql);
        }
        before = Some(byte);
    }
    sql
}

/// Whether a value begins at a byte, by the byte before it: the 1 of `sbtest1` is none.
#[inline]
pub fn starts_value(before: Option<&u8>, byte: u8) -> bool {
    match byte {
        b'?' | b'\'' | b'"' => true,
        b'0'..=b'9' => !before.is_some_and(|b| b.is_ascii_alphanumeric() || b"_$@`".contains(b)),
        _ => false,
    }
}

/// How many rows answer a SELECT, unless a list of values decides otherwise.
fn rows(sql: &[u8]) -> usize {
    if [b"SUM(".as_slice(), b"COUNT("]
        .iter()
        .any(|name| find(sql, name).is_some())
    {
        return 1;
    }
    match count(sql, b" BETWEEN ") {
        0 => 1,
        ranges => ranges * RANGE_ROWS,
    }
}

/// Values of a list up to its parenthesis.
#[inline]
pub fn values(list: &[u8]) -> usize {
    let end = list.iter().position(|b| *b == b')').unwrap_or(list.len());
    let list = list.get(..end).unwrap_or_default();
    1 + list.iter().filter(|b| **b == b',').count()
}

fn columns(sql: &[u8]) -> Vec<ColumnOut> {
    let list = sql.get(b"SELECT".len()..).unwrap_or_default();
    let end = find(list, b" FROM ").unwrap_or(list.len());
    let list = list.get(..end).unwrap_or_default().trim_ascii();
    let list = list.strip_prefix(b"DISTINCT ").unwrap_or(list);
    let mut columns = Vec::new();
    let mut depth = 0usize;
    let mut name = Vec::new();
    for byte in list.iter().chain(b",") {
        match byte {
            b',' if depth == 0 => {
                columns.push(column(name.trim_ascii()));
                name.clear();
                if columns.len() == COLUMNS_MAX {
                    break;
                }
                continue;
            }
            b'(' => depth += 1,
            b')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        name.push(*byte);
    }
    columns
}

/// A column by its name; the tables of benchmarks name their numbers so.
fn column(name: &[u8]) -> ColumnOut {
    let text = String::from_utf8_lossy(name.get(..64).unwrap_or(name)).into_owned();
    let (kind, length) = match name {
        b"id" | b"k" => (kind::LONG, 10),
        b"c" => (kind::STRING, 120),
        b"pad" => (kind::STRING, 60),
        _ if name.first().is_some_and(u8::is_ascii_digit) || name.starts_with(b"@@") => {
            (kind::LONGLONG, 20)
        }
        _ if find(name, b"SUM(").is_some() || find(name, b"COUNT(").is_some() => {
            (kind::LONGLONG, 20)
        }
        _ => return ColumnOut::text(&text),
    };
    ColumnOut {
        name: text,
        kind,
        length,
    }
}

/// The first word, in capitals.
fn word(sql: &[u8]) -> Vec<u8> {
    sql.iter()
        .take(16)
        .take_while(|b| b.is_ascii_alphabetic())
        .map(u8::to_ascii_uppercase)
        .collect()
}

/// Where `wanted` (in capitals) begins in `text`, in either case.
fn find(text: &[u8], wanted: &[u8]) -> Option<usize> {
    text.windows(wanted.len())
        .position(|window| window.eq_ignore_ascii_case(wanted))
}

fn count(text: &[u8], wanted: &[u8]) -> usize {
    text.windows(wanted.len())
        .filter(|window| window.eq_ignore_ascii_case(wanted))
        .count()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]
    use super::*;
    use proptest::prelude::*;

    fn names_and_rows(sql: &str) -> (Vec<String>, usize) {
        match meaning(sql.as_bytes()) {
            TextMeaning::Rows { columns, rows } => (
                columns.into_iter().map(|column| column.name).collect(),
                rows,
            ),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_workloads_queries_are_understood() {
        let points = "SELECT id, k, c, pad FROM sbtest WHERE k IN (?, ?, ?)";
        assert_eq!(
            names_and_rows(points).0,
            ["id", "k", "c", "pad"].map(str::to_owned)
        );
        assert_eq!(values(b"?, ?, ?) AND x IN (1, 2)"), 3);
        assert_eq!(
            names_and_rows("select c from sbtest1 where id=42"),
            (vec!["c".to_owned()], 1)
        );
        assert_eq!(
            names_and_rows("SELECT DISTINCT c FROM sbtest1 WHERE id BETWEEN 1 AND 9 ORDER BY c").1,
            100
        );
        for sum in ["SUM(k)", "count(k)"] {
            let sql = format!("SELECT {sum} FROM sbtest1 WHERE k BETWEEN ? AND ? OR k BETWEEN ?");
            assert_eq!(names_and_rows(&sql), (vec![sum.to_owned()], 1));
        }
    }

    #[test]
    fn other_statements_change_rows_or_nothing() {
        assert_eq!(meaning(b" update t set k = 1"), TextMeaning::Changes(1));
        assert_eq!(meaning(b"BEGIN"), TextMeaning::Changes(0));
        assert_eq!(meaning(b""), TextMeaning::Changes(0));
        assert_eq!(
            meaning(b"LOAD DATA LOCAL INFILE 'x' INTO TABLE t"),
            TextMeaning::LocalFile
        );
    }

    #[test]
    fn question_marks_in_texts_are_no_parameters() {
        assert_eq!(
            parameters(b"SELECT ?, '?', `a?`, \"?\" FROM t WHERE a IN (?,?)"),
            3
        );
    }

    #[test]
    fn the_first_value_ends_the_prefix_and_names_have_digits() {
        assert_eq!(
            prefix(b"SELECT c FROM sbtest1 WHERE id=42"),
            b"SELECT c FROM sbtest1 WHERE id="
        );
        assert_eq!(
            prefix(b"INSERT INTO t VALUES ('a')"),
            b"INSERT INTO t VALUES ("
        );
        assert_eq!(prefix(b"BEGIN"), b"BEGIN");
        assert_eq!(prefix(b"7"), b"");
    }

    proptest! {
        #[test]
        fn anything_has_a_meaning(sql: Vec<u8>) {
            let _ = (meaning(&sql), parameters(&sql), values(&sql));
            prop_assert!(sql.starts_with(prefix(&sql)));
        }
    }
}

//! The part of SQL needed for a plausible answer: which columns, how many rows.
//!
//! Nothing is parsed that a benchmark does not send. A statement that is not understood has no
//! result.

use super::reply::ColumnOut;
use contend_sql::{Mode, Token, TokenKind, Tokens, first_word, is_name, placeholders};
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
    match first_word(sql).to_ascii_uppercase().as_slice() {
        b"SELECT" => TextMeaning::Rows {
            columns: columns(sql),
            rows: rows(sql),
        },
        b"SHOW" => TextMeaning::Rows {
            columns: ["Variable_name", "Value"].map(ColumnOut::text).to_vec(),
            rows: 0,
        },
        b"LOAD" if words(sql, b"LOCAL") > 0 => TextMeaning::LocalFile,
        b"INSERT" | b"UPDATE" | b"DELETE" | b"REPLACE" => TextMeaning::Changes(1),
        _ => TextMeaning::Changes(0),
    }
}

/// The number of placeholders.
pub fn parameters(sql: &[u8]) -> u16 {
    let count = placeholders(sql, Mode::default()).count();
    count.try_into().unwrap_or(u16::MAX)
}

/// The first value of a statement.
pub fn first_value(sql: &[u8]) -> Option<Token<'_>> {
    Tokens::new(sql, Mode::default()).find(is_value)
}

fn is_value(token: &Token<'_>) -> bool {
    token.kind.is_literal() || token.kind == TokenKind::Placeholder
}

/// The text up to its first value: the common start of all statements of a kind.
#[derive(Debug)]
pub struct CommonStart {
    text: Vec<u8>,
    /// A list of values follows: it ends in `IN (`.
    pub lists: bool,
}

impl CommonStart {
    pub fn of(sql: &[u8]) -> Self {
        let end = first_value(sql).map_or(sql.len(), |value| value.start);
        let text = sql.get(..end).unwrap_or(sql).to_vec();
        let (mut lists, mut is_in) = (false, false);
        for token in Tokens::new(&text, Mode::default()).filter(|token| token.kind.is_code()) {
            lists = is_in && token.is_operator(b"(");
            is_in = token.is_word(b"IN");
        }
        Self { text, lists }
    }

    /// Whether a statement begins so, and its first value follows: the 1 of `sbtest1` is none.
    #[inline]
    pub fn begins(&self, sql: &[u8]) -> bool {
        let is_name = |byte: Option<&u8>| byte.copied().is_some_and(is_name);
        sql.starts_with(&self.text)
            && Tokens::starting_at(sql, self.text.len(), Mode::default())
                .next()
                .is_none_or(|next| {
                    let joins = is_name(self.text.last()) && is_name(next.text.first());
                    is_value(&next) && !joins
                })
    }

    /// Number of values of the list that follows, up to its parenthesis.
    #[inline]
    pub fn values(&self, sql: &[u8]) -> usize {
        let tokens = Tokens::starting_at(sql, self.text.len(), Mode::default());
        let list = tokens.take_while(|token| !token.is_operator(b")"));
        1 + list.filter(|token| token.is_operator(b",")).count()
    }
}

/// How many rows answer a SELECT, unless a list of values decides otherwise.
fn rows(sql: &[u8]) -> usize {
    match words(sql, b"BETWEEN") {
        ranges if ranges > 0 && !sums(sql) => ranges * RANGE_ROWS,
        _ => 1,
    }
}

fn columns(sql: &[u8]) -> Vec<ColumnOut> {
    let mut tokens = Tokens::new(sql, Mode::default());
    while !tokens.takes_word(b"SELECT") && tokens.read().is_some() {}
    tokens.takes_word(b"DISTINCT");
    let mut columns = Vec::new();
    let mut depth = 0usize;
    let mut name: Option<(usize, usize)> = None;
    while columns.len() < COLUMNS_MAX {
        let token = tokens.read().filter(|token| !token.is_word(b"FROM"));
        let Some(token) = token.filter(|token| depth > 0 || !token.is_operator(b",")) else {
            let (start, end) = name.take().unwrap_or_default();
            columns.push(column(tokens.between(start, end)));
            match token {
                Some(_) => continue,
                None => break,
            }
        };
        match token.text {
            b"(" => depth += 1,
            b")" => depth = depth.saturating_sub(1),
            _ => {}
        }
        name = Some((name.map_or(token.start, |name| name.0), token.end()));
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
        _ if sums(name) => (kind::LONGLONG, 20),
        _ => return ColumnOut::text(&text),
    };
    ColumnOut {
        name: text,
        kind,
        length,
    }
}

fn sums(sql: &[u8]) -> bool {
    words(sql, b"SUM") + words(sql, b"COUNT") > 0
}

/// How often a word is in a statement, in either case.
fn words(sql: &[u8], word: &[u8]) -> usize {
    let tokens = Tokens::new(sql, Mode::default());
    tokens.filter(|token| token.is_word(word)).count()
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
        let prefix = CommonStart::of(points.as_bytes());
        assert_eq!((prefix.lists, prefix.values(points.as_bytes())), (true, 3));
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
    fn the_first_value_ends_the_prefix_and_names_have_digits() {
        for (sql, prefix) in [
            (
                "SELECT c FROM sbtest1 WHERE id=42",
                "SELECT c FROM sbtest1 WHERE id=",
            ),
            ("INSERT INTO t VALUES ('a')", "INSERT INTO t VALUES ("),
            ("BEGIN", "BEGIN"),
            ("7", ""),
        ] {
            let found = CommonStart::of(sql.as_bytes());
            assert_eq!(found.text, prefix.as_bytes());
            assert!(found.begins(sql.as_bytes()) && !found.begins(b"DO ?"));
        }
        let begin = CommonStart::of(b"BEGIN");
        assert!(!begin.begins(b"BEGIN1") && !begin.begins(b"BEGIN x") && begin.begins(b"BEGIN'1'"));
    }

    proptest! {
        #[test]
        fn anything_has_a_meaning(sql: Vec<u8>) {
            let prefix = CommonStart::of(&sql);
            let _ = (meaning(&sql), parameters(&sql), prefix.values(&sql));
            prop_assert!(prefix.begins(&sql));
        }
    }
}

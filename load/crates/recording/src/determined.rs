//! Whether two servers with the same rows must give the same answer to a statement.

use contend_sql::{Mode, Token, TokenKind, Tokens};

/// How far the tables determine the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Determined {
    /// Not even the number of rows.
    Not,
    /// The number of rows, but not their content.
    Rows,
    /// All of it, unless rows are equal by what a `LIMIT` sorts by.
    UpToTies,
    /// All of it, except the order of the rows.
    Wholly,
}

/// Functions whose values may decide which rows are found.
const CHANCE: [&[u8]; 4] = [b"RAND", b"SYSDATE", b"SLEEP", b"BENCHMARK"];
/// Functions whose value depends on the server, the session, the moment, or the order of rows.
const OWN_VALUES: [&[u8]; 37] = [
    b"ANY_VALUE",
    b"CONNECTION_ID",
    b"CURDATE",
    b"CURRENT_DATE",
    b"CURRENT_ROLE",
    b"CURRENT_TIME",
    b"CURRENT_TIMESTAMP",
    b"CURRENT_USER",
    b"CURTIME",
    b"FIRST_VALUE",
    b"FOUND_ROWS",
    b"GROUP_CONCAT",
    b"JSON_ARRAYAGG",
    b"JSON_OBJECTAGG",
    b"LAG",
    b"LAST_INSERT_ID",
    b"LAST_VALUE",
    b"LEAD",
    b"LOCALTIME",
    b"LOCALTIMESTAMP",
    b"NOW",
    b"NTH_VALUE",
    b"NTILE",
    b"ROW_COUNT",
    b"ROW_NUMBER",
    b"SESSION_USER",
    b"SYSTEM_USER",
    b"UNIX_TIMESTAMP",
    b"USER",
    b"UTC_DATE",
    b"UTC_TIME",
    b"UTC_TIMESTAMP",
    b"UUID",
    b"UUID_SHORT",
    b"VERSION",
    b"SYS_GUID",
    b"RANDOM_BYTES",
];
/// Those that may stand without parentheses.
const BARE: [&[u8]; 10] = [
    b"CURRENT_DATE",
    b"CURRENT_ROLE",
    b"CURRENT_TIME",
    b"CURRENT_TIMESTAMP",
    b"CURRENT_USER",
    b"LOCALTIME",
    b"LOCALTIMESTAMP",
    b"UTC_DATE",
    b"UTC_TIME",
    b"UTC_TIMESTAMP",
];
/// Databases whose rows are the server's own.
const OWN_TABLES: [&[u8]; 4] = [
    b"information_schema",
    b"performance_schema",
    b"mysql",
    b"sys",
];

/// How far the rows of the tables determine the answer to a reading statement. Sums of floating
/// point numbers and columns that `GROUP BY` leaves out are taken for determined.
pub fn determined(statement: &[u8], mode: Mode) -> Determined {
    let code: Vec<_> = Tokens::new(statement, mode)
        .filter(|token| !matches!(token.kind, TokenKind::Space | TokenKind::Comment))
        .collect();
    let first = code.iter().find(|token| !token.is_operator(b"("));
    if !first.is_some_and(|first| is_one_of(first, &[b"SELECT", b"WITH", b"VALUES"])) {
        return Determined::Not;
    }
    let mut known = Determined::Wholly;
    // Whether each open parenthesis had an ORDER BY.
    let mut ordered = vec![false];
    for (place, token) in code.iter().enumerate() {
        let at = |place: Option<usize>| place.and_then(|place| code.get(place));
        let (before, next) = (at(place.checked_sub(1)), at(Some(place + 1)));
        let is_next = |operator: &[u8]| next.is_some_and(|next| next.is_operator(operator));
        let is_sorted = ordered.last().copied().unwrap_or(false);
        known = known.min(match token.kind {
            TokenKind::Operator => {
                match token.text {
                    b"(" => ordered.push(false),
                    b")" if ordered.len() > 1 => drop(ordered.pop()),
                    _ => {}
                }
                match token.text {
                    b":=" => Determined::Not,
                    b"@" | b"@@" => Determined::Rows,
                    _ => Determined::Wholly,
                }
            }
            TokenKind::Word | TokenKind::Name if is_next(b".") && is_own_table(token) => {
                Determined::Not
            }
            TokenKind::Word if before.is_some_and(|before| before.is_operator(b".")) => {
                Determined::Wholly
            }
            TokenKind::Word if token.is_word(b"ORDER") || token.is_word(b"UNION") => {
                if let Some(last) = ordered.last_mut() {
                    *last = token.is_word(b"ORDER");
                }
                Determined::Wholly
            }
            TokenKind::Word if is_one_of(token, &[b"LIMIT", b"FETCH"]) => {
                match (is_sorted, ordered.len()) {
                    (true, _) => Determined::UpToTies,
                    (false, 1) => Determined::Rows,
                    (false, _) => Determined::Not,
                }
            }
            TokenKind::Word if is_next(b"(") && is_one_of(token, &CHANCE) => Determined::Not,
            TokenKind::Word
                if is_next(b"(") && is_one_of(token, &OWN_VALUES) || is_one_of(token, &BARE) =>
            {
                Determined::Rows
            }
            _ => Determined::Wholly,
        });
    }
    known
}

fn is_one_of(token: &Token<'_>, words: &[&[u8]]) -> bool {
    words.iter().any(|word| token.is_word(word))
}

fn is_own_table(token: &Token<'_>) -> bool {
    OWN_TABLES
        .iter()
        .any(|name| token.inner().eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_determine_the_answer_as_far_as_nothing_else_is_in_it() {
        for (text, known) in [
            (
                "SELECT a FROM t WHERE b = 'NOW()' -- RAND()",
                Determined::Wholly,
            ),
            (
                "(SELECT a FROM t) UNION (SELECT a FROM u) ORDER BY a",
                Determined::Wholly,
            ),
            ("SELECT t.rand, `uuid`, version FROM t", Determined::Wholly),
            ("SELECT a FROM t ORDER BY b LIMIT 3", Determined::UpToTies),
            (
                "SELECT a FROM (SELECT a FROM t ORDER BY b LIMIT 3) x",
                Determined::UpToTies,
            ),
            ("SELECT a FROM t LIMIT 3", Determined::Rows),
            (
                "SELECT a FROM (SELECT a FROM t ORDER BY b) x limit 3",
                Determined::Rows,
            ),
            (
                "SELECT a FROM t ORDER BY b UNION SELECT 1 LIMIT 3",
                Determined::Rows,
            ),
            ("SELECT now(), a FROM t", Determined::Rows),
            (
                "SELECT a FROM t WHERE b < CURRENT_TIMESTAMP",
                Determined::Rows,
            ),
            ("SELECT UUID()", Determined::Rows),
            ("SELECT CONNECTION_ID ()", Determined::Rows),
            ("SELECT @@hostname", Determined::Rows),
            ("SELECT GROUP_CONCAT(a) FROM t", Determined::Rows),
            (
                "SELECT a FROM t WHERE b IN (SELECT b FROM u LIMIT 3)",
                Determined::Not,
            ),
            ("SELECT a FROM t WHERE RAND() < 0.1", Determined::Not),
            (
                "SELECT table_name FROM information_schema.tables",
                Determined::Not,
            ),
            ("SELECT User FROM `mysql`.user", Determined::Not),
            ("SELECT @n := @n + 1 FROM t", Determined::Not),
            ("SHOW STATUS", Determined::Not),
            ("EXPLAIN SELECT 1", Determined::Not),
            ("", Determined::Not),
        ] {
            assert_eq!(
                determined(text.as_bytes(), Mode::default()),
                known,
                "{text}"
            );
        }
    }
}

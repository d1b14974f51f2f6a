//! Where the transactions of a session begin and end.

use crate::undone::{COMMIT, is_in};
use contend_sql::{Mode, Token, Tokens};

/// What a statement does to the transaction of its session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Boundary {
    /// Nothing: it belongs to it.
    Inside,
    /// `SAVEPOINT`, and what refers to one.
    Savepoint,
    Begin,
    End {
        rolls_back: bool,
        /// The next transaction begins at once.
        chains: bool,
    },
    Autocommit(bool),
    /// It commits, and belongs to none.
    Commits,
    /// A transaction of several servers begins or ends.
    Distributed {
        begins: bool,
    },
}

/// Reads no more of the statement than it has to: most are decided by their first word.
pub fn boundary(statement: &[u8], mode: Mode) -> Boundary {
    let mut code = Tokens::new(statement, mode).filter(|token| token.kind.is_code());
    let Some(first) = code.next() else {
        return Boundary::Inside;
    };
    if is_in(&first, "SELECT INSERT UPDATE DELETE REPLACE WITH") {
        return Boundary::Inside;
    }
    let mut next = || code.next().filter(|token| !token.is_operator(b";"));
    if first.is_word(b"BEGIN") {
        return match next() {
            Some(next) if !next.is_word(b"WORK") => Boundary::Inside,
            _ => Boundary::Begin,
        };
    }
    if first.is_word(b"START") {
        return match next() {
            Some(next) if next.is_word(b"TRANSACTION") => Boundary::Begin,
            _ => Boundary::Commits,
        };
    }
    if first.is_word(b"COMMIT") || first.is_word(b"ROLLBACK") {
        return end(&first, std::iter::from_fn(next));
    }
    if is_in(&first, "SAVEPOINT RELEASE") {
        return Boundary::Savepoint;
    }
    if first.is_word(b"XA") {
        return match next() {
            Some(next) if is_in(&next, "START BEGIN") => Boundary::Distributed { begins: true },
            Some(next) if is_in(&next, "COMMIT ROLLBACK") => {
                Boundary::Distributed { begins: false }
            }
            _ => Boundary::Inside,
        };
    }
    if first.is_word(b"SET") {
        return autocommit(std::iter::from_fn(next)).map_or(Boundary::Inside, Boundary::Autocommit);
    }
    let is_temporary = || {
        is_in(&first, "CREATE DROP")
            && std::iter::from_fn(next)
                .take(3)
                .any(|token| token.is_word(b"TEMPORARY"))
    };
    match is_in(&first, COMMIT) || first.is_word(b"LOCK") {
        true if !is_temporary() => Boundary::Commits,
        _ => Boundary::Inside,
    }
}

fn end<'t>(first: &Token<'_>, rest: impl Iterator<Item = Token<'t>>) -> Boundary {
    let (mut chains, mut is_no) = (false, false);
    for token in rest {
        if token.is_word(b"TO") {
            return Boundary::Savepoint;
        }
        chains |= token.is_word(b"CHAIN") && !is_no;
        is_no = token.is_word(b"NO");
    }
    Boundary::End {
        rolls_back: first.is_word(b"ROLLBACK"),
        chains,
    }
}

/// The session's `autocommit`, if a `SET` changes it.
fn autocommit<'t>(mut rest: impl Iterator<Item = Token<'t>>) -> Option<bool> {
    let mut is_global = false;
    while let Some(token) = rest.next() {
        is_global = (is_global || token.is_word(b"GLOBAL")) && !token.is_operator(b",");
        if !token.inner().eq_ignore_ascii_case(b"AUTOCOMMIT") || is_global {
            continue;
        }
        let value = rest.find(|token| !matches!(token.text, b"=" | b":" | b":="))?;
        let value = value.inner();
        let mut off = [&b"0"[..], b"OFF", b"FALSE"].into_iter();
        return Some(!off.any(|off| value.eq_ignore_ascii_case(off)));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transactions_begin_and_end_where_servers_begin_and_end_them() {
        use Boundary::{Autocommit, Begin, Commits, Distributed, Inside, Savepoint};
        let end = |rolls_back, chains| Boundary::End { rolls_back, chains };
        for (text, found) in [
            ("BEGIN", Begin),
            ("/* x */ begin work;", Begin),
            ("START TRANSACTION READ ONLY", Begin),
            ("BEGIN NOT ATOMIC SELECT 1; END", Inside),
            ("START SLAVE", Commits),
            ("commit", end(false, false)),
            ("COMMIT AND NO CHAIN RELEASE", end(false, false)),
            ("ROLLBACK WORK AND CHAIN;", end(true, true)),
            ("ROLLBACK TO SAVEPOINT a", Savepoint),
            ("SAVEPOINT a", Savepoint),
            ("RELEASE SAVEPOINT a", Savepoint),
            ("SET autocommit=0", Autocommit(false)),
            ("set session autocommit := OFF", Autocommit(false)),
            ("SET NAMES utf8, @@session.autocommit = 1", Autocommit(true)),
            ("SET @@autocommit=ON;", Autocommit(true)),
            ("SET GLOBAL autocommit=0", Inside),
            ("SET GLOBAL a=1, autocommit=0", Autocommit(false)),
            ("SET sql_mode='autocommit=0'", Inside),
            ("CREATE TABLE t (a INT)", Commits),
            ("create temporary table t (a int)", Inside),
            ("DROP TEMPORARY TABLE t", Inside),
            ("LOCK TABLES t READ", Commits),
            ("XA START 'a'", Distributed { begins: true }),
            ("XA END 'a'", Inside),
            ("XA COMMIT 'a'", Distributed { begins: false }),
            ("SELECT 'BEGIN'", Inside),
            ("INSERT INTO t VALUES ('COMMIT')", Inside),
            ("", Inside),
        ] {
            assert_eq!(boundary(text.as_bytes(), Mode::default()), found, "{text}");
        }
    }
}

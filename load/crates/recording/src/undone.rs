//! Whether a transaction that is rolled back undoes a statement.

use contend_sql::{Mode, Token, TokenKind, Tokens};

/// First words of statements that end the transaction by themselves, or belong to no transaction.
pub const COMMIT: &str = "ALTER ANALYZE BACKUP BINLOG CACHE CHANGE CHECK CHECKSUM CREATE DROP FLUSH GRANT \
    IMPORT INSTALL KILL OPTIMIZE PURGE RENAME REPAIR RESET RESTART REVOKE SHUTDOWN START STOP \
    TRUNCATE UNINSTALL";
/// Those that begin, divide or end transactions.
const TRANSACTION: &str = "BEGIN COMMIT ROLLBACK SAVEPOINT RELEASE XA END";
/// Those that change the session, or depend on its past.
const SESSION: &str = "SET USE PREPARE EXECUTE DEALLOCATE HELP GET SIGNAL RESIGNAL DECLARE";
/// Functions whose effects outlive a rollback, or that wait.
const LASTING: &str = "GET_LOCK RELEASE_LOCK RELEASE_ALL_LOCKS SLEEP BENCHMARK NEXTVAL SETVAL \
    MASTER_POS_WAIT SOURCE_POS_WAIT MASTER_GTID_WAIT WAIT_FOR_EXECUTED_GTID_SET \
    WAIT_UNTIL_SQL_THREAD_AFTER_GTIDS";

/// Why a rollback does not undo a statement, as a word for a count; none if it does, in tables of
/// engines with transactions.
pub fn lasts(statement: &[u8], mode: Mode) -> Option<&'static str> {
    let mut code = Vec::new();
    for token in Tokens::new(statement, mode) {
        match token.kind {
            TokenKind::RunsFrom | TokenKind::RunsTo | TokenKind::Skipped => {
                return Some("executable_comment");
            }
            TokenKind::Unterminated | TokenKind::Placeholder => return Some("other"),
            TokenKind::Space | TokenKind::Comment => {}
            _ => code.push(token),
        }
    }
    while code.last().is_some_and(|token| token.is_operator(b";")) {
        code.pop();
    }
    let Some(first) = code.iter().find(|token| !token.is_operator(b"(")) else {
        return Some("other");
    };
    if is_in(first, COMMIT) {
        let next = code.get(1).map(|next| next.is_word(b"TRANSACTION"));
        let begins = first.is_word(b"START") && next == Some(true);
        return Some(if begins { "transaction" } else { "commits" });
    }
    for (words, reason) in [
        (TRANSACTION, "transaction"),
        (SESSION, "session"),
        ("LOCK UNLOCK HANDLER", "locks"),
        ("LOAD", "files"),
        ("CALL DO", "routine"),
    ] {
        if is_in(first, words) {
            return Some(reason);
        }
    }
    if !is_in(first, "SELECT WITH INSERT REPLACE UPDATE DELETE") {
        return Some("other");
    }
    code.iter().enumerate().find_map(|(place, token)| {
        let next = code.get(place + 1);
        let before = place.checked_sub(1).and_then(|before| code.get(before));
        let is_part = before.is_some_and(|before| before.is_operator(b"."));
        let is_call = next.is_some_and(|next| next.is_operator(b"("));
        let is_value = next.is_some_and(|next| next.is_word(b"VALUE"));
        match () {
            () if token.is_operator(b";") => Some("other"),
            // `s.NEXTVAL`, in Oracle mode.
            () if is_part => token.is_word(b"NEXTVAL").then_some("sequence"),
            () if is_in(token, "OUTFILE DUMPFILE") => Some("files"),
            () if is_in(token, "NEXT PREVIOUS") && is_value => Some("sequence"),
            () if is_call && is_in(token, LASTING) => Some("locks"),
            // Its rows are inserted later, by a different thread.
            () if place == 1 && token.is_word(b"DELAYED") => Some("commits"),
            () => None,
        }
    })
}

pub fn is_in(token: &Token<'_>, words: &str) -> bool {
    let mut words = words.split_ascii_whitespace();
    words.any(|word| token.is_word(word.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rollback_undoes_changes_of_rows_and_nothing_else() {
        for (text, reason) in [
            ("INSERT INTO t VALUES (1)", None),
            ("/* x */ replace into t select * from u;", None),
            ("UPDATE t SET a = 'DROP' WHERE b = 1", None),
            ("DELETE a FROM a JOIN b USING (c)", None),
            ("WITH x AS (SELECT 1) DELETE FROM t", None),
            ("(SELECT a FROM t FOR UPDATE)", None),
            ("SELECT my_function(1), t.outfile FROM t INTO @a", None),
            ("TRUNCATE t", Some("commits")),
            ("create temporary table t (a int)", Some("commits")),
            ("INSERT DELAYED INTO t VALUES (1)", Some("commits")),
            ("START SLAVE", Some("commits")),
            ("START TRANSACTION READ ONLY", Some("transaction")),
            ("COMMIT AND CHAIN", Some("transaction")),
            ("XA COMMIT 'a'", Some("transaction")),
            ("SET GLOBAL max_connections = 1", Some("session")),
            ("USE a", Some("session")),
            ("LOCK TABLES t WRITE", Some("locks")),
            ("SELECT GET_LOCK('a', 1)", Some("locks")),
            ("LOAD DATA INFILE 'x' INTO TABLE t", Some("files")),
            ("SELECT * FROM t INTO OUTFILE 'x'", Some("files")),
            ("CALL p()", Some("routine")),
            ("INSERT INTO t VALUES (NEXT VALUE FOR s)", Some("sequence")),
            ("SELECT s.nextval FROM dual", Some("sequence")),
            (
                "INSERT INTO t VALUES (1) /*!50000 , (2) */",
                Some("executable_comment"),
            ),
            ("INSERT INTO t VALUES (1); DROP TABLE t", Some("other")),
            ("INSERT INTO t VALUES (?)", Some("other")),
            ("SHOW MASTER STATUS", Some("other")),
            ("", Some("other")),
        ] {
            assert_eq!(lasts(text.as_bytes(), Mode::default()), reason, "{text}");
        }
    }
}

//! Marks: the comment of a table, which names its owner and the state of its load.
//!
//! ```text
//! contend:loading DATABASE.TABLE key=KEY rows=N by=WHO    while rows come
//! contend:KEY DATABASE.TABLE                              when all are there and were counted
//! ```
//!
//! A mark names its table. So a copy that was made by `CREATE TABLE … LIKE`, or a renamed table,
//! carries the mark of a different table, and is not ours. Each byte of a name except ASCII
//! letters, digits and `_$-` is written as `%` and two digits. A mark is compared byte by byte,
//! never by the server, which ignores case. The lab reads and writes the same:
//! `contend.servers.marks`.

use contend_sql::{Mode, TokenKind, Tokens};

/// The beginning of every mark.
const MARK: &str = "contend:";
const LOADING: &str = "loading";
/// In place of a key: no mark was requested for the finished table.
const NO_KEY: &str = "-";

/// A key that a mark can hold.
///
/// # Errors
/// Words for what it has to be.
pub fn key(text: &str) -> Result<String, String> {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    let is_taken = [LOADING, NO_KEY, "view"].contains(&text);
    match !text.is_empty() && text.len() <= 200 && text.bytes().all(fits) && !is_taken {
        true => Ok(text.to_owned()),
        false => Err("use 1 to 200 letters, digits, '.', '_' and '-'".to_owned()),
    }
}

/// While rows come.
pub fn loading(
    database: &str,
    table: &str,
    key: Option<&str>,
    rows: Option<u64>,
    who: &str,
) -> String {
    let (named, key, who) = (named(database, table), key.unwrap_or(NO_KEY), plain(who));
    let rows = rows.unwrap_or(0);
    format!("{MARK}{LOADING} {named} key={key} rows={rows} by={who}")
}

/// Whether a comment marks this very table as being loaded.
pub fn is_loading(comment: &str, database: &str, table: &str) -> bool {
    let start = format!("{MARK}{LOADING} {} key=", named(database, table));
    let Some(rest) = comment.strip_prefix(&start) else {
        return false;
    };
    let words: Vec<&str> = rest.split(' ').collect();
    match words.as_slice() {
        [key, rows, who] => {
            let rows = rows.strip_prefix("rows=").unwrap_or_default();
            let digits = !rows.is_empty() && rows.bytes().all(|byte| byte.is_ascii_digit());
            !key.is_empty() && digits && who.starts_with("by=")
        }
        _ => false,
    }
}

/// When all rows are there.
pub fn finished(database: &str, table: &str, key: &str) -> String {
    format!("{MARK}{key} {}", named(database, table))
}

/// A condition that always holds, as SQL. It marks a view, which has no comment.
pub fn always(database: &str, view: &str) -> String {
    format!("{} <> ''", of_view(database, view))
}

/// Text in the definition of our views, in the server's form.
pub fn of_view(database: &str, view: &str) -> String {
    format!("'{MARK}view {}'", named(database, view))
}

fn named(database: &str, table: &str) -> String {
    format!("{}.{}", plain(database), plain(table))
}

fn plain(name: &str) -> String {
    let mut text = String::with_capacity(name.len());
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || b"_$-".contains(&byte) {
            text.push(char::from(byte));
        } else {
            text.push_str(&format!("%{byte:02X}"));
        }
    }
    text
}

/// The literal after the last `COMMENT` among table options, unchanged.
pub fn comment_in(options: &str) -> Option<&str> {
    let mut found = None;
    let mut is_next = false;
    let mut tokens = Tokens::new(options.as_bytes(), Mode::default());
    while let Some(token) = tokens.read() {
        if is_next && matches!(token.kind, TokenKind::Text | TokenKind::Unterminated) {
            found = options.get(token.start..token.end());
        }
        is_next = token.is_word(b"COMMENT") || is_next && token.is_operator(b"=");
    }
    found
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_mark_names_its_table_and_is_no_other_s() {
        let mark = loading("my lab", "sbtest", Some("k-1"), Some(10), "u@h#7");
        assert_eq!(
            mark,
            "contend:loading my%20lab.sbtest key=k-1 rows=10 by=u%40h%237"
        );
        assert!(is_loading(&mark, "my lab", "sbtest"));
        for (database, table) in [
            ("my lab", "sbtest1"),
            ("My lab", "sbtest"),
            ("my", "lab.sbtest"),
        ] {
            assert!(!is_loading(&mark, database, table), "{database} {table}");
        }
        for other in [
            mark.to_uppercase(),
            format!("{mark} more"),
            format!(" {mark}"),
            mark.replace("rows=10", "rows=x"),
            finished("my lab", "sbtest", "k-1"),
            String::new(),
        ] {
            assert!(!is_loading(&other, "my lab", "sbtest"), "{other}");
        }
        assert_eq!(finished("a", "b", "k"), "contend:k a.b");
        assert_eq!(always("a", "v"), "'contend:view a.v' <> ''");
    }

    #[test]
    fn a_key_has_no_letter_that_a_mark_could_not_hold() {
        assert_eq!(
            key("sbtest-innodb-1.5M-0a"),
            Ok("sbtest-innodb-1.5M-0a".to_owned())
        );
        for bad in [
            "",
            "a b",
            "a'",
            "é",
            "loading",
            "view",
            "-",
            &"x".repeat(201),
        ] {
            assert!(key(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_comment_among_options_is_found_as_it_is_written() {
        for (options, comment) in [
            ("", None),
            ("ROW_FORMAT=FIXED comment = 'it''s' x=1", Some("'it''s'")),
            ("COMMENT 'a' COMMENT=\"b\\\"c\"", Some("\"b\\\"c\"")),
            ("DATA DIRECTORY='/comment/x'", None),
            ("CONNECTION='COMMENT=x' ENGINE=X", None),
            ("COMMENT=", None),
            ("comments='x'", None),
            ("COMMENT='open", Some("'open")),
        ] {
            assert_eq!(comment_in(options), comment, "{options}");
        }
    }
}

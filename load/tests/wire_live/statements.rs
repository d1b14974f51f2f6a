//! The reader of SQL text against a real server: one statement of ours is one of the server's.
//!
//! Random texts of statements go to the server whole and in pieces, in four settings of `sql_mode`.
//! The server must find as many statements as we do, and as many placeholders in each.

use std::cell::{Cell, RefCell};

use contend_sql::{Mode, SqlStatement, Statements, TokenKind, Tokens, placeholders};
use contend_wire::mysql::{Options, ReplyForm, command};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError, TestRunner};

use crate::client::{Client, Server, server};

/// Texts of each setting, unless `PROPTEST_CASES` asks for more.
const TEXTS: u32 = 2_500;

/// The beginnings and ends of all that has an end, and a few harmless words.
const SIGNS: &str = "'¦''¦\"¦`¦\\¦\\'¦;¦; ¦-- ¦--¦#¦\n¦/*¦*/¦/*!¦/*!50000 ¦/*!99999 ¦/*!80000¦*¦/\
    ¦/*M!100000 ¦?¦@¦@@¦.¦,¦ ¦\t¦\x0b¦x'¦N'¦b'¦1¦0x41¦1e¦5.¦a¦é¦SELECT 1¦\\N¦(¦)¦-¦{";
/// Parts of a statement that are right.
const GOOD: &str = "1¦0x41¦0b1¦1e3¦1.5e-3¦.5¦1.¦-1¦'a'¦'a' 'b'¦''''¦'\\\\'¦\"a\"¦x'41'¦X'4142'\
    ¦N'a'¦n''¦b'01'¦@a¦@`a;`¦@'a;'¦@5.x¦@@sql_mode¦@@session.sql_mode¦\\N¦NULL¦1--1¦1-- \n¦2*3\
    ¦6/2¦(1)¦?¦1 a¦1 `a;`¦1 é¦1 'a'¦_utf8'a;'¦'é'¦1 AS 5a¦1||1¦1 /*!50000 +1*/¦1 /*M!100000 +1*/\
    ¦1 /*! +1 */¦1 /*!99999 ' */¦1 /*!50701 a /* ; */ b */";
/// What holds random signs, with a tilde where they are.
const ENCLOSING: &str = "'~'¦\"~\"¦1 `~`¦N'~'¦1 /*~*/¦1 -- ~\n¦1 #~\n¦1 /*!~*/¦1 /*!99999~*/\
    ¦1 /*!50000 ~*/¦1 /*M!110000~*/";
/// What holds the parts of a statement.
const STATEMENT: &str = "SELECT ~¦DO ~¦/* ; */SELECT ~¦(SELECT ~)¦SELECT~¦/*!SELECT ~*/";
const GLUE: &str = ";¦; ¦ ;\n¦;¦;;¦; -- a\n¦; /* ; */ ";

fn one_of(list: &'static str) -> impl Strategy<Value = &'static str> {
    proptest::sample::select(list.split('¦').collect::<Vec<_>>())
}

fn signs() -> impl Strategy<Value = String> {
    proptest::collection::vec(one_of(SIGNS), 0..5).prop_map(|signs| signs.concat())
}

/// Signs between a beginning and an end, which they may break.
fn enclosed() -> impl Strategy<Value = String> {
    (one_of(ENCLOSING), signs()).prop_map(|(ends, inside)| ends.replace('~', &inside))
}

fn statement() -> impl Strategy<Value = String> {
    let item = prop_oneof![
        6 => one_of(GOOD).prop_map(str::to_owned),
        6 => enclosed(),
        1 => signs(),
    ];
    let items = proptest::collection::vec(item, 1..4);
    (one_of(STATEMENT), items).prop_map(|(ends, items)| ends.replace('~', &items.join(",")))
}

fn text() -> impl Strategy<Value = String> {
    let parts = proptest::collection::vec((statement(), one_of(GLUE)), 1..4);
    (parts, any::<bool>()).prop_map(|(parts, ends)| {
        let mut text: String = parts
            .iter()
            .flat_map(|(one, glue)| [one.as_str(), glue])
            .collect();
        if !ends {
            text.truncate(text.trim_end_matches([';', ' ']).len());
        }
        text
    })
}

/// Number of results before the first error, and that error.
fn results(client: &mut Client, sql: &[u8]) -> (usize, Option<String>) {
    let mut out = Vec::new();
    command::query(&mut out, sql);
    let error = client.run(ReplyForm::Results, &out, &[]).err();
    let results = client.answer.summary().results as usize;
    (results, error.map(|error| error.to_string()))
}

/// Placeholders that the server finds in a statement; none if it cannot prepare it.
fn parameters(client: &mut Client, sql: &[u8]) -> Option<usize> {
    let mut out = Vec::new();
    command::prepare(&mut out, sql);
    client.run(ReplyForm::Prepare, &out, &[]).ok()?;
    let prepared = client.answer.prepared()?;
    out.clear();
    command::close_statement(&mut out, prepared.id);
    command::query(&mut out, b"DO 0");
    client.run(ReplyForm::Results, &out, &[]).ok()?;
    Some(usize::from(prepared.parameters))
}

/// A server's version, as executable comments name it.
fn version(client: &mut Client) -> u32 {
    let text = client.value("SELECT VERSION()");
    let numbers = text.split(|c: char| !c.is_ascii_digit()).take(3);
    numbers.fold(0, |sum, number| sum * 100 + number.parse::<u32>().unwrap())
}

/// The server's statements also include parts of comments alone, at the end of a text.
fn has_last_comment(text: &[u8], ours: &[SqlStatement<'_>], mode: Mode) -> bool {
    let end = ours.last().map_or(0, |last| last.start + last.text.len());
    Tokens::starting_at(text, end, mode).any(|token| token.kind == TokenKind::Comment)
}

/// Nothing but one semicolon separates a statement from the one before. Alone it says the same: it
/// has no dashes at its end, which would begin a comment, and is more than a skipped comment.
fn follows(text: &[u8], ours: &[SqlStatement<'_>], place: usize, mode: Mode) -> bool {
    let one = ours[place].text;
    let end = place
        .checked_sub(1)
        .map_or(0, |last| ours[last].start + ours[last].text.len());
    let between = &text[end..ours[place].start];
    !one.ends_with(b"--")
        && Tokens::new(one, mode).any(|token| token.kind.is_code())
        && between.iter().filter(|byte| **byte == b';').count() == usize::from(place > 0)
        && between
            .iter()
            .all(|byte| *byte == b';' || byte.is_ascii_whitespace() || *byte == 0x0b)
}

#[derive(Default)]
struct Seen {
    texts: Cell<u32>,
    whole: Cell<u32>,
    alone: Cell<u32>,
    prepared: Cell<u32>,
}

fn add(count: &Cell<u32>) {
    count.set(count.get() + 1);
}

fn compare(client: &mut Client, text: &str, mode: Mode, seen: &Seen) -> Result<(), TestCaseError> {
    let ours: Vec<SqlStatement<'_>> = Statements::new(text.as_bytes(), mode).collect();
    let (count, error) = results(client, text.as_bytes());
    add(&seen.texts);
    if error.is_none() {
        add(&seen.whole);
        let last = usize::from(has_last_comment(text.as_bytes(), &ours, mode));
        prop_assert_eq!(count, ours.len() + last, "statements of {:?}", &ours);
    } else {
        prop_assert!(count <= ours.len(), "{} results of {:?}", count, &ours);
    }
    for (place, one) in ours.iter().enumerate() {
        let alone = results(client, one.text);
        let shown = one.text.escape_ascii();
        if one.unterminated.is_some() {
            prop_assert!(alone.1.is_some(), "{shown} has no end");
        } else if place < count {
            add(&seen.alone);
            prop_assert_eq!(alone, (1, None), "{}", shown);
        } else if place == count && follows(text.as_bytes(), &ours, place, mode) {
            prop_assert!(alone.1.is_some(), "{shown} alone, but whole: {error:?}");
        } else {
            prop_assert!(alone.0 <= 1, "{shown}");
        }
        if let Some(marks) = parameters(client, one.text) {
            add(&seen.prepared);
            let found = placeholders(one.text, mode).count();
            prop_assert_eq!(found, marks, "placeholders of {}", one.text.escape_ascii());
        }
    }
    Ok(())
}

fn check(server: &Server, ansi_quotes: bool, no_backslash_escapes: bool) {
    let options = Options {
        multi_statements: true,
        ..Options::default()
    };
    let mut client = Client::socket(server, "root", "", options).unwrap();
    let mode = Mode {
        ansi_quotes,
        no_backslash_escapes,
        version: version(&mut client),
    };
    let modes = [
        (ansi_quotes, "ANSI_QUOTES"),
        (no_backslash_escapes, "NO_BACKSLASH_ESCAPES"),
    ];
    let modes: Vec<&str> = modes
        .iter()
        .filter(|mode| mode.0)
        .map(|mode| mode.1)
        .collect();
    client
        .query(&format!(
            "SET sql_mode = '{}', NAMES utf8mb4",
            modes.join(",")
        ))
        .unwrap();
    let client = RefCell::new(client);
    let config = Config {
        cases: Config::default().cases.max(TEXTS),
        failure_persistence: None,
        ..Config::default()
    };
    let seen = Seen::default();
    let tested = TestRunner::new(config).run(&text(), |text| {
        compare(&mut client.borrow_mut(), &text, mode, &seen)
    });
    println!(
        "{mode:?}: {} texts, {} without an error; {} statements alone, {} prepared",
        seen.texts.get(),
        seen.whole.get(),
        seen.alone.get(),
        seen.prepared.get()
    );
    assert!(tested.is_ok(), "{mode:?}: {}", tested.unwrap_err());
    let least = seen.whole.get().min(seen.prepared.get());
    assert!(least * 10 > seen.texts.get(), "nearly all texts are wrong");
}

#[test]
fn a_statement_is_one_to_the_server_in_every_mode() {
    let Some(server) = server() else { return };
    for (ansi_quotes, no_backslash_escapes) in
        [(false, false), (true, false), (false, true), (true, true)]
    {
        check(server, ansi_quotes, no_backslash_escapes);
    }
}

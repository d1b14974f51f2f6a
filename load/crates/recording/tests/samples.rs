//! Made-up logs that are hard to read, and what a right reader finds in them.

#![allow(clippy::unwrap_used)]

use contend_recording::formats::LogFormat;
use contend_recording::{EntryDatabase, EntryKind, Flaw, LogEntry, LogInput, LogStamp};
use contend_sql::Mode;
use serde_json::{Value, json};
use std::io::{self, Read};
use std::path::Path;

fn sample(name: &str) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/samples");
    std::fs::read(folder.join(name)).unwrap()
}

/// Hands bytes over in pieces of this size.
struct Pieces(io::Cursor<Vec<u8>>, usize);

impl Read for Pieces {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let most = into.len().min(self.1);
        self.0.read(&mut into[..most])
    }
}

fn text_of(bytes: &[u8]) -> String {
    contend_recording::latin1(bytes)
}

/// The entries of a log, as lines.
fn read(format: LogFormat, bytes: &[u8]) -> Vec<Value> {
    let entry = |entry: LogEntry<'_>| {
        let end_us = match entry.stamp {
            LogStamp::End(us) | LogStamp::EndSecond(us) => Some(us),
            _ => None,
        };
        let begin_us = match entry.stamp {
            LogStamp::Begin(us) | LogStamp::BeginSecond(us) => Some(us),
            _ => None,
        };
        let kind = match (entry.flaw, entry.kind) {
            (Some(Flaw::Truncated), _) => "cut off",
            (_, EntryKind::Statement) => "statement",
            (_, EntryKind::Command | EntryKind::Quit) => "command",
            (_, EntryKind::Connect) => "connect",
            (_, EntryKind::InitDb) => "init_db",
        };
        let database = match entry.database {
            EntryDatabase::Known(name) => Some(text_of(name)),
            _ => None,
        };
        json!({
            "end_us": end_us, "begin_us": begin_us, "took_us": entry.took_us, "thread": entry.thread,
            "database": database, "kind": kind, "text": text_of(&entry.text),
            "rows": entry.rows_sent, "affected": entry.rows_affected, "errno": entry.error,
            "ambiguous": entry.flaw == Some(Flaw::Ambiguous),
        })
    };
    // Pieces of any size are read alike.
    let mut all: Vec<Vec<Value>> = Vec::new();
    for piece in [bytes.len(), 1, 7, 1000] {
        let mut found = Vec::new();
        let mut reader = format.reader(Mode::default());
        let mut place = 0;
        let mut held = piece.min(bytes.len());
        while place < bytes.len() {
            let is_end = held == bytes.len();
            let mut take = |one: LogEntry<'_>| {
                found.push(entry(one));
                Ok(())
            };
            let window = &bytes[place..held];
            place += reader
                .read(window, place as u64, is_end, &mut take)
                .unwrap();
            assert!(place <= held);
            held = (held + piece).min(bytes.len());
            if is_end {
                break;
            }
        }
        all.push(found);
    }
    let input = Pieces(io::Cursor::new(bytes.to_vec()), 100);
    let mut found = Vec::new();
    let mut take = |one: LogEntry<'_>| {
        found.push(entry(one));
        Ok(())
    };
    let mut reader = format.reader(Mode::default());
    let input = LogInput::of("sample", Box::new(input)).unwrap();
    let end = input.read(&mut *reader, 0, &mut take, &mut |_| Ok(()));
    assert_eq!(end.unwrap(), bytes.len() as u64);
    for other in &all {
        assert_eq!(&found, other);
    }
    found
}

/// The lines that came with the sample: a field that they have must be equal.
fn compare(name: &str, format: LogFormat, ambiguous: &[usize]) {
    let bytes = sample(name);
    assert_eq!(LogFormat::of_beginning(&bytes), Some(format), "{name}");
    let found = read(format, &bytes);
    let expected = sample(&format!("{name}.expected.jsonl"));
    let expected = String::from_utf8(expected).unwrap();
    let lines: Vec<Value> = expected
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(found.len(), lines.len(), "{name}: {found:#?}");
    for (place, (found, line)) in found.iter().zip(&lines).enumerate() {
        for (key, wanted) in line.as_object().unwrap() {
            let (key, wanted) = match key.as_str() {
                "end_s" => ("end_us", json!(wanted.as_i64().unwrap() * 1_000_000)),
                // The log does not say that there is none.
                "database" if wanted.is_null() => continue,
                "text" if line["kind"] == "cut off" => continue,
                // Only extended logs have it.
                "errno" if found["errno"].is_null() => continue,
                key => (key, wanted.clone()),
            };
            assert_eq!(
                found[key], wanted,
                "{name}: {key} of entry {place}: {found}"
            );
        }
        assert_eq!(found["ambiguous"], ambiguous.contains(&place), "{found}");
    }
}

#[test]
fn slow_logs_are_read_as_expected() {
    compare("mariadb-10.11-slow.log", LogFormat::Slow, &[2]);
    compare("mysql-8.4-slow.log", LogFormat::Slow, &[]);
    compare("mysql-8.4-slow-extra.log", LogFormat::Slow, &[]);
    compare("percona-8.0-slow-extended.log", LogFormat::Slow, &[]);
}

/// One line for each entry: kind, thread, database, moment after the first one, text.
fn lines(name: &str, format: LogFormat) -> Vec<String> {
    let bytes = sample(name);
    assert_eq!(LogFormat::of_beginning(&bytes), Some(format), "{name}");
    let found = read(format, &bytes);
    let moment = |entry: &Value| entry["end_us"].as_i64().or(entry["begin_us"].as_i64());
    let first = moment(&found[0]).unwrap();
    let line = |entry: &Value| {
        format!(
            "{} {} {} {} {:?}{}",
            entry["kind"].as_str().unwrap(),
            entry["thread"],
            entry["database"].as_str().unwrap_or("-"),
            moment(entry).unwrap() - first,
            entry["text"].as_str().unwrap(),
            if entry["ambiguous"] == true {
                " ambiguous"
            } else {
                ""
            },
        )
    };
    found.iter().map(line).collect()
}

#[test]
fn other_logs_are_read_as_they_were_the_last_time() {
    for (name, format) in [
        ("mariadb-10.11-general.log", LogFormat::General),
        ("mysql-8.4-general.log", LogFormat::General),
        ("mariadb-server_audit.log", LogFormat::Audit),
        ("proxysql-events.json", LogFormat::ProxySql),
        ("tiproxy-traffic.log", LogFormat::TiProxy),
        ("pt-query-digest-slow.log", LogFormat::Slow),
    ] {
        let found = lines(name, format).join("\n") + "\n";
        let entries = format!("{name}.entries.txt");
        if std::env::var_os("CONTEND_UPDATE_GOLDEN").is_some() {
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/samples");
            std::fs::write(folder.join(&entries), &found).unwrap();
        }
        assert_eq!(found.as_bytes(), sample(&entries), "{name}");
    }
}

/// What pt-query-digest 3.2.1 wrote of a log of ours, and that log's own kind.
#[test]
fn what_a_rewritten_log_lacks_is_a_warning() {
    for (name, warnings) in [
        (
            "pt-query-digest-slow.log",
            &["rewritten_by_pt_query_digest"][..],
        ),
        ("mariadb-10.11-slow.log", &[]),
    ] {
        let mut reader = LogFormat::Slow.reader(Mode::default());
        let mut take = |_: LogEntry<'_>| Ok(());
        reader.read(&sample(name), 0, true, &mut take).unwrap();
        assert_eq!(reader.warnings(), warnings, "{name}");
        assert_eq!(reader.skipped(), 0, "{name}");
    }
}

/// A slow log of these statements, of one session.
fn slow_log(statements: &[&str]) -> Vec<u8> {
    let entry = |text: &&str| {
        format!(
            "# Time: 260310 10:00:00\n# User@Host: a[a] @ b []\n# Thread_id: 7  Schema: s  QC_hit: No\n\
             # Query_time: 0.1  Lock_time: 0.0  Rows_sent: 1  Rows_examined: 1\n\
             SET timestamp=1773136800;\n{text};\n"
        )
    };
    statements
        .iter()
        .map(entry)
        .collect::<String>()
        .into_bytes()
}

#[test]
fn what_looks_like_an_entry_in_a_block_is_part_of_it() {
    let inner = String::from_utf8(slow_log(&["DROP TABLE item"])).unwrap();
    for (head, tail) in [
        ("BEGIN NOT ATOMIC\n IF 1 THEN SELECT 2; END IF", "END"),
        ("BEGIN NOT ATOMIC SELECT 1", "END"),
        ("IF 1 THEN SELECT 2", "END IF"),
        (
            "CREATE PROCEDURE IF NOT EXISTS p() IF a THEN SELECT 1",
            "END IF",
        ),
        (
            "CREATE TRIGGER t BEFORE INSERT ON a FOR EACH ROW BEGIN SET @a = 1; END",
            "",
        ),
        ("CREATE PROCEDURE p() SELECT 1", ""),
        ("BEGIN", ""),
    ] {
        let block = format!("{head};\n{inner}{tail}");
        let found = read(
            LogFormat::Slow,
            &slow_log(&["SELECT 1", &block, "SELECT 3"]),
        );
        let texts = found.iter().map(|one| one["text"].as_str().unwrap());
        let texts: Vec<_> = texts.collect();
        if tail.is_empty() {
            // It was over before.
            assert_eq!(texts.first(), Some(&"SELECT 1"));
            assert_eq!(texts.get(1), Some(&head));
            continue;
        }
        assert_eq!(texts, ["SELECT 1", &block, "SELECT 3"]);
        assert_eq!(found[1]["ambiguous"], true);
        assert_eq!(found[2]["ambiguous"], false);
    }
}

#[test]
fn a_statement_that_begins_like_an_entry_is_in_doubt() {
    let inner = String::from_utf8(slow_log(&["DROP TABLE item"])).unwrap();
    let found = read(LogFormat::Slow, &slow_log(&[&inner, "SELECT 3"]));
    let doubts: Vec<_> = found
        .iter()
        .filter(|one| one["ambiguous"] == true)
        .collect();
    assert!(
        found.iter().all(|one| one["text"] != "DROP TABLE item"),
        "{found:?}"
    );
    assert_eq!((found.len(), doubts.len()), (2, 1), "{found:?}");
}

#[test]
fn a_comment_that_begins_like_an_entry_is_part_of_its_statement() {
    let text = "SELECT 7\n# Time: x;\n# User@Host: y\n + 1";
    let found = read(LogFormat::Slow, &slow_log(&[text, "SELECT 3"]));
    let texts = found.iter().map(|one| one["text"].as_str().unwrap());
    assert_eq!(texts.collect::<Vec<_>>(), [text, "SELECT 3"]);
}

#[test]
fn a_session_that_changes_how_quotes_are_read_is_followed() {
    let texts = [
        "SET sql_mode = 'NO_BACKSLASH_ESCAPES'",
        r"SELECT 'C:\'",
        "SELECT 'a'",
    ];
    let found = read(LogFormat::Slow, &slow_log(&texts));
    let seen = found
        .iter()
        .map(|one| (one["text"].as_str().unwrap(), one["ambiguous"] == true));
    assert_eq!(seen.collect::<Vec<_>>(), texts.map(|text| (text, false)));
}

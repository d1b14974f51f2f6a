//! Odd statements, written by a writer of each format, are read back byte for byte; what only looks
//! like an entry is never passed on as one.
//!
//! `CONTEND_LOG_ENTRIES` sets the number of entries of each format; `--nocapture` shows the counts.

#![allow(clippy::unwrap_used)]

mod writers;

use contend_recording::formats::LogFormat;
use contend_recording::{EntryKind, Flaw, Importer, LogInput, RecordingFile};
use contend_sql::Mode;
use std::collections::{BTreeMap, HashMap};
use std::io::Cursor;
use std::time::Instant;
use writers::{Drawn, Sent, WRITERS};

fn entries() -> usize {
    let set = std::env::var("CONTEND_LOG_ENTRIES").ok();
    set.map_or(3000, |count| count.parse().unwrap())
}

/// Parts of statements, whole by themselves; the second ones hold what looks like an entry.
const PARTS: [&str; 16] = [
    " a",
    ", b",
    " 'x'",
    " 'it''s'",
    " \"q\\\"; q\"",
    " `n;n`",
    " /* c; ' */",
    " 'two\nlines'",
    "\n,",
    " -- it's; x\n",
    " # \"\n",
    " 17",
    " 'a;\nb'",
    " x'00FF'",
    " (1, 2)",
    " 'b\\\\'",
];
const TRAPS: [&str; 7] = [
    " 'a;\n# Time: 260310 10:00:00\n# User@Host: e[e] @ n []\n# Thread_id: 1  Schema:   QC_hit: No\n\
     # Query_time: 9.9  Lock_time: 0  Rows_sent: 9  Rows_examined: 9\nSET timestamp=1;\nDROP TABLE t;\n'",
    " '\n\t\t    77 Quit\t\n260310 10:00:00\t    78 Query\tDROP TABLE t'",
    " /*;\n# User@Host: e[e] @ n []  Id: 7\n# Query_time: 1  Lock_time: 0\nDROP TABLE t;\n*/",
    " \"\n2026-03-10T10:00:00.000010Z\t    9 Query\tDROP TABLE t\n\"",
    " '\n20260310 09:59:59,db1,shop,app1,41,1,QUERY,shop,\\'DROP TABLE t\\',0\n'",
    " '\n# Time: 2026-03-10T10:00:00Z\n# Conn_ID: 7\n# Payload_len: 12\nDROP TABLE t\n'",
    " `\n/usr/sbin/mysqld, Version: 8.4. started with:\n`",
];

/// A statement that ends outside of quotes; its number comes first.
fn statement(drawn: &mut Drawn, number: usize, is_text: bool) -> Vec<u8> {
    let mut text = format!("SELECT {number}").into_bytes();
    for _ in 0..drawn.below(8) {
        match drawn.below(40) {
            0 if !is_text => text.extend_from_slice(b" '\x00\xff\xe9\x1a\r'"),
            1 | 2 => {
                let trap = TRAPS[drawn.below(TRAPS.len())];
                text.extend_from_slice(trap.as_bytes());
            }
            3 => text.extend_from_slice("' é\u{1f600}'".as_bytes()),
            other => text.extend_from_slice(PARTS[other % PARTS.len()].as_bytes()),
        }
    }
    text
}

fn sent(drawn: &mut Drawn, count: usize, is_text: bool) -> Vec<Sent> {
    let mut us = 1_773_136_800_000_000;
    let one = |number| {
        us += drawn.below(3000) as i64;
        Sent {
            number,
            thread: 10 + drawn.below(5) as u64,
            end_us: us,
            took_us: drawn.below(40_000) as u64,
            text: statement(drawn, number, is_text),
        }
    };
    (0..count).map(one).collect()
}

#[test]
fn what_was_sent_is_read_and_nothing_else() {
    for writer in &WRITERS {
        let begun = Instant::now();
        let mut drawn = Drawn(0x1234_5678_9abc_def1);
        let sent = sent(&mut drawn, entries(), writer.is_text);
        let sent: Vec<Sent> = sent
            .into_iter()
            .filter(|one| (writer.takes)(&one.text))
            .collect();
        let log = (writer.write)(&sent);
        let name = writer.name;
        assert_eq!(
            LogFormat::of_beginning(&log).unwrap().name(),
            writer.format,
            "{name}"
        );
        let mut reader = LogFormat::of_beginning(&log)
            .unwrap()
            .reader(Mode::default());
        let (mut clear, mut doubtful) = (Vec::new(), 0);
        let input = LogInput::of(name, Box::new(Cursor::new(log.clone()))).unwrap();
        let mut take = |entry: contend_recording::LogEntry<'_>| {
            match (entry.kind, entry.flaw) {
                // The database of a session of TiProxy.
                (EntryKind::Statement, None) if *entry.text == *b"use shop" => {}
                (EntryKind::Statement, None) => {
                    clear.push((entry.thread, entry.text.into_owned()));
                }
                (EntryKind::Statement, flaw) => {
                    assert_eq!(flaw, Some(Flaw::Ambiguous), "{name}");
                    doubtful += 1;
                }
                _ => {}
            }
            Ok(())
        };
        input
            .read(&mut *reader, 0, &mut take, &mut |_| Ok(()))
            .unwrap();
        assert_eq!(reader.skipped(), 0, "{name}");
        assert_eq!(clear.len() + doubtful, sent.len(), "{name}");
        // Each was sent, in this order; one with a trap may be in doubt.
        let mut left = sent.iter();
        for (thread, text) in &clear {
            let found = left.find(|one| &one.text == text);
            assert_eq!(
                found.map(|one| one.thread),
                Some(*thread),
                "{name}: {text:?}"
            );
        }
        let trapped = |one: &&Sent| {
            TRAPS
                .iter()
                .any(|trap| memchr_has(&one.text, trap.as_bytes()))
        };
        assert!(
            doubtful <= sent.iter().filter(trapped).count(),
            "{name}: {doubtful}"
        );
        println!(
            "{name}: {} sent, {} read, {doubtful} in doubt, {:.1} s",
            sent.len(),
            clear.len(),
            begun.elapsed().as_secs_f64()
        );
    }
}

fn memchr_has(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}

/// A literal without an end, as in a statement that failed, turns the literals after it inside out.
#[test]
fn nothing_is_made_up_behind_a_literal_without_an_end() {
    for writer in WRITERS
        .iter()
        .filter(|writer| writer.format == "slow" || writer.format == "general")
    {
        let mut drawn = Drawn(77);
        let mut sent = sent(&mut drawn, 2000, true);
        for (place, one) in sent.iter_mut().enumerate() {
            if place % 400 == 200 {
                one.text.extend_from_slice(b" 'open");
            }
        }
        let log = (writer.write)(&sent);
        let mut reader = LogFormat::of_beginning(&log)
            .unwrap()
            .reader(Mode::default());
        let texts: HashMap<&[u8], ()> = sent.iter().map(|one| (&one.text[..], ())).collect();
        let mut clear = 0;
        let mut take = |entry: contend_recording::LogEntry<'_>| {
            if entry.kind == EntryKind::Statement && entry.flaw.is_none() {
                clear += 1;
                assert!(
                    texts.contains_key(&*entry.text),
                    "{}: {:?}",
                    writer.name,
                    entry.text
                );
            }
            Ok(())
        };
        let input = LogInput::of(writer.name, Box::new(Cursor::new(log))).unwrap();
        input
            .read(&mut *reader, 0, &mut take, &mut |_| Ok(()))
            .unwrap();
        assert!(clear > 1000, "{}: {clear}", writer.name);
    }
}

#[test]
fn the_order_of_each_session_is_kept_and_the_name_is_that_of_the_content() {
    let folder = std::env::temp_dir().join(format!("contend-properties-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    for writer in &WRITERS {
        let begun = Instant::now();
        let mut drawn = Drawn(42);
        let sent = sent(&mut drawn, entries(), writer.is_text);
        let sent: Vec<Sent> = sent
            .into_iter()
            .filter(|one| (writer.takes)(&one.text))
            .collect();
        let log = (writer.write)(&sent);
        let path = folder.join(writer.name);
        let mut names = Vec::new();
        for compressed in [false, true] {
            let bytes = match compressed {
                true => zstd::stream::encode_all(&log[..], 1).unwrap(),
                false => log.clone(),
            };
            let format = LogFormat::of_beginning(&log).unwrap();
            let mut reader = format.reader(Mode::default());
            let mut importer = Importer::new(&path, Mode::default()).unwrap();
            let input = LogInput::of("log", Box::new(Cursor::new(bytes))).unwrap();
            let mut take = |entry: contend_recording::LogEntry<'_>| importer.take(entry);
            let end = input
                .read(&mut *reader, 0, &mut take, &mut |_| Ok(()))
                .unwrap();
            assert_eq!(end, log.len() as u64);
            names.push(importer.finish(format.name(), end, &*reader).unwrap().name);
        }
        assert_eq!(names[0], names[1], "{}", writer.name);
        let mut recording = RecordingFile::open(&path).unwrap();
        assert_eq!(recording.name, names[0]);
        let contents = recording.contents.clone();
        let counted: u64 = contents.left_out.values().sum();
        let commands = contents
            .left_out
            .get("administrative")
            .copied()
            .unwrap_or_default();
        assert_eq!(
            contents.statements + counted - commands,
            sent.len() as u64,
            "{}",
            writer.name
        );
        let mut last = BTreeMap::new();
        let (mut moment, mut count) = (i64::MIN, 0);
        let mut offsets = Vec::new();
        recording
            .each(&mut |number, statement| {
                assert_eq!(number, count);
                count += 1;
                assert!(statement.begin_us >= moment);
                moment = statement.begin_us;
                let before = last.insert(statement.session, statement.offset);
                assert!(before < Some(statement.offset), "{}: {number}", writer.name);
                assert!(count > 500 || sent.iter().any(|one| one.text == statement.text));
                offsets.push((number, statement.template, statement.offset));
            })
            .unwrap();
        assert_eq!(count, contents.statements, "{}", writer.name);
        for (number, _, offset) in offsets.iter().step_by(97) {
            let mut found = None;
            recording
                .one(*number, &mut |_, one| found = Some(one.offset))
                .unwrap();
            assert_eq!(found, Some(*offset));
        }
        let of_first: Vec<_> = offsets
            .iter()
            .filter(|one| one.1 == 0)
            .map(|one| one.0)
            .collect();
        let places: Vec<u64> = (0..of_first.len() as u64).step_by(3).collect();
        let mut found = Vec::new();
        recording
            .of_template(0, &places, &mut |number, _| found.push(number))
            .unwrap();
        let wanted: Vec<u64> = of_first.into_iter().step_by(3).collect();
        assert_eq!(found, wanted, "{}", writer.name);
        let sessions = recording.sessions().unwrap();
        assert_eq!(
            sessions.iter().map(|one| one.statements).sum::<u64>(),
            count
        );
        println!(
            "{}: {count} of {} in {} sessions, {:.1} s",
            writer.name,
            sent.len(),
            sessions.len(),
            begun.elapsed().as_secs_f64()
        );
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn an_entry_that_is_too_long_is_refused_with_its_line() {
    let mut log =
        b"# User@Host: a[a] @ b []\n# Query_time: 1  Lock_time: 0\nSET timestamp=5;\nSELECT '"
            .to_vec();
    log.resize(contend_recording::ENTRY_BYTES_MAX + 1000, b'x');
    let mut reader = LogFormat::Slow.reader(Mode::default());
    let input = LogInput::of("big", Box::new(Cursor::new(log))).unwrap();
    let read = input.read(&mut *reader, 0, &mut |_| Ok(()), &mut |_| Ok(()));
    assert_eq!(
        read.unwrap_err().message,
        "big, line 1: an entry is longer than 64 MiB"
    );
}

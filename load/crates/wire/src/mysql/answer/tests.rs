//! Canned conversations: whole, in pieces of every size, with trailing bytes, by packets.

#![allow(clippy::unwrap_used)]
use super::*;
use crate::mysql::frame::{FrameReader, put_packet};
use crate::mysql::testing;

const PLAIN: Capabilities = Capabilities::NONE;
const NO_EOF: Capabilities = Capabilities::DEPRECATE_EOF;
const OK: &[u8] = b"\x00\x02\x05\x02\0\x01\0";
const OK_AT_END: &[u8] = b"\xfe\0\0\x02\0\0\0";
const EOF: &[u8] = b"\xfe\0\0\x02\0";
const MORE: &[u8] = b"\xfe\0\0\x0a\0";
const COLUMN: &[u8] = b"\x03def\0\0\0\x011\0\x0c\x3f\0\x01\0\0\0\x08\x81\0\0\0\0";
const ERROR: &[u8] = b"\xff\x28\x04#42000You have an error";

fn stream(packets: &[&[u8]]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut sequence = 1;
    for packet in packets {
        sequence = put_packet(&mut out, sequence, |out| out.extend_from_slice(packet));
    }
    out
}

/// Feeds pieces as an event loop does: the tail in front of the next bytes.
fn fed_in_pieces(
    reader: &mut AnswerReader,
    bytes: &[u8],
    piece: usize,
) -> Result<AnswerState, WireError> {
    let mut held: Vec<u8> = Vec::new();
    let mut state = AnswerState::More;
    for part in bytes.chunks(piece) {
        held.extend_from_slice(part);
        let fed = reader.feed(&held)?;
        held.drain(..fed.consumed);
        state = fed.state;
        if state == AnswerState::More {
            assert!(held.len() <= TAIL_MAX);
        }
    }
    Ok(state)
}

/// Every captured answer of a real server, in all the ways of [`check`].
#[test]
fn captured_answers() {
    for answer in testing::ANSWERS {
        let (summary, error) = check_bytes(answer.capabilities, answer.reply, answer.bytes);
        let said = (summary.rows, summary.results, error.map(|error| error.code));
        let meant = (answer.rows, answer.results, answer.error);
        assert_eq!(said, meant, "{} {}", answer.server, answer.command);
    }
}

/// Every conversation: whole, in every size of piece, with trailing bytes, by packets.
fn check(
    capabilities: Capabilities,
    reply: ReplyForm,
    packets: &[&[u8]],
) -> (Summary, Option<ServerError>) {
    check_bytes(capabilities, reply, &stream(packets))
}

fn check_bytes(
    capabilities: Capabilities,
    reply: ReplyForm,
    bytes: &[u8],
) -> (Summary, Option<ServerError>) {
    let mut reader = AnswerReader::new(capabilities);
    reader.expect(reply);
    let fed = reader.feed(bytes).unwrap();
    assert_eq!(
        fed,
        Fed {
            consumed: bytes.len(),
            state: AnswerState::Done
        }
    );
    let summary = *reader.summary();
    let error = reader.error().cloned();
    assert!(!reader.is_waiting());

    for piece in 1..bytes.len() {
        reader.expect(reply);
        assert_eq!(
            fed_in_pieces(&mut reader, bytes, piece).unwrap(),
            AnswerState::Done
        );
        assert_eq!(
            (*reader.summary(), reader.error().cloned()),
            (summary, error.clone())
        );
    }

    let mut trailing = bytes.to_vec();
    trailing.extend_from_slice(b"\x01\0\0\x01\0");
    reader.expect(reply);
    assert_eq!(reader.feed(&trailing).unwrap().consumed, bytes.len());

    reader.expect(reply);
    let mut frames = FrameReader::new(1 << 20);
    frames.expect_sequence(1);
    frames.feed(bytes);
    while let Some(packet) = frames.next_packet().unwrap() {
        assert!(reader.is_waiting());
        reader.packet(packet).unwrap();
    }
    assert!(!reader.is_waiting());
    assert_eq!(
        (*reader.summary(), reader.error().cloned()),
        (summary, error.clone())
    );
    (summary, error)
}

#[test]
fn ok_and_error() {
    let (summary, error) = check(PLAIN, ReplyForm::Results, &[OK]);
    assert_eq!(
        (
            summary.affected_rows,
            summary.last_insert_id,
            summary.warnings
        ),
        (2, 5, 1)
    );
    assert_eq!((summary.results, error), (1, None));
    let (summary, error) = check(PLAIN, ReplyForm::Results, &[ERROR]);
    assert!(summary.failed);
    assert_eq!(error.unwrap().code, 1064);
}

#[test]
fn result_sets_with_and_without_eof_packets() {
    let rows = [&b"\x011"[..], b"\xfb", b"\x00"];
    let old = [b"\x01", COLUMN, EOF, rows[0], rows[1], rows[2], EOF];
    let (summary, _) = check(PLAIN, ReplyForm::Results, &old);
    assert_eq!((summary.rows, summary.columns, summary.results), (3, 1, 1));
    let new = [b"\x01", COLUMN, rows[0], rows[1], rows[2], OK_AT_END];
    assert_eq!(check(NO_EOF, ReplyForm::Results, &new).0.rows, 3);
    assert_eq!(
        check(NO_EOF, ReplyForm::Results, &[b"\x01", COLUMN, OK_AT_END])
            .0
            .rows,
        0
    );
    let (summary, error) = check(
        NO_EOF,
        ReplyForm::Results,
        &[b"\x01", COLUMN, rows[0], ERROR],
    );
    assert!(summary.rows == 1 && error.is_some());
}

#[test]
fn several_results() {
    let (summary, _) = check(
        PLAIN,
        ReplyForm::Results,
        &[b"\x01", COLUMN, EOF, b"\x011", MORE, OK],
    );
    assert_eq!(
        (summary.rows, summary.results, summary.affected_rows),
        (1, 2, 2)
    );
}

/// `CALL` of a procedure with an out parameter, as MySQL 9.7 answers it.
#[test]
fn out_parameters_are_followed_by_the_end_of_the_call() {
    let packets = [
        &b"\x01"[..],
        COLUMN,
        b"\xfe\0\0\x0a\x10",
        b"\0\0\x0a\0\0\0",
        b"\xfe\0\0\x02\0",
        b"\0\0\0\x02\0\0\0",
    ];
    assert_eq!(check(PLAIN, ReplyForm::Results, &packets).0.results, 2);
}

#[test]
fn cached_metadata() {
    let capabilities = Capabilities::MARIADB_CACHE_METADATA | NO_EOF;
    let packets = [&b"\x01\x00"[..], b"\x00\x00\x05", OK_AT_END];
    assert_eq!(check(capabilities, ReplyForm::Results, &packets).0.rows, 1);
    let packets = [&b"\x01\x01"[..], COLUMN, b"\x00\x00\x05", OK_AT_END];
    assert_eq!(check(capabilities, ReplyForm::Results, &packets).0.rows, 1);
}

#[test]
fn prepare_answers() {
    let head = b"\x00\x09\0\0\0\x01\0\x02\0\0\x03\0";
    let (summary, _) = check(
        PLAIN,
        ReplyForm::Prepare,
        &[head, COLUMN, COLUMN, EOF, COLUMN, EOF],
    );
    assert_eq!(summary.warnings, 3);
    check(NO_EOF, ReplyForm::Prepare, &[head, COLUMN, COLUMN, COLUMN]);
    check(
        PLAIN,
        ReplyForm::Prepare,
        &[b"\x00\x09\0\0\0\0\0\0\0\0\0\0"],
    );
    check(
        PLAIN,
        ReplyForm::Prepare,
        &[b"\x00\x09\0\0\0\0\0\x01\0\0\0\0", COLUMN, EOF],
    );
    check(PLAIN, ReplyForm::Prepare, &[ERROR]);
    let mut reader = AnswerReader::new(NO_EOF);
    reader.expect(ReplyForm::Prepare);
    reader
        .feed(&stream(&[head, COLUMN, COLUMN, COLUMN]))
        .unwrap();
    assert_eq!(
        reader.prepared(),
        Some(Prepared {
            id: 9,
            columns: 1,
            parameters: 2
        })
    );
    reader.expect(ReplyForm::Prepare);
    reader.feed(&stream(&[ERROR])).unwrap();
    assert_eq!(reader.prepared(), None);
}

#[test]
fn a_local_file_is_sent_only_where_it_was_offered() {
    let asked = stream(&[b"\xfb/etc/passwd"]);
    let mut reader = AnswerReader::new(NO_EOF);
    reader.expect(ReplyForm::Results);
    assert!(matches!(reader.feed(&asked), Err(WireError::Theirs(_))));
    let mut reader = AnswerReader::new(Capabilities::LOCAL_FILES);
    reader.expect(ReplyForm::Results);
    assert_eq!(
        fed_in_pieces(&mut reader, &asked, 3).unwrap(),
        AnswerState::LocalInfile
    );
    assert_eq!(reader.next_sequence(), 2);
    reader.infile_sent(4);
    let mut ok = Vec::new();
    put_packet(&mut ok, 4, |out| out.extend_from_slice(OK));
    assert_eq!(reader.feed(&ok).unwrap().state, AnswerState::Done);
}

#[test]
fn a_long_row_is_passed_over_in_pieces() {
    let mut row = vec![0xfe];
    row.extend_from_slice(&(17u64 << 20).to_le_bytes());
    row.resize(row.len() + (17 << 20), 0xff);
    let bytes = stream(&[b"\x01", COLUMN, &row, OK_AT_END]);
    let mut reader = AnswerReader::new(NO_EOF);
    reader.expect(ReplyForm::Results);
    assert_eq!(
        fed_in_pieces(&mut reader, &bytes, 60_000).unwrap(),
        AnswerState::Done
    );
    assert_eq!(reader.summary().rows, 1);
}

#[test]
fn what_breaks_the_protocol_is_refused() {
    let mut many = vec![0xfe];
    many.extend_from_slice(&(1u64 << 60).to_le_bytes());
    for packets in [
        vec![&many[..]],
        vec![b"\xfc\0\0"],
        vec![b""],
        vec![b"\x01", b""],
        vec![b"\x01", COLUMN, COLUMN],
        vec![b"\x01", COLUMN, EOF, b""],
        vec![b"\x00\x01"],
    ] {
        let mut reader = AnswerReader::new(PLAIN);
        reader.expect(ReplyForm::Results);
        let error = reader.feed(&stream(&packets)).unwrap_err();
        assert!(matches!(error, WireError::Theirs(_)), "{packets:?}");
    }
    let mut reader = AnswerReader::new(PLAIN);
    reader.expect(ReplyForm::Results);
    let error = reader.feed(b"\x07\0\0\x05").unwrap_err();
    assert!(error.to_string().contains("sequence"));
}

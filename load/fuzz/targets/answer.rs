//! Answers: whatever the server sends, the three ways of reading it agree.
//!
//! Whole, torn and packet by packet must come to the same result, keep no more than
//! `TAIL_MAX` bytes, and neither panic nor grow.

use contend_wire::mysql::{
    AnswerPacket, AnswerReader, AnswerState, BinaryRow, Column, FrameReader, ReplyForm, TAIL_MAX,
    TextRow,
};
use contend_wire::{Capabilities, Summary};

const PACKET_MAX: usize = 1 << 20;

/// The first byte chooses the session, the second how the bytes are torn.
pub fn run(data: &[u8]) {
    let [choice, piece, bytes @ ..] = data else {
        return;
    };
    let when = |bit: u8, flag: Capabilities| flag.when(choice & bit != 0);
    let capabilities = when(1, Capabilities::DEPRECATE_EOF)
        | when(4, Capabilities::MARIADB_CACHE_METADATA)
        | when(8, Capabilities::LOCAL_FILES)
        | when(16, Capabilities::COMPRESS);
    let reply = if choice & 2 != 0 {
        ReplyForm::Prepare
    } else {
        ReplyForm::Results
    };
    let whole = in_pieces(capabilities, reply, bytes, bytes.len().max(1));
    let torn = in_pieces(capabilities, reply, bytes, usize::from(*piece).max(1));
    assert_eq!(whole, torn);
    by_packets(capabilities, reply, bytes, whole);
}

/// How an answer ended: what it said, how many bytes it took, whether it is over.
type End = Result<(Summary, Option<u16>, usize, bool), ()>;

fn in_pieces(capabilities: Capabilities, reply: ReplyForm, bytes: &[u8], piece: usize) -> End {
    let mut reader = AnswerReader::new(capabilities);
    reader.expect(reply);
    let mut held = Vec::new();
    let mut consumed = 0;
    for part in bytes.chunks(piece) {
        held.extend_from_slice(part);
        loop {
            let fed = reader.feed(&held).map_err(|_| ())?;
            assert!(fed.consumed <= held.len());
            held.drain(..fed.consumed);
            consumed += fed.consumed;
            match fed.state {
                AnswerState::More => {
                    assert!(held.len() <= TAIL_MAX && reader.is_waiting());
                    break;
                }
                AnswerState::LocalInfile => reader.infile_sent(reader.next_sequence()),
                AnswerState::Done => {
                    assert!(!reader.is_waiting());
                    let error = reader.error().map(|error| error.code);
                    return Ok((*reader.summary(), error, consumed, true));
                }
            }
        }
    }
    // What is consumed of an answer that goes on depends on where it was torn; that is no result.
    Ok((*reader.summary(), None, 0, false))
}

fn by_packets(capabilities: Capabilities, reply: ReplyForm, bytes: &[u8], whole: End) {
    let mut reader = AnswerReader::new(capabilities);
    reader.expect(reply);
    let mut frames = FrameReader::of_session(capabilities, PACKET_MAX);
    frames.expect_sequence(1);
    frames.feed(bytes);
    let mut columns = Vec::new();
    while reader.is_waiting() {
        let Ok(Some(packet)) = frames.next_packet() else {
            return;
        };
        let Ok(event) = reader.packet(packet) else {
            assert!(whole.is_err());
            return;
        };
        match event {
            AnswerPacket::ResultSet { metadata: true, .. } => columns.clear(),
            AnswerPacket::Column(payload) => {
                if let Ok(column) = Column::parse(payload) {
                    columns.push(column);
                }
            }
            AnswerPacket::Row(payload) => {
                assert!(TextRow::new(payload).count() <= payload.len());
                if let Ok(row) = BinaryRow::new(&columns, payload) {
                    assert!(row.count() <= columns.len());
                }
            }
            AnswerPacket::LocalInfile(_) => {
                reader.infile_sent(reader.next_sequence());
            }
            _ => {}
        }
    }
    if let Ok((summary, error, _, true)) = whole {
        assert_eq!(summary, *reader.summary());
        assert_eq!(error, reader.error().map(|error| error.code));
    }
}

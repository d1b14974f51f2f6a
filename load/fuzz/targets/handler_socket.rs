//! HandlerSocket: whatever a server sends, read whole and torn it comes to the same, and as the
//! answers to requests under way to the same as one by one.

use contend_client::Target;
use contend_client::dialect::{Dialect, Heard};
use contend_client::handler_socket::KeyLink;
use contend_client::request::{Class, Reply, Request};
use contend_reactor::socket::Address;
use contend_wire::Credentials;
use contend_wire::handler_socket::{LineReader, LineSummary};
use contend_wire::mysql::Options;
use std::time::Duration;

/// The first byte chooses how the bytes are torn.
pub fn run(data: &[u8]) {
    let [piece, bytes @ ..] = data else {
        return;
    };
    let piece = usize::from(*piece).max(1);
    let whole = read(bytes, bytes.len().max(1));
    let torn = read(bytes, piece);
    assert_eq!(whole, torn);
    let (answers, is_good) = whole;
    let rows = |said: &LineSummary| if said.code == 0 { said.rows() } else { 0 };
    let told: Vec<_> = answers
        .iter()
        .map(|said| (said.code != 0, rows(said)))
        .collect();
    for piece in [piece, bytes.len().max(1)] {
        assert_eq!(under_way(bytes, piece), (told.clone(), is_good));
    }
}

/// All answers up to the first that is none, or is cut off.
fn read(bytes: &[u8], piece: usize) -> (Vec<LineSummary>, bool) {
    let mut reader = LineReader::default();
    let mut answers = Vec::new();
    for mut part in bytes.chunks(piece) {
        loop {
            match reader.feed(part) {
                Err(_) => return (answers, false),
                Ok(None) => break,
                Ok(Some(taken)) => {
                    let said = reader.take();
                    assert!(said.rows() <= said.values);
                    assert!(
                        said.error()
                            .is_none_or(|error| error.message.len() <= 4 * 512)
                    );
                    answers.push(said);
                    part = part.get(taken..).unwrap_or_default();
                    if part.is_empty() {
                        break;
                    }
                }
            }
        }
    }
    (answers, true)
}

/// The same by a link with one request more under way than are answered: which answers are errors,
/// and their rows.
fn under_way(bytes: &[u8], piece: usize) -> (Vec<(bool, u64)>, bool) {
    let request = Request {
        link: 0,
        class: Class::Uncounted,
        reply: Reply::Counts,
        ends: None,
    };
    let (mut out, mut spare) = (Vec::new(), Vec::new());
    let mut link = KeyLink::default();
    link.open(&Target {
        address: Address::Unix("/none".into()),
        credentials: Credentials::default(),
        options: Options::default(),
        connect_timeout: Duration::ZERO,
    });
    assert_eq!(link.greet(&mut out), Ok(Heard::Opened));
    let mut answers = Vec::new();
    link.expect(request, 0);
    link.expect_more(true);
    for part in bytes.chunks(piece) {
        let mut heard = link.hear(part, &mut out, &mut spare);
        loop {
            match heard {
                Err(_) => return (answers, false),
                Ok(Heard::Answered(_)) => {
                    let summary = link.summary();
                    answers.push((summary.failed, summary.rows));
                    link.expect(request, 0);
                    if !link.has_left() {
                        break;
                    }
                    heard = link.hear_left(&mut spare);
                }
                Ok(_) => break,
            }
        }
    }
    assert!(out.is_empty());
    (answers, true)
}

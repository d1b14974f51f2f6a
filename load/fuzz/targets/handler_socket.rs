//! HandlerSocket: whatever a server sends, read whole and torn it comes to the same.

use contend_load::wire::handler_socket::{LineReader, LineSummary};

/// The first byte chooses how the bytes are torn.
pub fn run(data: &[u8]) {
    let [piece, bytes @ ..] = data else {
        return;
    };
    let whole = read(bytes, bytes.len().max(1));
    let torn = read(bytes, usize::from(*piece).max(1));
    assert_eq!(whole, torn);
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

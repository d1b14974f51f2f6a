//! Logs of all formats: read whole and in pieces they are the same, and no byte is lost or made up.

use contend_recording::formats::LogFormat;
use contend_recording::{LogEntry, Templates, only_reads};
use contend_sql::Mode;

/// One entry: its place, what it is, and its text.
type Seen = (u64, String, Vec<u8>);

/// The first byte chooses the format and the mode, the second how the bytes are torn.
pub fn run(data: &[u8]) {
    let [choice, piece, bytes @ ..] = data else {
        return;
    };
    let formats = LogFormat::ALL;
    let (_, format) = formats[usize::from(choice & 15) % formats.len()];
    let mode = Mode {
        no_backslash_escapes: choice & 16 != 0,
        ansi_quotes: choice & 32 != 0,
        ..Mode::default()
    };
    let _ = LogFormat::of_beginning(bytes);
    let (whole, skipped) = read(format, mode, bytes, bytes.len().max(1));
    let torn = read(format, mode, bytes, usize::from(*piece).max(1));
    assert_eq!((&whole, skipped), (&torn.0, torn.1));
    let mut templates = Templates::default();
    let mut last = 0;
    for (offset, _, text) in &whole {
        assert!(*offset >= last && *offset <= bytes.len() as u64);
        last = *offset;
        let shape = templates.read(text, mode);
        assert_eq!(shape, templates.read(text, mode));
        // What only reads is whole, and one statement.
        if only_reads(text, mode) {
            assert!(!shape.is_open && !shape.is_several && !shape.has_placeholder);
        }
    }
}

fn read(format: LogFormat, mode: Mode, bytes: &[u8], piece: usize) -> (Vec<Seen>, u64) {
    let mut reader = format.reader(mode);
    let mut found = Vec::new();
    let mut take = |entry: LogEntry<'_>| {
        let about = LogEntry {
            text: b"".into(),
            ..entry.clone()
        };
        found.push((entry.offset, format!("{about:?}"), entry.text.into_owned()));
        Ok(())
    };
    let (mut place, mut held) = (0, piece.min(bytes.len()));
    loop {
        let is_end = held == bytes.len();
        let window = &bytes[place..held];
        let read = reader.read(window, place as u64, is_end, &mut take);
        // Taking does not fail.
        place += read.unwrap_or(usize::MAX - place);
        assert!(place <= held);
        if is_end {
            assert_eq!(place, held);
            break;
        }
        held = (held + piece).min(bytes.len());
    }
    let skipped = reader.skipped();
    assert!(skipped <= bytes.len() as u64);
    (found, skipped)
}

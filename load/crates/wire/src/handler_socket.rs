//! The HandlerSocket protocol: reads and writes rows by key, on ports of its own and without the
//! server's SQL layer.
//!
//! A request is one line, and so is its answer. A line ends with LF, and TAB separates its tokens.
//! NULL is a single byte 0. A byte below 16 in a value is sent as a byte 1 and then the byte plus
//! 64, so no value contains a TAB, an LF or a NUL. (From the plugin's description of its protocol.)
//!
//! An answer begins with a code (0 if all is well) and the number of columns. Then come the values
//! of the rows, one after the other, or an error message.

use super::{ServerError, WireError};

const TAB: u8 = b'\t';
const END: u8 = b'\n';
/// Escapes the byte that follows it, to which [`MOVED`] was added.
const ESCAPE: u8 = 1;
/// Added to a byte that is escaped.
const MOVED: u8 = 0x40;
const PLAIN_MIN: u8 = 0x10;

/// The most bytes of an error message that are kept.
const WORDS_MAX: usize = 512;
/// The largest code, and the largest number of columns. Error codes of storage engines are small;
/// an answer with a larger number is not one of this protocol.
const CODE_MAX: u64 = u16::MAX as u64;

/// An index to open. Each connection opens it once, under a number that its requests then use.
#[derive(Clone, Copy, Debug)]
pub struct IndexName<'n> {
    pub number: u32,
    pub database: &'n str,
    pub table: &'n str,
    pub index: &'n str,
    /// The columns to read or write, separated by commas.
    pub columns: &'n str,
}

/// Appends a line, token by token.
#[derive(Debug)]
pub struct LineWriter<'o> {
    out: &'o mut Vec<u8>,
    is_first: bool,
}

impl<'o> LineWriter<'o> {
    pub fn new(out: &'o mut Vec<u8>) -> Self {
        Self {
            out,
            is_first: true,
        }
    }

    fn part(&mut self) {
        if !std::mem::take(&mut self.is_first) {
            self.out.push(TAB);
        }
    }

    /// A keyword of the protocol, which needs no escape.
    fn word(mut self, word: &[u8]) -> Self {
        self.part();
        self.out.extend_from_slice(word);
        self
    }

    pub fn number(mut self, number: u64) -> Self {
        self.part();
        let mut digits = itoa::Buffer::new();
        self.out.extend_from_slice(digits.format(number).as_bytes());
        self
    }

    pub fn value(mut self, value: &[u8]) -> Self {
        self.part();
        for &byte in value {
            if byte < PLAIN_MIN {
                self.out.extend_from_slice(&[ESCAPE, byte + MOVED]);
            } else {
                self.out.push(byte);
            }
        }
        self
    }

    pub fn end(self) {
        self.out.push(END);
    }
}

/// Appends the request that authenticates us, for a server that demands a secret.
pub fn put_secret(out: &mut Vec<u8>, secret: &str) {
    let line = LineWriter::new(out).word(b"A").number(1);
    line.value(secret.as_bytes()).end();
}

pub fn put_open(out: &mut Vec<u8>, index: &IndexName<'_>) {
    let mut line = LineWriter::new(out)
        .word(b"P")
        .number(u64::from(index.number));
    for name in [index.database, index.table, index.index, index.columns] {
        line = line.value(name.as_bytes());
    }
    line.end();
}

/// Begins a request that finds the rows whose first column of an index equals `key`. [`put_limit`] must follow,
/// then [`put_any_of`] or [`put_update`] if wanted.
pub fn find<'o>(out: &'o mut Vec<u8>, number: u32, key: &[u8]) -> LineWriter<'o> {
    LineWriter::new(out)
        .number(u64::from(number))
        .word(b"=")
        .number(1)
        .value(key)
}

/// Limits the number of rows; the offset is 0.
pub fn put_limit(line: LineWriter<'_>, rows: u64) -> LineWriter<'_> {
    line.number(rows).number(0)
}

/// Finds rows by any of these keys, as IN does, instead of the key given to [`find`]. `column` is
/// the place of the column in the index.
pub fn put_any_of<'o>(
    line: LineWriter<'o>,
    column: u64,
    keys: &mut dyn ExactSizeIterator<Item = i64>,
) -> LineWriter<'o> {
    let line = line.word(b"@").number(column).number(keys.len() as u64);
    let mut digits = itoa::Buffer::new();
    keys.fold(line, |line, key| line.word(digits.format(key).as_bytes()))
}

/// Updates the rows that were found with these values, and ends the line.
pub fn put_update(line: LineWriter<'_>, values: &[&[u8]]) {
    let line = line.word(b"U");
    let line = values.iter().fold(line, |line, value| line.value(value));
    line.end();
}

/// The summary of an answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LineSummary {
    /// 0 if all is well.
    pub code: u16,
    pub columns: u64,
    /// How many values follow the number of columns.
    pub values: u64,
    /// The first value, if it is a number. After an update it is the number of changed rows.
    pub first: u64,
    /// The error message, at most [`WORDS_MAX`] bytes of it.
    words: Vec<u8>,
}

impl LineSummary {
    pub fn rows(&self) -> u64 {
        self.values.checked_div(self.columns).unwrap_or(0)
    }

    /// The error, in the form of those of SQL.
    pub fn error(&self) -> Option<ServerError> {
        (self.code != 0).then(|| ServerError {
            code: self.code,
            sqlstate: *b"HY000",
            message: String::from_utf8_lossy(&self.words).into_owned(),
        })
    }
}

/// Reads answers that arrive in pieces of any size. Only the bytes of an error message are kept.
#[derive(Clone, Debug, Default)]
pub struct LineReader {
    said: LineSummary,
    token: u32,
    number: u64,
    /// The current number has digits.
    has_digits: bool,
    is_escaped: bool,
}

impl LineReader {
    /// Takes received bytes. If they complete the answer, returns how many of them belong to it;
    /// else all of them do, and more must come.
    ///
    /// # Errors
    /// The bytes are not an answer of this protocol.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<Option<usize>, WireError> {
        for (place, &byte) in bytes.iter().enumerate() {
            match byte {
                END => {
                    self.end_token()?;
                    if self.token < 2 {
                        return Err(WireError::theirs("an answer ends before its columns"));
                    }
                    return Ok(Some(place + 1));
                }
                TAB => self.end_token()?,
                _ if self.token < 2 => self.digit(byte)?,
                _ if self.said.code != 0 => self.word(byte),
                b'0'..=b'9' if self.token == 2 => {
                    let first = self.said.first.saturating_mul(10);
                    self.said.first = first.saturating_add(u64::from(byte - b'0'));
                }
                _ => {}
            }
        }
        Ok(None)
    }

    /// The summary of the answer; the reader is ready for the next.
    pub fn take(&mut self) -> LineSummary {
        std::mem::take(self).said
    }

    fn end_token(&mut self) -> Result<(), WireError> {
        match self.token {
            0 | 1 if !self.has_digits => {
                return Err(WireError::theirs("an answer does not begin with a number"));
            }
            0 => {
                self.said.code = u16::try_from(self.number)
                    .map_err(|_| WireError::theirs("an answer has an impossible code"))?;
            }
            1 => self.said.columns = self.number,
            _ => self.said.values += 1,
        }
        self.token = self.token.saturating_add(1);
        (self.number, self.has_digits) = (0, false);
        Ok(())
    }

    fn digit(&mut self, byte: u8) -> Result<(), WireError> {
        let digit = match byte {
            b'0'..=b'9' => u64::from(byte - b'0'),
            _ => return Err(WireError::theirs("an answer does not begin with numbers")),
        };
        self.number = self.number * 10 + digit;
        self.has_digits = true;
        match self.number <= CODE_MAX {
            true => Ok(()),
            false => Err(WireError::theirs("an answer has an impossible number")),
        }
    }

    fn word(&mut self, byte: u8) {
        if byte == ESCAPE && !self.is_escaped {
            self.is_escaped = true;
            return;
        }
        let byte = match std::mem::take(&mut self.is_escaped) {
            true => byte.wrapping_sub(MOVED),
            false => byte,
        };
        if self.said.words.len() < WORDS_MAX {
            self.said.words.push(byte);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    fn line(put: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
        let mut out = Vec::new();
        put(&mut out);
        out
    }

    fn read(bytes: &[u8]) -> Result<LineSummary, WireError> {
        let mut reader = LineReader::default();
        assert_eq!(reader.feed(bytes)?, Some(bytes.len()));
        Ok(reader.take())
    }

    #[test]
    fn requests_are_lines_of_tokens() {
        assert_eq!(line(|out| put_secret(out, "s\x01")), b"A\t1\ts\x01\x41\n");
        let index = IndexName {
            number: 3,
            database: "test",
            table: "sbtest",
            index: "PRIMARY",
            columns: "id,c",
        };
        assert_eq!(
            line(|out| put_open(out, &index)),
            b"P\t3\ttest\tsbtest\tPRIMARY\tid,c\n"
        );
        assert_eq!(
            line(|out| put_limit(find(out, 3, b"42"), 1).end()),
            b"3\t=\t1\t42\t1\t0\n"
        );
        assert_eq!(
            line(|out| {
                let found = put_limit(find(out, 0, b""), 2);
                put_any_of(found, 0, &mut [1, -2].into_iter()).end();
            }),
            b"0\t=\t1\t\t2\t0\t@\t0\t2\t1\t-2\n"
        );
        assert_eq!(
            line(|out| put_update(put_limit(find(out, 0, b"7"), 1), &[b"a\tb"])),
            b"0\t=\t1\t7\t1\t0\tU\ta\x01\x49b\n"
        );
    }

    #[test]
    fn answers_say_how_many_rows_there_are() {
        let said = read(b"0\t2\ta\tb\tc\td\n").unwrap();
        assert_eq!((said.code, said.columns, said.rows()), (0, 2, 2));
        assert_eq!(said.error(), None);
        // One value that is empty, and none.
        assert_eq!(read(b"0\t1\t\n").unwrap().rows(), 1);
        assert_eq!(read(b"0\t1\n").unwrap().rows(), 0);
    }

    #[test]
    fn an_error_has_its_words() {
        let error = read(b"2\t1\topen_\x01\x49table\n")
            .unwrap()
            .error()
            .unwrap();
        assert_eq!((error.code, &*error.message), (2, "open_\ttable"));
        let long = [b"1\t1\t".as_slice(), &[b'x'; 2000], b"\n"].concat();
        assert_eq!(
            read(&long).unwrap().error().unwrap().message.len(),
            WORDS_MAX
        );
    }

    #[test]
    fn what_speaks_another_protocol_is_refused() {
        for other in [
            b"\x4a\0\0\0\x0a5.5.5-10.11\n".as_slice(),
            b"\n",
            b"0\n",
            b"\t1\n",
            b"0\tx\n",
            b"99999999\t1\n",
        ] {
            let mut reader = LineReader::default();
            assert!(reader.feed(other).is_err(), "{other:?}");
        }
    }

    proptest! {
        #[test]
        fn a_value_never_ends_a_token(value in proptest::collection::vec(any::<u8>(), 0..40)) {
            let sent = line(|out| LineWriter::new(out).value(&value).end());
            let inside = &sent[..sent.len() - 1];
            prop_assert!(!inside.iter().any(|byte| [TAB, END, 0].contains(byte)));
        }

        #[test]
        fn answers_may_come_in_any_pieces(piece in 1usize..9, rows in 0u8..5) {
            let mut all = b"0\t1".to_vec();
            (0..rows).for_each(|_| all.extend_from_slice(b"\tvalue"));
            all.push(END);
            let mut reader = LineReader::default();
            let mut left = all.len();
            for bytes in all.chunks(piece) {
                left -= bytes.len();
                let done = reader.feed(bytes).unwrap();
                prop_assert_eq!(done.is_some(), left == 0);
            }
            prop_assert_eq!(reader.take().rows(), u64::from(rows));
        }
    }
}

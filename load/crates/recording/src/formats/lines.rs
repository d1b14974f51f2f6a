//! Lines that formats of logs share.

use contend_sql::{Mode, TokenKind, Tokens};
use memchr::{memchr, memmem};

/// The line that a server writes when it opens the log is shorter.
pub const BANNER_MAX: usize = 4096;

/// The line at `from` without its end, and where the next one begins.
pub fn line_at(bytes: &[u8], from: usize) -> Option<(&[u8], usize)> {
    let rest = bytes.get(from..)?;
    let length = memchr(b'\n', rest)?;
    Some((rest.get(..length)?, from + length + 1))
}

/// Like [`line_at`]; at the end of the log, also a last line without its end. True: it has one.
pub fn line_or_rest(bytes: &[u8], from: usize, is_end: bool) -> Option<(&[u8], usize, bool)> {
    match line_at(bytes, from) {
        Some((line, next)) => Some((line, next, true)),
        None if is_end => Some((bytes.get(from..)?, bytes.len(), false)),
        None => None,
    }
}

/// The first line of a server that opens the log.
pub fn is_banner(line: &[u8]) -> bool {
    line.len() < BANNER_MAX
        && line.ends_with(b"started with:")
        && memmem::find(line, b", Version: ").is_some()
}

/// Where the lines end that follow the first one: ports, and the heads of columns. None: more bytes
/// decide.
pub fn behind_banner(bytes: &[u8], from: usize, is_end: bool) -> Option<usize> {
    let mut next = from;
    for begin in [&b"Tcp port: "[..], b"Time"] {
        match line_at(bytes, next) {
            Some((line, after)) if line.starts_with(begin) => next = after,
            None if !is_end => return None,
            _ => {}
        }
    }
    Some(next)
}

/// The user of `shop[shop] @ app1 [10.0.0.11]`: the account is in the first brackets.
pub fn user_of(text: &[u8]) -> Option<&[u8]> {
    let open = memchr(b'[', text)? + 1;
    let close = memmem::find(text, b"] @ ")?;
    text.get(open..close)
}

/// A log without line breaks makes a comment to the end of the line swallow what followed it.
pub fn ends_in_line_comment(text: &[u8], mode: Mode) -> bool {
    if memmem::find(text, b"--").is_none() && memchr(b'#', text).is_none() {
        return false;
    }
    let last = Tokens::new(text, mode).last();
    last.is_some_and(|last| last.kind == TokenKind::Comment && last.text.first() != Some(&b'/'))
}

/// The bytes of a text with backslashes: `\\n`, `\\t`, `\\r`, `\\0`, and any other byte unchanged.
pub fn unescaped(text: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(text.len());
    let mut rest = text.iter();
    while let Some(byte) = rest.next() {
        plain.push(match (byte, byte == &b'\\') {
            (_, true) => match rest.next() {
                Some(b'n') => b'\n',
                Some(b't') => b'\t',
                Some(b'r') => b'\r',
                Some(b'0') => 0,
                Some(b'b') => 8,
                Some(b'Z') => 26,
                Some(other) => *other,
                None => b'\\',
            },
            (byte, false) => *byte,
        });
    }
    plain
}

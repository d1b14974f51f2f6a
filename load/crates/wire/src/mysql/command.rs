//! Writers of the client's commands. Each appends whole frames to a caller's buffer.

use super::frame::put_packet;

const COM_QUIT: u8 = 0x01;
const COM_INIT_DB: u8 = 0x02;
const COM_QUERY: u8 = 0x03;
const COM_STMT_PREPARE: u8 = 0x16;
const COM_STMT_CLOSE: u8 = 0x19;

fn put(out: &mut Vec<u8>, command: u8, body: &[u8]) {
    put_packet(out, 0, |out| {
        out.push(command);
        out.extend_from_slice(body);
    });
}

/// Text query, answered by [`super::ReplyForm::Results`].
pub fn query(out: &mut Vec<u8>, sql: &[u8]) {
    put(out, COM_QUERY, sql);
}

/// Text query whose text is written in place, so that no copy of it is made first.
pub fn query_with(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    put_packet(out, 0, |out| {
        out.push(COM_QUERY);
        write(out);
    });
}

/// Prepares a statement, answered by [`super::ReplyForm::Prepare`].
pub fn prepare(out: &mut Vec<u8>, sql: &[u8]) {
    put(out, COM_STMT_PREPARE, sql);
}

/// Frees a prepared statement. The server sends no answer.
pub fn close_statement(out: &mut Vec<u8>, id: u32) {
    put(out, COM_STMT_CLOSE, &id.to_le_bytes());
}

/// Changes the default database.
pub fn init_db(out: &mut Vec<u8>, database: &str) {
    put(out, COM_INIT_DB, database.as_bytes());
}

/// Says goodbye. The server closes, it sends no answer.
pub fn quit(out: &mut Vec<u8>) {
    put(out, COM_QUIT, &[]);
}

/// A part of the local file that the server asked for. Returns the sequence number after it.
///
/// An empty part ends the file, so nothing is written for one.
pub fn infile_part(out: &mut Vec<u8>, sequence: u8, data: &[u8]) -> u8 {
    if data.is_empty() {
        return sequence;
    }
    put_packet(out, sequence, |out| out.extend_from_slice(data))
}

/// The end of the local file. Sent alone it is a polite refusal.
pub fn infile_end(out: &mut Vec<u8>, sequence: u8) -> u8 {
    put_packet(out, sequence, |_| {})
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn written(write: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
        let mut out = Vec::new();
        write(&mut out);
        out
    }

    #[test]
    fn commands_are_framed() {
        assert_eq!(
            written(|out| query(out, b"SELECT 1")),
            b"\x09\0\0\0\x03SELECT 1"
        );
        assert_eq!(
            written(|out| query_with(out, |out| out.extend_from_slice(b"DO 1"))),
            b"\x05\0\0\0\x03DO 1"
        );
        assert_eq!(written(|out| prepare(out, b"DO ?")), b"\x05\0\0\0\x16DO ?");
        assert_eq!(
            written(|out| close_statement(out, 258)),
            b"\x05\0\0\0\x19\x02\x01\0\0"
        );
        assert_eq!(written(|out| init_db(out, "test")), b"\x05\0\0\0\x02test");
        assert_eq!(written(quit), b"\x01\0\0\0\x01");
    }

    #[test]
    fn a_local_file_counts_its_packets() {
        let mut out = Vec::new();
        let next = infile_part(&mut out, 2, b"1\t2\n");
        let next = infile_part(&mut out, next, b"");
        let next = infile_end(&mut out, next);
        assert_eq!(out, b"\x04\0\0\x021\t2\n\0\0\0\x03");
        assert_eq!(next, 4);
    }
}

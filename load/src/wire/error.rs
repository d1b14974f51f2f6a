//! What can go wrong on the wire, sorted by who is to blame.
//!
//! An error that the server reports in answer to a command is not a [`WireError`]: the
//! conversation goes on after it. It is the answer (see [`super::answer::AnswerReader::error`]).

use std::borrow::Cow;
use std::fmt;

use super::cursor::Cursor;

/// The conversation cannot go on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// The server broke the protocol, or something else answers at that address.
    #[error("the server broke the protocol: {0}")]
    Theirs(Cow<'static, str>),
    /// A setting or a call of ours cannot work with this server.
    #[error("{0}")]
    Ours(Cow<'static, str>),
    /// The server's certificate was not accepted.
    #[error("the server's TLS certificate is refused: {0}")]
    Distrusted(String),
    /// The server did not let us in.
    #[error("the server refused the connection: {0}")]
    Refused(ServerError),
}

impl WireError {
    pub(crate) fn theirs(what: impl Into<Cow<'static, str>>) -> Self {
        Self::Theirs(what.into())
    }

    pub(crate) fn ours(what: impl Into<Cow<'static, str>>) -> Self {
        Self::Ours(what.into())
    }
}

/// An ERR packet: code, SQLSTATE and words of the server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerError {
    pub code: u16,
    /// Five characters; `HY000` where the server sent none.
    pub sqlstate: [u8; 5],
    pub message: String,
}

/// Error numbers of the client side, as the client libraries give them and reports of other tools
/// have them.
pub mod client_error {
    pub const CANNOT_CONNECT: u16 = 2002;
    pub const UNKNOWN_HOST: u16 = 2005;
    pub const GONE: u16 = 2006;
    pub const LOST: u16 = 2013;
    pub const OUT_OF_SYNC: u16 = 2014;
    pub const MALFORMED: u16 = 2027;
    pub const LOST_EXTENDED: u16 = 2055;
}

/// An error of our side in the form of the server's, for sessions that judge errors.
pub fn client_error(code: u16, message: impl Into<String>) -> ServerError {
    ServerError {
        code,
        sqlstate: *b"HY000",
        message: message.into(),
    }
}

/// Longest message kept of an ERR packet. The servers' own limit is 512 bytes.
const MESSAGE_MAX: usize = 512;

impl ServerError {
    /// Reads an ERR packet, its first byte (0xFF) included. Longer messages are cut.
    ///
    /// # Errors
    /// It is no ERR packet.
    pub fn parse(payload: &[u8]) -> Result<Self, WireError> {
        let mut error = Self::default();
        error.read(payload)?;
        Ok(error)
    }

    /// As [`Self::parse`], in the place of an error before: its message's room is used again.
    ///
    /// # Errors
    /// It is no ERR packet; the error before stands.
    pub fn read(&mut self, payload: &[u8]) -> Result<(), WireError> {
        let mut cursor = Cursor::new(payload);
        if cursor.u8("error packet")? != 0xff {
            return Err(WireError::theirs("an error packet that begins otherwise"));
        }
        let code = cursor.u16("error code")?;
        let mut sqlstate = *b"HY000";
        // Errors sent before the handshake have no SQLSTATE: 1040 and 1129 come so.
        if cursor.rest().first() == Some(&b'#') && cursor.rest().len() >= 6 {
            cursor.u8("SQLSTATE mark")?;
            for (kept, sent) in sqlstate.iter_mut().zip(cursor.bytes(5, "SQLSTATE")?) {
                // What is no letter or digit would end in a report: it is not a SQLSTATE.
                *kept = if sent.is_ascii_alphanumeric() {
                    *sent
                } else {
                    b'?'
                };
            }
        }
        let message = cursor.rest();
        let message = message.get(..MESSAGE_MAX).unwrap_or(message);
        (self.code, self.sqlstate) = (code, sqlstate);
        self.message.clear();
        self.message.push_str(&String::from_utf8_lossy(message));
        Ok(())
    }

    /// The SQLSTATE as text.
    pub fn sqlstate(&self) -> &str {
        std::str::from_utf8(&self.sqlstate).unwrap_or("HY000")
    }
}

impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}): {}", self.code, self.sqlstate(), self.message)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn reads_an_error_with_and_without_sqlstate() {
        let error = ServerError::parse(b"\xff\x28\x04#42000You have an error").unwrap();
        assert_eq!((error.code, error.sqlstate()), (1064, "42000"));
        assert_eq!(error.message, "You have an error");
        let error = ServerError::parse(b"\xff\x10\x04Too many connections").unwrap();
        assert_eq!((error.code, error.sqlstate()), (1040, "HY000"));
        assert_eq!(error.to_string(), "1040 (HY000): Too many connections");
    }

    #[test]
    fn cuts_long_messages_and_refuses_short_packets() {
        let mut packet = b"\xff\x01\x02#HY000".to_vec();
        packet.extend_from_slice(&[b'x'; 5000]);
        assert_eq!(
            ServerError::parse(&packet).unwrap().message.len(),
            MESSAGE_MAX
        );
        assert!(ServerError::parse(b"\xff\x01").is_err());
        assert!(ServerError::parse(b"").is_err());
    }
}

//! Errors on the wire, sorted by the end that caused them.
//!
//! An error that the server reports in answer to a command is not a [`WireError`]: the
//! conversation goes on after it. It is the answer (see [`super::mysql::AnswerReader::error`]).

use std::borrow::Cow;
use std::fmt;

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
    pub fn theirs(what: impl Into<Cow<'static, str>>) -> Self {
        Self::Theirs(what.into())
    }

    pub fn ours(what: impl Into<Cow<'static, str>>) -> Self {
        Self::Ours(what.into())
    }
}

/// An error of the server: its code, SQLSTATE and message.
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
    pub const MALFORMED: u16 = 2027;
}

/// An error of our side in the form of the server's, for sessions that judge errors.
pub fn client_error(code: u16, message: impl Into<String>) -> ServerError {
    ServerError {
        code,
        sqlstate: *b"HY000",
        message: message.into(),
    }
}

impl ServerError {
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

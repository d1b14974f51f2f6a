//! The seam between whoever has a socket and the protocol that is spoken on it.

use crate::reactor::socket::Address;
use crate::wire::WireError;
use crate::wire::mysql::{Agreed, Credentials, Options, Prepared, ServerError, Summary};
use crate::workload::{Request, Tongue};
use std::time::Duration;

/// Where a server is and who enters.
#[derive(Clone, Debug)]
pub struct Target {
    pub address: Address,
    pub credentials: Credentials,
    pub options: Options,
    pub connect_timeout: Duration,
}

/// What a session found out about its server and agreed with it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionFacts {
    pub server_version: String,
    /// In the words of an outcome's `session`.
    pub agreed: Vec<&'static str>,
}

/// What the bytes meant.
#[derive(Debug, PartialEq, Eq)]
pub enum Heard {
    /// Nothing yet; or bytes were put in `out` that must be sent.
    More,
    /// The session is open.
    Opened,
    /// The answer to the request is whole.
    Answered(Request),
    /// The server waits for a local file: see [`Dialect::put_file_part`].
    LocalFile,
}

/// One conversation with a server: bytes in, bytes out. Its socket belongs to somebody else.
pub trait Dialect: Default {
    const TONGUE: Tongue;

    /// A connection to this server was asked for. Until it stands nothing is sent.
    fn open(&mut self, target: &Target);

    /// The connection stands. What is said before the server says anything is appended to `out`.
    ///
    /// # Errors
    /// The connection is of no use.
    fn greet(&mut self, _out: &mut Vec<u8>) -> Result<Heard, WireError> {
        Ok(Heard::More)
    }

    /// The socket is gone. Returns the request that will not be answered.
    fn close(&mut self) -> Option<Request>;

    fn is_open(&self) -> bool;

    fn is_closed(&self) -> bool;

    fn is_waiting(&self) -> bool;

    /// What was agreed at login.
    fn agreed(&self) -> Option<&Agreed>;

    /// What was agreed, for a report.
    fn facts(&self) -> Option<SessionFacts>;

    /// A request is about to be sent: wait for its answer.
    fn expect(&mut self, request: Request);

    /// The bytes to send for these packets: themselves, or what a layer makes of them in `spare`.
    fn seal<'a>(
        &mut self,
        packets: &'a [u8],
        spare: &'a mut Vec<u8>,
    ) -> Result<&'a [u8], WireError>;

    /// Takes bytes of the socket. What must be sent at once is appended to `out`, sealed
    /// already. `spare` is room to put a torn tail and these bytes together.
    ///
    /// # Errors
    /// The connection is of no more use.
    fn hear(
        &mut self,
        bytes: &[u8],
        out: &mut Vec<u8>,
        spare: &mut Vec<u8>,
    ) -> Result<Heard, WireError>;

    /// Appends, sealed already, a part of the local file that the server waits for; an empty one
    /// is its end.
    fn put_file_part(
        &mut self,
        part: &[u8],
        out: &mut Vec<u8>,
        spare: &mut Vec<u8>,
    ) -> Result<(), WireError>;

    /// Of the answer heard last.
    fn summary(&self) -> &Summary;

    fn error(&self) -> Option<&ServerError>;

    fn prepared(&self) -> Option<Prepared>;

    /// The bytes of the answer, where the request asked for them.
    fn whole(&self) -> &[u8];

    /// Appends the packets that say goodbye, if there is anybody to say it to.
    fn put_goodbye(&self, out: &mut Vec<u8>);
}

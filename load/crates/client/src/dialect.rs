//! The interface between the owner of a socket and the protocol that is spoken on it.

use super::target::Target;
use crate::request::{Request, RequestProtocol};
use contend_wire::{Capabilities, Prepared, ServerError, Summary, WireError};

/// The facts that a session learned about its server and agreed with it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionFacts {
    pub server_version: String,
    /// The agreed facts, by the names that an outcome's `session` uses.
    pub agreed: Vec<&'static str>,
}

/// The meaning of the received bytes.
#[derive(Debug, PartialEq, Eq)]
pub enum Heard {
    /// Nothing yet. `out` may have bytes that must be sent.
    More,
    /// The session is open.
    Opened,
    /// The answer to the request is whole.
    Answered(Request),
    /// The server waits for a local file: see [`Dialect::put_file_part`].
    LocalFile,
}

/// Bytes that were received together with an answer and come after it.
#[derive(Debug, Default)]
pub(super) struct LeftBytes {
    bytes: Vec<u8>,
    /// How many of them were read.
    read: usize,
}

impl LeftBytes {
    #[cold]
    pub fn put(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    pub fn len(&self) -> usize {
        self.bytes.len() - self.read
    }

    pub fn clear(&mut self) {
        self.bytes.clear();
        self.read = 0;
    }

    /// Lets `read` read them; it returns how many it has not read. They are not copied for each
    /// answer.
    pub fn read<T>(
        &mut self,
        read: impl FnOnce(&[u8]) -> Result<(T, usize), WireError>,
    ) -> Result<T, WireError> {
        let (heard, unread) = read(self.bytes.get(self.read..).unwrap_or_default())?;
        self.read = self.bytes.len() - unread;
        if unread == 0 {
            self.clear();
        }
        Ok(heard)
    }
}

/// The protocol side of one connection: bytes in, bytes out. The caller owns the socket.
pub trait Dialect: Default {
    const PROTOCOL: RequestProtocol;

    /// A connection to this server is being opened. Nothing is sent until it is established.
    fn open(&mut self, target: &Target);

    /// The connection is established. Appends to `out` the bytes to send before the server sends
    /// anything, if the protocol has any.
    ///
    /// # Errors
    /// The connection cannot be used.
    fn greet(&mut self, _out: &mut Vec<u8>) -> Result<Heard, WireError> {
        Ok(Heard::More)
    }

    /// The socket was closed. Returns the request that was waiting for its answer, if any.
    fn close(&mut self) -> Option<Request>;

    fn is_open(&self) -> bool;

    fn is_closed(&self) -> bool;

    fn is_waiting(&self) -> bool;

    /// What both ends can do, if the session is open.
    fn capabilities(&self) -> Option<Capabilities> {
        self.is_open().then_some(Capabilities::NONE)
    }

    /// The number by which the server knows the connection, if the session is open and the protocol
    /// reports it.
    fn connection_number(&self) -> Option<u64> {
        None
    }

    /// The agreed facts, for a report.
    fn facts(&self) -> Option<SessionFacts>;

    /// The sequence number that the answer to these packets begins with, if the protocol has such
    /// numbers.
    fn sequence_after(_packets: &[u8]) -> u8 {
        0
    }

    /// A request is about to be sent, or it is the next of several that were: wait for its answer,
    /// which begins with this sequence number.
    fn expect(&mut self, request: Request, sequence: u8);

    /// Whether answers to further requests follow the awaited one. If so, bytes that come after it
    /// are kept for [`Self::hear_left`]; else they are an error.
    fn expect_more(&mut self, _more: bool) {}

    /// Bytes that came after the last answer and are not read yet.
    fn has_left(&self) -> bool {
        self.left_bytes() > 0
    }

    /// How many of the bytes received from the socket they are; 0 if that is unknown.
    fn left_bytes(&self) -> usize {
        0
    }

    /// Like [`Self::hear`], with the bytes that came after the last answer.
    ///
    /// # Errors
    /// The connection cannot be used any more.
    fn hear_left(&mut self, _spare: &mut Vec<u8>) -> Result<Heard, WireError> {
        Ok(Heard::More)
    }

    /// The bytes to send for these packets: the packets themselves or, if they are compressed or
    /// encrypted, the result in `spare`.
    #[inline]
    fn seal<'a>(
        &mut self,
        packets: &'a [u8],
        _spare: &'a mut Vec<u8>,
    ) -> Result<&'a [u8], WireError> {
        Ok(packets)
    }

    /// Takes bytes received from the socket. Appends to `out`, sealed already, the bytes to send at
    /// once. `spare` is a buffer for joining an incomplete packet with these bytes.
    ///
    /// # Errors
    /// The connection cannot be used any more.
    fn hear(
        &mut self,
        bytes: &[u8],
        out: &mut Vec<u8>,
        spare: &mut Vec<u8>,
    ) -> Result<Heard, WireError>;

    /// Appends, sealed already, a part of the local file that the server waits for. An empty part
    /// ends the file.
    fn put_file_part(
        &mut self,
        _part: &[u8],
        _out: &mut Vec<u8>,
        _spare: &mut Vec<u8>,
    ) -> Result<(), WireError> {
        Err(WireError::ours("this protocol accepts no files"))
    }

    /// The summary of the last answer.
    fn summary(&self) -> &Summary;

    fn error(&self) -> Option<&ServerError>;

    fn prepared(&self) -> Option<Prepared> {
        None
    }

    /// The bytes of the answer, if the request asked for them.
    fn whole(&self) -> &[u8] {
        &[]
    }

    /// Appends the packets that end the session, if the protocol has them, the session is open and
    /// it waits for no answer.
    fn put_goodbye(&self, _out: &mut Vec<u8>) {}
}

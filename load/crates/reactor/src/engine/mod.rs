//! Moves bytes in and out of many sockets: the trait [`Engine`], and its two implementations.
//!
//! Each worker owns its engine and the sockets in it, so nothing here is shared or locked. The
//! caller gives each socket a token: a small number, with few gaps between them.
//! `docs/decisions/0009-event-loop.md` has the measurements by which the engines were chosen.

mod epoll;
mod sends;
mod uring;

pub use epoll::Epoll;
pub use uring::Uring;

use std::io;
use std::os::fd::OwnedFd;

/// Most bytes that one [`Event::Bytes`] holds.
pub const READ_BYTES_MAX: usize = 64 * 1024;

/// What happened on one socket.
#[derive(Debug)]
pub enum Event<'a> {
    /// The connection that was being opened is established.
    Connected,
    /// These bytes arrived; there is at least one. They are valid until the next call to the
    /// engine.
    Bytes(&'a [u8]),
    /// The other side closed, or the socket failed. No more events follow.
    Closed(Option<io::Error>),
    /// The eventfd `wake` of [`Engine::new`] was written to.
    Woken,
    /// Nothing to do: the event is of a socket that was detached, or internal to the engine.
    Nothing,
}

/// One way to move bytes.
///
/// How to use it: call `wait`, then `event` once for each index below the number that `wait`
/// returned. `send`, `attach` and `detach` may be called at any time between these calls.
pub trait Engine: Sized {
    /// The engine's name in outcomes.
    const NAME: &'static str;

    /// An engine for about `sockets` sockets that `wake` (an eventfd) can wake.
    fn new(sockets: usize, wake: OwnedFd) -> io::Result<Self>;

    /// From now on, notes when bytes are sent, for [`Self::sent_ns`]. Without this call the engine
    /// need not read the clock.
    fn time_sends(&mut self);

    /// Takes over a non-blocking stream socket. `connecting` is true if its connection is still
    /// being opened: its first event is then [`Event::Connected`] or [`Event::Closed`].
    fn attach(&mut self, token: usize, socket: OwnedFd, connecting: bool) -> io::Result<()>;

    /// Closes a socket. No more events of it follow.
    fn detach(&mut self, token: usize);

    /// Sends all of `bytes`, now or as the socket takes them. A failure comes as an event.
    fn send(&mut self, token: usize, bytes: &[u8]);

    /// Like [`Self::send`], for more bytes of the request sent before: [`Self::sent_ns`] stays.
    fn send_more(&mut self, token: usize, bytes: &[u8]);

    /// When the kernel was given the first of the bytes passed to the last [`Self::send`]. None
    /// while it has taken none of them, and if sends are not timed.
    fn sent_ns(&self, token: usize) -> Option<u64>;

    /// From now on several requests may be under way on this socket. Each [`Self::send`] is one
    /// more, and all that are made before the next event are sent together. Without this call, and
    /// for all requests before it, an answer must have come before the next request is sent.
    fn pipeline(&mut self, token: usize);

    /// On a socket with several requests under way the oldest one has its answer: from now on
    /// [`Self::sent_ns`] is the time of that request.
    fn answered(&mut self, token: usize);

    /// Waits until something happened, but at most `timeout_ns`. Returns the number of events.
    fn wait(&mut self, timeout_ns: Option<u64>) -> io::Result<usize>;

    /// The event at `index` of the last wait, and its socket's token.
    fn event(&mut self, index: usize) -> (usize, Event<'_>);
}

#[cfg(test)]
mod tests;

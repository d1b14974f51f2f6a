//! How bytes get in and out of many sockets: one seam, two ways behind it.
//!
//! A worker owns one engine and all that hangs on it, so nothing here is shared or locked.
//! Sockets are known by a token of the caller's choice, small and dense.
//! `docs/decisions` says by which figures the ways were chosen.

pub mod choice;
mod epoll;
mod uring;

pub use epoll::Epoll;
pub use uring::Uring;

use std::io;
use std::os::fd::OwnedFd;

/// Most bytes that one [`Event::Bytes`] holds.
pub const READ_BYTES_MAX: usize = 64 * 1024;

/// What became known of one socket.
#[derive(Debug)]
pub enum Event<'a> {
    /// The connection that was under way stands.
    Connected,
    /// These bytes arrived, not empty. They are gone with the next call to the engine.
    Bytes(&'a [u8]),
    /// The other side closed, or the socket failed. No more events follow.
    Closed(Option<io::Error>),
    /// Somebody wrote to the waking file.
    Woken,
    /// Nothing to do: the event was of a socket that is no more, or the engine's own.
    Nothing,
}

/// One way to move bytes.
///
/// The order of use: `wait`, then `event` for each place below the number it returned, each
/// once; between them `send`, `attach` and `detach` as it comes.
pub trait Engine: Sized {
    /// As outcomes name it.
    const NAME: &'static str;

    /// An engine for about `sockets` sockets that `wake` (an eventfd) can wake.
    fn new(sockets: usize, wake: OwnedFd) -> io::Result<Self>;

    /// Notes from now on when bytes are sent, for [`Self::sent_ns`]. The clock need not be read if
    /// nobody asks for it.
    fn time_sends(&mut self);

    /// Takes a non-blocking stream socket. `connecting` if its connection is still under way:
    /// then [`Event::Connected`] or [`Event::Closed`] comes first.
    fn attach(&mut self, token: usize, socket: OwnedFd, connecting: bool) -> io::Result<()>;

    /// Closes a socket. No more events of it follow.
    fn detach(&mut self, token: usize);

    /// Sends all of `bytes`, now or as the socket takes them. A failure comes as an event.
    fn send(&mut self, token: usize, bytes: &[u8]);

    /// As [`Self::send`], for what belongs to the request sent before: its sent time stays.
    fn send_more(&mut self, token: usize, bytes: &[u8]);

    /// When the kernel was given the bytes sent last, or the first of them if the socket did not
    /// take all at once. None as long as the kernel has not got any, and if sends are not timed.
    fn sent_ns(&self, token: usize) -> Option<u64>;

    /// Waits until something happened, but at most `timeout_ns`. Returns the number of events.
    fn wait(&mut self, timeout_ns: Option<u64>) -> io::Result<usize>;

    /// The event at `index` of the last wait, and its socket's token.
    fn event(&mut self, index: usize) -> (usize, Event<'_>);
}

#[cfg(test)]
mod tests;

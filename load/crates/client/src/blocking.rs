//! A blocking connection: for control statements, for loading rows, and for what a script does
//! besides events. The protocol on it is that of a [`Link`], as on the event loop.
//!
//! The caller decides how long to wait: while nothing happens on the socket, the caller's
//! [`Patience`] is called now and then and can end the wait. So a statement may take an hour, and a
//! signal is noticed within a moment. On a control connection the server is asked now and then
//! whether it lives, and given up if it does not answer: see [`BlockingLink::doubt`].

mod broken;
mod doubt;
mod pieces;
mod statements;

pub use broken::Broken;
pub use pieces::TakePiece;
pub use statements::{ControlConnection, TextRows, Whole};

use super::Target;
use super::dialect::{Dialect, Heard};
use super::link::Link;
use crate::request::{Class, Reply, Request};
use contend_figures::outcome::Failure;
use contend_reactor::socket::{Address, receive, send};
use contend_reactor::wait::{is_readable, is_writable};
use doubt::Doubt;
use rustix::buffer::spare_capacity;
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How often [`Patience`] is called while nothing happens.
pub const PATIENCE_ASKED_EVERY: Duration = Duration::from_millis(200);
const READ_BYTES: usize = 64 * 1024;

/// Called while nothing happens on the socket, with the time for which nothing has happened. An
/// error ends the wait; the connection cannot be used after that.
pub type Patience<'a> = &'a mut dyn FnMut(Duration) -> Result<(), Failure>;

/// The [`Patience`] that waits for ever.
pub fn endless(_waited: Duration) -> Result<(), Failure> {
    Ok(())
}

/// A link with its own socket, whose calls block. When it is dropped, it sends COM_QUIT if it waits
/// for no answer.
pub struct BlockingLink {
    address: Address,
    // Non-blocking: only `wait` blocks.
    socket: OwnedFd,
    link: Link,
    out: Vec<u8>,
    spare: Vec<u8>,
    received: Vec<u8>,
    /// The server to ask whether it lives, if an answer takes long; none: no check.
    doubted: Option<Arc<Target>>,
}

impl BlockingLink {
    /// Connects and logs in.
    ///
    /// # Errors
    /// The server cannot be reached, or it refuses the login.
    pub fn open(target: &Target) -> Result<Self, Broken> {
        let limit = Instant::now() + target.connect_timeout;
        let socket = target.address.connect_by(limit);
        let mut opened = Self {
            address: target.address.clone(),
            socket: socket.map_err(Broken::Unreachable)?,
            link: Link::default(),
            out: Vec::new(),
            spare: Vec::new(),
            received: Vec::with_capacity(READ_BYTES),
            doubted: None,
        };
        opened.link.open(target);
        opened.hear_by(limit, |heard| heard == Heard::Opened)?;
        Ok(opened)
    }

    /// Reads until a message comes. A server may keep sending a little: the limit holds too.
    fn hear_by(&mut self, limit: Instant, is_it: impl Fn(Heard) -> bool) -> Result<(), Broken> {
        while !is_it(self.hear(&mut endless, Some(limit))?) {
            if Instant::now() >= limit {
                return Err(Broken::Unreachable(ErrorKind::TimedOut.into()));
            }
        }
        Ok(())
    }

    /// Has the server asked over a second connection whether it lives, if an answer takes long.
    pub fn doubt(&mut self, target: Target) {
        self.doubted = Some(Arc::new(target));
    }

    /// The address of the server.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// The protocol side, with the last answer and the facts agreed at login.
    pub fn link(&self) -> &Link {
        &self.link
    }

    /// Sends the request that `write` appends. Does not wait for the answer: see [`Self::listen`].
    ///
    /// # Errors
    /// The connection is lost, or the caller's patience has ended.
    pub fn ask(
        &mut self,
        reply: Reply,
        write: impl FnOnce(&mut Vec<u8>),
        patience: Patience<'_>,
    ) -> Result<(), Broken> {
        self.out.clear();
        write(&mut self.out);
        if reply != Reply::Nothing {
            let request = Request {
                link: 0,
                class: Class::Uncounted,
                reply,
                ends: None,
            };
            self.link.expect(request, Link::sequence_after(&self.out));
        }
        let bytes = self.link.seal(&self.out, &mut self.spare)?;
        send_all(&self.socket, bytes, patience, None)
    }

    /// Waits for the end of the answer. Returns true if the server asks for a local file instead.
    ///
    /// # Errors
    /// The connection is lost, the server breaks the protocol, or the caller's patience has ended.
    pub fn listen(&mut self, patience: Patience<'_>) -> Result<bool, Broken> {
        let mut doubt = self.doubts();
        loop {
            match self.hear_doubting(&mut doubt, patience)? {
                Heard::Answered(_) => return Ok(false),
                Heard::LocalFile => return Ok(true),
                Heard::More | Heard::Opened => {}
            }
        }
    }

    /// The doubt during the answer that is waited for.
    fn doubts(&self) -> Option<Doubt> {
        self.doubted.clone().map(Doubt::new)
    }

    /// Waits for bytes and takes them in, as long as the server is not in doubt.
    fn hear_doubting(
        &mut self,
        doubt: &mut Option<Doubt>,
        patience: Patience<'_>,
    ) -> Result<Heard, Broken> {
        let mut look = || doubt.as_mut().map_or(Ok(()), Doubt::look);
        let mut wait = |waited| patience(waited).and_then(|()| look());
        let heard = self.hear(&mut wait, None)?;
        if matches!(heard, Heard::More) {
            // It may send a little now and then, and never end.
            look().map_err(Broken::Ended)?;
        }
        Ok(heard)
    }

    /// Sends a part of the local file that the server wants; an empty one is its end.
    ///
    /// # Errors
    /// The server is gone.
    pub fn send_file_part(&mut self, part: &[u8], patience: Patience<'_>) -> Result<(), Broken> {
        self.out.clear();
        self.link
            .put_file_part(part, &mut self.out, &mut self.spare)?;
        send_all(&self.socket, &self.out, patience, None)
    }

    /// Waits for bytes and takes them in, sending any bytes that are due at once.
    fn hear(&mut self, patience: Patience<'_>, limit: Option<Instant>) -> Result<Heard, Broken> {
        self.received.clear();
        receive_some(&self.socket, &mut self.received, patience, limit)?;
        self.out.clear();
        let heard = self
            .link
            .hear(&self.received, &mut self.out, &mut self.spare)?;
        send_all(&self.socket, &self.out, patience, limit)?;
        Ok(heard)
    }
}

/// For waiting on several sockets at once.
impl AsFd for BlockingLink {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Drop for BlockingLink {
    fn drop(&mut self) {
        self.out.clear();
        self.link.put_goodbye(&mut self.out);
        if let Ok(bytes) = self.link.seal(&self.out, &mut self.spare) {
            // It does no harm if this cannot be sent.
            let _ = send(&self.socket, bytes);
        }
    }
}

fn send_all(
    socket: &OwnedFd,
    bytes: &[u8],
    patience: Patience<'_>,
    limit: Option<Instant>,
) -> Result<(), Broken> {
    let mut rest = bytes;
    while !rest.is_empty() {
        let ready = |span| is_writable(socket, span);
        let written = when_ready(|| send(socket, rest), ready, patience, limit)?;
        rest = rest
            .get(written.map_err(Broken::Unsent)?..)
            .unwrap_or_default();
    }
    Ok(())
}

fn receive_some(
    socket: &OwnedFd,
    buffer: &mut Vec<u8>,
    patience: Patience<'_>,
    limit: Option<Instant>,
) -> Result<(), Broken> {
    let ready = |span| is_readable(socket, span);
    let received = when_ready(
        || receive(socket, spare_capacity(buffer)),
        ready,
        patience,
        limit,
    )?;
    match received {
        Ok(0) => Err(Broken::Closed),
        Ok(_) => Ok(()),
        Err(error) => Err(Broken::Lost(error)),
    }
}

/// Executes an operation on a socket as soon as the socket is ready.
fn when_ready<T>(
    mut work: impl FnMut() -> io::Result<T>,
    is_ready_within: impl Fn(Duration) -> bool,
    patience: Patience<'_>,
    limit: Option<Instant>,
) -> Result<io::Result<T>, Broken> {
    let mut since = None;
    loop {
        match work() {
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                wait(&is_ready_within, &mut since, patience, limit)?;
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            done => return Ok(done),
        }
    }
}

/// Waits for at most [`PATIENCE_ASKED_EVERY`], and calls `patience` if nothing happened.
fn wait(
    happens_within: impl FnOnce(Duration) -> bool,
    since: &mut Option<Instant>,
    patience: Patience<'_>,
    limit: Option<Instant>,
) -> Result<(), Broken> {
    let now = Instant::now();
    let since = *since.get_or_insert(now);
    let left = limit.map(|limit| limit.saturating_duration_since(now));
    if happens_within(
        left.unwrap_or(PATIENCE_ASKED_EVERY)
            .min(PATIENCE_ASKED_EVERY),
    ) {
        return Ok(());
    }
    if left.is_some_and(|left| left.is_zero()) {
        return Err(Broken::Unreachable(io::Error::from(ErrorKind::TimedOut)));
    }
    patience(since.elapsed()).map_err(Broken::Ended)
}

//! One connection through the line: the client's end, the server's end, and the bytes between them.

use super::pipe::{Passed, Pipe, Released, Spare};
use contend_reactor::socket::{receive, send};
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::net::sockopt::socket_error;
use std::io;
use std::os::fd::OwnedFd;

/// The two ends of a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Client = 0,
    Server = 1,
}

impl Side {
    pub fn other(self) -> Self {
        match self {
            Self::Client => Self::Server,
            Self::Server => Self::Client,
        }
    }
}

pub struct Pair {
    client: PairEnd,
    server: PairEnd,
}

struct PairEnd {
    /// None once it has closed.
    socket: Option<OwnedFd>,
    is_connecting: bool,
    /// It took no more when it was last given something.
    is_stuck: bool,
    /// The bytes on their way to it.
    incoming: Pipe,
    watched: EventFlags,
    token: u64,
}

impl PairEnd {
    fn new(socket: OwnedFd, is_connecting: bool, token: u64) -> Self {
        Self {
            socket: Some(socket),
            is_connecting,
            is_stuck: false,
            incoming: Pipe::default(),
            watched: EventFlags::empty(),
            token,
        }
    }

    /// Closing the only descriptor of a socket takes it out of the queue as well.
    fn close(&mut self) {
        self.socket = None;
        self.incoming = Pipe::default();
    }
}

impl Pair {
    /// Watches both sockets; their tokens are `first` and the one after it.
    pub fn new(
        client: OwnedFd,
        (server, is_connecting): (OwnedFd, bool),
        first: u64,
        queue: &OwnedFd,
    ) -> io::Result<Self> {
        let mut pair = Self {
            client: PairEnd::new(client, false, first),
            server: PairEnd::new(server, is_connecting, first + 1),
        };
        for side in [Side::Client, Side::Server] {
            let end = pair.end(side);
            if let Some(socket) = &end.socket {
                epoll::add(queue, socket, EventData::new_u64(end.token), end.watched)?;
            }
        }
        pair.watch(queue)?;
        Ok(pair)
    }

    fn end(&mut self, side: Side) -> &mut PairEnd {
        match side {
            Side::Client => &mut self.client,
            Side::Server => &mut self.server,
        }
    }

    /// Both ends have closed: nothing is left to do.
    pub fn is_over(&self) -> bool {
        self.client.socket.is_none() && self.server.socket.is_none()
    }

    /// The connection to the server has come about, or failed.
    ///
    /// # Errors
    /// Why it failed.
    pub fn connected(&mut self) -> io::Result<()> {
        if !std::mem::take(&mut self.server.is_connecting) {
            return Ok(());
        }
        match &self.server.socket {
            Some(socket) => Ok(socket_error(socket)??),
            None => Ok(()),
        }
    }

    /// Reads once from this side; true if something, the end included, is under way to the other.
    pub fn read(&mut self, side: Side, due_ns: u64, buffer: &mut [u8], spare: &mut Spare) -> bool {
        let end = self.end(side);
        let Some(socket) = &end.socket else {
            return false;
        };
        match receive(socket, &mut *buffer) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return false,
            // A socket that failed sends no more, like a closed one.
            Err(_) | Ok(0) => {
                end.close();
                self.end(side.other()).incoming.put(due_ns, Vec::new());
            }
            Ok(filled) => {
                let bytes = spare.copy_of(buffer.get(..filled).unwrap_or_default());
                self.end(side.other()).incoming.put(due_ns, bytes);
            }
        }
        true
    }

    /// Gives this side the bytes that are due.
    pub fn release(&mut self, side: Side, passed: &mut Passed, spare: &mut Spare) {
        let end = self.end(side);
        let Some(socket) = end.socket.as_ref().filter(|_| !end.is_connecting) else {
            return;
        };
        match end
            .incoming
            .release(passed, spare, |bytes| send(socket, bytes))
        {
            Ok(released) => {
                end.is_stuck = released == Released::Stuck;
                if released == Released::End {
                    end.close();
                }
            }
            // The reader has gone. That the socket has closed shows when it is read.
            Err(_) => {
                end.is_stuck = false;
                end.incoming = Pipe::default();
            }
        }
    }

    /// Has the kernel report the events needed now: bytes unless the other side has enough of them,
    /// and room if some could not leave.
    ///
    /// # Errors
    /// Those of the kernel.
    pub fn watch(&mut self, queue: &OwnedFd) -> io::Result<()> {
        let is_full = [
            self.server.incoming.is_full(),
            self.client.incoming.is_full(),
        ];
        for (end, is_full) in [&mut self.client, &mut self.server]
            .into_iter()
            .zip(is_full)
        {
            let Some(socket) = &end.socket else {
                continue;
            };
            let mut wanted = EventFlags::empty();
            wanted.set(EventFlags::IN, !is_full && !end.is_connecting);
            wanted.set(EventFlags::OUT, end.is_stuck || end.is_connecting);
            if wanted != end.watched {
                epoll::modify(queue, socket, EventData::new_u64(end.token), wanted)?;
                end.watched = wanted;
            }
        }
        Ok(())
    }

    /// The client's socket, for the last message to it.
    pub fn into_client(self) -> Option<OwnedFd> {
        self.client.socket
    }
}

//! A connection that waits for its answers: for control statements and for loading rows.
//!
//! Whoever calls decides how patient it is: while nothing happens on the socket, the caller's
//! [`Patience`] is asked now and then, and can end the wait. So a statement that takes an hour may
//! take it, a signal is heard within a moment, and no time limit is guessed here.

mod exchange;

pub use exchange::Whole;

use super::failure;
use super::socket::{Address, send};
use super::wait::any_ready;
use crate::outcome::Failure;
use crate::plan::Compression;
use crate::wire::{
    Agreed, AnswerReader, Channel, Credentials, Event, FrameReader, Login, Options, Reply, Summary,
    command, sequence_after,
};
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::os::fd::{AsRawFd, RawFd};
use std::time::{Duration, Instant};

/// How often the caller is asked for patience.
pub const PATIENCE_ASKED_EVERY: Duration = Duration::from_millis(200);
/// Most bytes of an answer that are kept.
const ANSWER_BYTES_MAX: usize = 64 << 20;
const READ_BYTES: usize = 16 * 1024;

/// Asked while nothing happens; is told for how long nothing has. An error ends the wait, and the
/// connection is of no more use then.
pub type Patience<'a> = &'a mut dyn FnMut(Duration) -> Result<(), Failure>;

/// Waits for ever.
pub fn endless(_waited: Duration) -> Result<(), Failure> {
    Ok(())
}

/// Where a server is and who enters.
#[derive(Clone, Debug)]
pub struct Target {
    pub address: Address,
    pub credentials: Credentials,
    pub options: Options,
    pub connect_timeout: Duration,
}

/// The rows of an answer as text; NULL is none.
pub type TextRows = Vec<Vec<Option<String>>>;

pub struct Connection {
    // A socket is read as a file is, but never written so: a peer that is gone would raise a signal
    // that may end the program. It does not block: `wait` does.
    socket: File,
    address: Address,
    agreed: Agreed,
    channel: Channel,
    answer: AnswerReader,
    frames: FrameReader,
    /// Packets on their way out, and what a layer made of them.
    packets: Vec<u8>,
    sealed: Vec<u8>,
    /// Bytes that came, and what a layer made of them.
    received: Vec<u8>,
    opened: Vec<u8>,
}

impl Connection {
    /// Connects and logs in.
    ///
    /// # Errors
    /// Nobody listens, or the server does not let us in.
    pub fn open(target: &Target) -> Result<Self, Failure> {
        let address = &target.address;
        let unreachable = |error: &io::Error| failure::of_connect(address, error);
        let begun = Instant::now();
        let timeout = target.connect_timeout;
        let socket = address.connect_by(begun + timeout);
        let mut socket = File::from(socket.map_err(|error| unreachable(&error))?);
        let too_late = || unreachable(&ErrorKind::TimedOut.into());
        let options = Options {
            // Control statements are short, and rows come from this host or a fast network.
            compression: Compression::None,
            ..target.options.clone()
        };
        let mut login = Login::new(target.credentials.clone(), options);
        let mut to_send = Vec::new();
        let mut received = vec![0; READ_BYTES];
        loop {
            let left = timeout.saturating_sub(begun.elapsed());
            if left.is_zero() || !any_ready(&[(socket.as_raw_fd(), libc::POLLIN)], left) {
                return Err(too_late());
            }
            let filled = match socket.read(&mut received) {
                Ok(0) => return Err(unreachable(&ErrorKind::ConnectionReset.into())),
                Ok(filled) => filled,
                Err(error) if is_momentary(&error) => continue,
                Err(error) => return Err(unreachable(&error)),
            };
            let session = login
                .receive(received.get(..filled).unwrap_or_default(), &mut to_send)
                .map_err(|error| failure::of_wire(address, &error))?;
            let mut in_time = |_| match begun.elapsed() < timeout {
                true => Ok(()),
                false => Err(too_late()),
            };
            send_all(socket.as_raw_fd(), &to_send, &mut in_time)
                .map_err(|error| error.or_else(|error| unreachable(&error)))?;
            to_send.clear();
            if let Some(session) = session {
                return Ok(Self {
                    socket,
                    address: address.clone(),
                    answer: AnswerReader::new(session.agreed.capabilities),
                    agreed: session.agreed,
                    channel: session.channel,
                    frames: FrameReader::new(ANSWER_BYTES_MAX),
                    packets: Vec::new(),
                    sealed: Vec::new(),
                    received,
                    opened: Vec::new(),
                });
            }
        }
    }

    /// What was agreed at login: the server's version, the connection's number.
    pub fn agreed(&self) -> &Agreed {
        &self.agreed
    }

    /// Runs a statement whose rows nobody wants.
    ///
    /// # Errors
    /// The server refuses it, or is gone.
    pub fn run(&mut self, sql: &str, patience: Patience<'_>) -> Result<Summary, Failure> {
        self.begin(sql, patience)?;
        self.end(sql, patience)
    }

    /// Sends a statement and does not wait for its answer.
    ///
    /// # Errors
    /// The server is gone.
    pub fn begin(&mut self, sql: &str, patience: Patience<'_>) -> Result<(), Failure> {
        self.packets.clear();
        command::query(&mut self.packets, sql.as_bytes());
        self.ask(Reply::Results, patience)
    }

    /// Waits for the answer to the statement begun last.
    ///
    /// # Errors
    /// As [`Self::run`].
    pub fn end(&mut self, sql: &str, patience: Patience<'_>) -> Result<Summary, Failure> {
        if self.listen(patience)? {
            return Err(self.broken("it asks for a local file"));
        }
        self.summary(sql)
    }

    /// True where the server has said something, or is gone.
    pub fn has_spoken(&self, within: Duration) -> bool {
        !self.frames.unread().is_empty() || any_ready(&[(self.as_raw_fd(), libc::POLLIN)], within)
    }

    /// The socket, to wait for it beside others.
    pub fn as_raw_fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }

    /// Runs a `LOAD DATA LOCAL INFILE` and sends the parts that `next` appends to the buffer it is
    /// given, until it appends nothing.
    ///
    /// # Errors
    /// As [`Self::run`], and whatever `next` reports.
    pub fn load_local(
        &mut self,
        sql: &str,
        next: &mut dyn FnMut(&mut Vec<u8>) -> Result<(), Failure>,
        patience: Patience<'_>,
    ) -> Result<Summary, Failure> {
        self.begin(sql, patience)?;
        if !self.listen(patience)? {
            // Refused: the answer says why.
            return self.summary(sql);
        }
        let mut sequence = self.frames.next_sequence();
        let mut part = Vec::new();
        loop {
            part.clear();
            next(&mut part)?;
            self.packets.clear();
            if part.is_empty() {
                sequence = command::infile_end(&mut self.packets, sequence);
                self.say(false, patience)?;
                break;
            }
            sequence = command::infile_part(&mut self.packets, sequence, &part);
            self.say(false, patience)?;
        }
        self.answer.infile_sent(sequence);
        self.frames.expect_sequence(sequence);
        self.end(sql, patience)
    }

    /// Sends the command that stands in `packets`.
    fn ask(&mut self, reply: Reply, patience: Patience<'_>) -> Result<(), Failure> {
        let sequence = sequence_after(&self.packets);
        self.answer.expect(reply);
        self.answer.expect_sequence(sequence);
        self.frames.expect_sequence(sequence);
        self.say(true, patience)
    }

    /// Sends what stands in `packets`.
    fn say(&mut self, begins_command: bool, patience: Patience<'_>) -> Result<(), Failure> {
        let bytes = if self.channel.is_plain() {
            &self.packets
        } else {
            self.sealed.clear();
            let sealed = if begins_command {
                self.channel.seal(&self.packets, &mut self.sealed)
            } else {
                self.channel.seal_more(&self.packets, &mut self.sealed)
            };
            sealed.map_err(|error| failure::of_wire(&self.address, &error))?;
            &self.sealed
        };
        send_all(self.socket.as_raw_fd(), bytes, patience)
            .map_err(|error| error.or_else(|error| lost(&self.address, &error)))
    }

    /// Reads the answer to its end, or up to the request for a local file: then true.
    fn listen(&mut self, patience: Patience<'_>) -> Result<bool, Failure> {
        loop {
            let wire = |error| failure::of_wire(&self.address, &error);
            while let Some(packet) = self.frames.next_packet().map_err(wire)? {
                match self.answer.packet(packet).map_err(wire)? {
                    Event::Done => return Ok(false),
                    Event::LocalInfile(_) => return Ok(true),
                    _ => {}
                }
            }
            self.hear(patience)?;
        }
    }

    /// Waits for bytes, and makes frames of them.
    fn hear(&mut self, patience: Patience<'_>) -> Result<(), Failure> {
        let filled = receive(&self.socket, &mut self.received, patience)
            .map_err(|error| error.or_else(|error| lost(&self.address, &error)))?;
        let received = self.received.get(..filled).unwrap_or_default();
        if self.channel.is_plain() {
            self.frames.feed(received);
        } else {
            self.opened.clear();
            self.channel
                .open(received, &mut self.opened)
                .map_err(|error| failure::of_wire(&self.address, &error))?;
            self.frames.feed(&self.opened);
        }
        Ok(())
    }

    fn summary(&self, sql: &str) -> Result<Summary, Failure> {
        match self.answer.error() {
            Some(error) => Err(failure::of_statement(error, sql.to_owned())),
            None => Ok(*self.answer.summary()),
        }
    }

    fn broken(&self, what: &str) -> Failure {
        failure::plain(format!("talking to {}: {what}", self.address))
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        if !self.answer.is_waiting() && self.channel.is_plain() {
            self.packets.clear();
            command::quit(&mut self.packets);
            // A goodbye that nobody hears does no harm.
            let _ = send(self.as_raw_fd(), &self.packets);
        }
    }
}

/// Why bytes did not get through.
enum Stuck {
    Socket(io::Error),
    /// The caller would not wait any longer.
    Ended(Failure),
}

impl Stuck {
    fn or_else(self, of_socket: impl FnOnce(io::Error) -> Failure) -> Failure {
        match self {
            Self::Socket(error) => of_socket(error),
            Self::Ended(failure) => failure,
        }
    }
}

fn send_all(fd: RawFd, bytes: &[u8], patience: Patience<'_>) -> Result<(), Stuck> {
    let mut rest = bytes;
    let mut waiting = Waiting::default();
    while !rest.is_empty() {
        match send(fd, rest) {
            Ok(written) => {
                rest = rest.get(written..).unwrap_or_default();
                waiting = Waiting::default();
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                waiting.wait(fd, libc::POLLOUT, patience)?;
            }
            Err(error) if is_momentary(&error) => {}
            Err(error) => return Err(Stuck::Socket(error)),
        }
    }
    Ok(())
}

fn receive(socket: &File, buffer: &mut [u8], patience: Patience<'_>) -> Result<usize, Stuck> {
    let mut waiting = Waiting::default();
    loop {
        let mut from = socket;
        match from.read(buffer) {
            Ok(0) => return Err(Stuck::Socket(ErrorKind::UnexpectedEof.into())),
            Ok(filled) => return Ok(filled),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                waiting.wait(socket.as_raw_fd(), libc::POLLIN, patience)?;
            }
            Err(error) if is_momentary(&error) => {}
            Err(error) => return Err(Stuck::Socket(error)),
        }
    }
}

/// One wait, in slices after each of which the caller is asked.
#[derive(Default)]
struct Waiting {
    since: Option<Instant>,
}

impl Waiting {
    fn wait(&mut self, fd: RawFd, events: i16, patience: Patience<'_>) -> Result<(), Stuck> {
        let since = *self.since.get_or_insert_with(Instant::now);
        if !any_ready(&[(fd, events)], PATIENCE_ASKED_EVERY) {
            patience(since.elapsed()).map_err(Stuck::Ended)?;
        }
        Ok(())
    }
}

fn is_momentary(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

/// The connection broke in the middle of its work.
fn lost(address: &Address, error: &io::Error) -> Failure {
    Failure {
        hint: failure::hint(failure::LOST).map(str::to_owned),
        code: Some(failure::LOST),
        ..failure::plain(format!("the server at {address} hung up: {error}"))
    }
}

#[cfg(test)]
mod tests;

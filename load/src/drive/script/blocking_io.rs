//! How threads of a script wait that have a thread of the operating system each: by blocking.

use super::Servers;
use super::os_threads::Gang;
use crate::arrival::Next;
use crate::drive::clock;
use crate::drive::failure::{
    CANNOT_CONNECT, GONE, LOST, MALFORMED, client_error, not_connected, too_many_links, words,
};
use crate::drive::link::{Heard, Link};
use crate::drive::socket::send;
use crate::drive::wait::any_ready;
use crate::lua::figures::ThreadFigures;
use crate::lua::run::Run;
use crate::lua::thread_io::{Answered, Connected, TableRows, ThreadIo, Turn};
use crate::wire::{Capabilities, Login, ServerError, WireError};
use crate::workload::{self, Class, EventTimes, Reply, Request};
use std::fs::File;
use std::io::{ErrorKind, Read as _};
use std::os::fd::AsRawFd as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

const READ_BYTES: usize = 64 * 1024;
/// While nothing happens on a socket, the end of the run is looked for so often.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// Waits by blocking.
pub struct BlockingIo {
    run: Arc<Run>,
    servers: Arc<Servers>,
    connections: Vec<Connection>,
    /// The thread's number, and those it belongs to; none for the states beside the threads.
    gang: Option<(u32, Gang)>,
    deadline: Option<Instant>,
    over: bool,
    out: Vec<u8>,
    spare: Vec<u8>,
    buffer: Box<[u8]>,
}

/// A socket, read and written as a file is, and what is said on it.
struct Connection {
    socket: Option<File>,
    link: Link,
}

impl BlockingIo {
    pub fn new(run: Arc<Run>, servers: Arc<Servers>, gang: Option<(u32, Gang)>) -> Self {
        Self {
            run,
            servers,
            connections: Vec::new(),
            gang,
            deadline: None,
            over: false,
            out: Vec::new(),
            spare: Vec::new(),
            // Made with the first connection: many states have none.
            buffer: Box::default(),
        }
    }

    fn open(&mut self, endpoint: usize) -> Result<(workload::Link, Capabilities), ServerError> {
        let (place, number) = self.free_place().ok_or_else(too_many_links)?;
        let addresses = &self.servers.addresses;
        let address = addresses.get(endpoint).or_else(|| addresses.first());
        let address = address.ok_or_else(|| client_error(CANNOT_CONNECT, "no server is named"))?;
        let limit = Instant::now() + self.servers.connect_timeout;
        let socket = address
            .connect_by(limit)
            .map_err(|error| not_connected(address, &error))?;
        let login = Login::new(
            self.servers.credentials.clone(),
            self.servers.options.clone(),
        );
        if let Some(connection) = self.connections.get_mut(place) {
            connection.socket = Some(File::from(socket));
            connection.link.log_in(login);
        }
        loop {
            match self.hear(place, Some(limit)) {
                Ok(Heard::Opened) => break,
                Ok(_) => {}
                Err(error) => {
                    self.close(place);
                    return Err(error);
                }
            }
        }
        let agreed = self
            .connections
            .get(place)
            .and_then(|connection| connection.link.agreed());
        let capabilities = agreed.map(|agreed| agreed.capabilities);
        Ok((number, capabilities.unwrap_or(Capabilities::NONE)))
    }

    /// A place without a socket, and its number; none where there are no more numbers.
    fn free_place(&mut self) -> Option<(usize, workload::Link)> {
        let free = self
            .connections
            .iter()
            .position(|connection| connection.socket.is_none());
        let place = free.unwrap_or(self.connections.len());
        let number = workload::Link::try_from(place).ok()?;
        if free.is_none() {
            self.connections.push(Connection {
                socket: None,
                link: Link::default(),
            });
        }
        Some((place, number))
    }

    /// Reads once and takes in what came, sending what must be sent at once.
    fn hear(&mut self, place: usize, limit: Option<Instant>) -> Result<Heard, ServerError> {
        if self.buffer.is_empty() {
            self.buffer = vec![0; READ_BYTES].into_boxed_slice();
        }
        let filled = self.read(place, limit)?;
        let Some(connection) = self.connections.get_mut(place) else {
            return Err(lost("the connection is closed"));
        };
        self.out.clear();
        let bytes = self.buffer.get(..filled).unwrap_or_default();
        let heard = connection.link.hear(bytes, &mut self.out, &mut self.spare);
        let heard = heard.map_err(|error| match error {
            WireError::Refused(error) => error,
            other => client_error(MALFORMED, &other.to_string()),
        })?;
        if !self.out.is_empty() {
            let out = std::mem::take(&mut self.out);
            let sent = self.write(place, &out);
            self.out = out;
            sent?;
        }
        Ok(heard)
    }

    fn read(&mut self, place: usize, limit: Option<Instant>) -> Result<usize, ServerError> {
        loop {
            let Some(Connection {
                socket: Some(socket),
                ..
            }) = self.connections.get_mut(place)
            else {
                return Err(lost("the connection is closed"));
            };
            match socket.read(&mut self.buffer) {
                Ok(0) => return Err(lost("the server closed the connection")),
                Ok(filled) => return Ok(filled),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    let fd = socket.as_raw_fd();
                    let ready = any_ready(&[(fd, libc::POLLIN)], LOOK_EVERY);
                    if !ready && limit.is_some_and(|limit| left(limit).is_zero()) {
                        return Err(client_error(CANNOT_CONNECT, "timed out"));
                    }
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(lost(&words(&error))),
            }
        }
    }

    fn write(&mut self, place: usize, bytes: &[u8]) -> Result<(), ServerError> {
        let Some(Connection {
            socket: Some(socket),
            ..
        }) = self.connections.get_mut(place)
        else {
            return Err(client_error(GONE, "the connection is closed"));
        };
        let mut rest = bytes;
        while !rest.is_empty() {
            match send(socket.as_raw_fd(), rest) {
                Ok(written) => rest = rest.get(written..).unwrap_or_default(),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    any_ready(&[(socket.as_raw_fd(), libc::POLLOUT)], LOOK_EVERY);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(client_error(GONE, &words(&error))),
            }
        }
        Ok(())
    }

    fn close(&mut self, place: usize) {
        if let Some(connection) = self.connections.get_mut(place) {
            connection.link.close();
            connection.socket = None;
        }
    }

    fn ask(
        &mut self,
        place: usize,
        request: Request,
        write: &mut dyn FnMut(&mut Vec<u8>),
    ) -> Result<(), ServerError> {
        let Some(connection) = self.connections.get_mut(place) else {
            return Err(client_error(GONE, "the connection is closed"));
        };
        let mut out = std::mem::take(&mut self.out);
        out.clear();
        write(&mut out);
        if request.reply != Reply::Nothing {
            connection.link.expect(request);
        }
        let mut spare = std::mem::take(&mut self.spare);
        let sent = match connection.link.seal(&out, &mut spare) {
            Ok(bytes) => self.write(place, bytes),
            Err(error) => Err(client_error(MALFORMED, &error.to_string())),
        };
        (self.out, self.spare) = (out, spare);
        sent
    }
}

impl BlockingIo {
    /// Waits until an event is due, or the run is over.
    fn wait_until(&mut self, due_ns: u64) -> Turn {
        loop {
            let left_ns = due_ns.saturating_sub(clock::now_ns());
            if left_ns == 0 {
                return Turn::Event(Some(clock::instant_of(due_ns)));
            }
            if self.is_over() {
                self.over = true;
                return Turn::Over;
            }
            let until_end = self.deadline.map_or(LOOK_EVERY, left);
            let wait = Duration::from_nanos(left_ns).min(until_end);
            std::thread::sleep(wait.min(LOOK_EVERY));
        }
    }
}

fn lost(why: &str) -> ServerError {
    client_error(LOST, why)
}

fn left(limit: Instant) -> Duration {
    limit.saturating_duration_since(Instant::now())
}

impl ThreadIo for BlockingIo {
    fn connect(&mut self, endpoint: usize) -> Result<Connected, ServerError> {
        let (link, capabilities) = self.open(endpoint)?;
        Ok(Connected { link, capabilities })
    }

    fn disconnect(&mut self, link: workload::Link) {
        let place = usize::from(link);
        let mut goodbye = Vec::new();
        if let Some(connection) = self.connections.get_mut(place) {
            let mut packets = Vec::new();
            connection.link.put_goodbye(&mut packets);
            if let Ok(bytes) = connection.link.seal(&packets, &mut self.spare) {
                goodbye.extend_from_slice(bytes);
            }
        }
        // A goodbye that nobody hears does no harm.
        let _ = self.write(place, &goodbye);
        self.close(place);
    }

    fn exchange(
        &mut self,
        link: workload::Link,
        reply: Reply,
        _about: &[u8],
        write: &mut dyn FnMut(&mut Vec<u8>),
        bytes: &mut Vec<u8>,
    ) -> Result<Answered, ServerError> {
        let place = usize::from(link);
        let request = Request {
            link,
            class: Class::Uncounted,
            reply,
            ends: None,
        };
        let asked = self.ask(place, request, write).and_then(|()| {
            if reply == Reply::Nothing {
                return Ok(());
            }
            loop {
                if let Heard::Answered(_) = self.hear(place, None)? {
                    return Ok(());
                }
            }
        });
        if let Err(error) = asked {
            self.close(place);
            return Err(error);
        }
        let Some(connection) = self.connections.get(place) else {
            return Err(lost("the connection is closed"));
        };
        if reply == Reply::Nothing {
            return Ok(Answered::default());
        }
        if reply == Reply::Whole {
            bytes.extend_from_slice(connection.link.whole());
        }
        Ok(Answered {
            error: connection.link.error().cloned().map(Box::new),
            summary: *connection.link.summary(),
            prepared: connection.link.prepared(),
        })
    }

    fn sleep(&mut self, span: Duration) {
        std::thread::sleep(span);
    }

    fn event_ended(&mut self, due: Instant, times: EventTimes, figures: &ThreadFigures) {
        if let Some((thread, gang)) = &self.gang {
            gang.recorder.event_ended(*thread, due, times, figures);
        }
    }

    fn next_event(&mut self) -> Turn {
        if self.is_over() {
            self.over = true;
            return Turn::Over;
        }
        let dispenser = &self.run.dispenser;
        let is_open = dispenser.schedule().is_some();
        if !is_open && !dispenser.is_limited() {
            return Turn::Event(None);
        }
        match dispenser.take(clock::now_ns()) {
            Next::Done => Turn::Done,
            Next::Event(_) if !is_open => Turn::Event(None),
            Next::Event(due) => self.wait_until(due.at_ns),
            Next::Nothing => self.wait_until(u64::MAX),
        }
    }

    fn is_over(&self) -> bool {
        let is_late = |deadline| Instant::now() >= deadline;
        self.over || self.run.stop.is_over() || self.deadline.is_some_and(is_late)
    }

    fn ready(&mut self) {
        if let Some((_, gang)) = &self.gang {
            gang.gate.pass();
            self.deadline = gang.gate.deadline();
        }
    }

    fn fill(&mut self, endpoint: usize, order: &TableRows) -> Option<Result<(), String>> {
        Some(super::fill::fill(&self.servers, endpoint, order))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::drive::socket::Address;
    use crate::lua::testing::run_of;
    use crate::wire::{Credentials, Options};
    use std::os::fd::FromRawFd as _;

    #[test]
    fn a_thread_has_as_many_connections_as_links_have_numbers() {
        let servers = Servers {
            addresses: vec![Address::Unix("/nonexistent".into())],
            credentials: Credentials::default(),
            options: Options::default(),
            connect_timeout: Duration::ZERO,
        };
        let mut io = BlockingIo::new(run_of("", 1), Arc::new(servers), None);
        let file = File::open("/dev/null").unwrap();
        let taken = || Connection {
            // SAFETY: the file is open, and the io is never dropped, so none closes it.
            socket: Some(unsafe { File::from_raw_fd(file.as_raw_fd()) }),
            link: Link::default(),
        };
        let many = workload::LINKS_MAX - 1;
        io.connections.extend((0..many).map(|_| taken()));
        assert_eq!(io.free_place(), Some((65_535, 65_535)));
        io.connections[many] = taken();
        let error = io.connect(0).unwrap_err();
        assert_eq!(error.message, "a thread has at most 65536 connections");
        std::mem::forget(std::mem::take(&mut io.connections[7].socket));
        assert_eq!(io.free_place(), Some((7, 7)));
        std::mem::forget(io);
    }
}

//! Bytes by epoll: works on every kernel and in every container.
//!
//! Reads go to one buffer for all sockets; writes are tried at once, because a request of a
//! connection that waits for nothing nearly always fits the socket's buffer. Where several requests
//! may be under way, those that are made one after the other are written together.

use super::sends::Sends;
use super::{Engine, Event, READ_BYTES_MAX};
use crate::clock;
use crate::socket::{receive, send};
use crate::wait::clear;
use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::sockopt::socket_error;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

/// Most events taken from the kernel at a time.
const BATCH: usize = 512;
const BATCH_MIN: usize = 8;
/// Token of the waking file, which no socket has.
const WAKE: u64 = u64::MAX;
const READ: EventFlags = EventFlags::IN;
const READ_WRITE: EventFlags = EventFlags::IN.union(EventFlags::OUT);

pub struct Epoll {
    queue: OwnedFd,
    wake: OwnedFd,
    sockets: Vec<Option<EpollSocket>>,
    events: Vec<libc::epoll_event>,
    buffer: Vec<u8>,
    times_sends: bool,
    /// The kernel has a wait that ends to the nanosecond.
    waits_exactly: bool,
    /// Sockets whose requests are sent together, before the next event.
    gathered: Vec<usize>,
    /// Failures of sends, reported with the next wait.
    failed: Vec<(usize, Option<io::Error>)>,
    failed_now: Vec<(usize, Option<io::Error>)>,
}

struct EpollSocket {
    fd: OwnedFd,
    connecting: bool,
    /// Bytes are kept and not written at once: it is connecting, or gathers requests.
    keeps: bool,
    unsent: Vec<u8>,
    sent_ns: Option<u64>,
    /// The sends of requests in flight, if there may be several.
    sends: Option<Box<Sends>>,
}

impl EpollSocket {
    /// Gives the kernel as many of the kept bytes as it takes now.
    fn give_kept(&mut self, is_timed: bool) -> io::Result<()> {
        let mut unsent = std::mem::take(&mut self.unsent);
        let taken = if let (true, Some(sends)) = (is_timed, &mut self.sends) {
            let at_ns = clock::now_ns();
            let taken = write(&self.fd, &unsent)?;
            sends.give(taken, at_ns);
            taken
        } else {
            self.give(&unsent, is_timed)?
        };
        unsent.drain(..taken);
        self.unsent = unsent;
        Ok(())
    }

    /// Gives the kernel as many bytes as it takes now; 0 if it is full.
    #[inline(always)]
    fn give(&mut self, bytes: &[u8], is_timed: bool) -> io::Result<usize> {
        if !is_timed || self.sent_ns.is_some() {
            return write(&self.fd, bytes);
        }
        // Before the call: it wakes the server, which may have answered when it returns.
        let at_ns = clock::now_ns();
        let taken = write(&self.fd, bytes)?;
        self.sent_ns = (taken > 0).then_some(at_ns);
        Ok(taken)
    }
}

impl Epoll {
    fn rewatch(&self, token: usize, events: EventFlags) -> io::Result<()> {
        if let Some(Some(socket)) = self.sockets.get(token) {
            epoll::modify(&self.queue, &socket.fd, of(token), events)?;
        }
        Ok(())
    }

    /// Sends more of the bytes that a socket did not take at first.
    fn flush(&mut self, token: usize) -> io::Result<()> {
        let Some(Some(socket)) = self.sockets.get_mut(token) else {
            return Ok(());
        };
        socket.give_kept(self.times_sends)?;
        if socket.unsent.is_empty() {
            self.rewatch(token, READ)?;
        }
        Ok(())
    }

    /// Sends the requests that were gathered.
    #[cold]
    fn send_gathered(&mut self) {
        while let Some(token) = self.gathered.pop() {
            let Some(Some(socket)) = self.sockets.get_mut(token) else {
                continue;
            };
            let sent = socket.give_kept(self.times_sends);
            let is_left = !socket.unsent.is_empty();
            let sent = sent.and_then(|()| match is_left {
                true => self.rewatch(token, READ_WRITE),
                false => Ok(()),
            });
            if let Err(error) = sent {
                self.failed.push((token, Some(error)));
            }
        }
    }

    /// Keeps bytes that a socket does not take now, or that are sent together with others.
    fn keep(&mut self, token: usize, bytes: &[u8]) {
        let Some(Some(socket)) = self.sockets.get_mut(token) else {
            return;
        };
        let is_first = socket.unsent.is_empty();
        socket.unsent.extend_from_slice(bytes);
        if let Some(sends) = &mut socket.sends {
            sends.put(bytes.len());
            if is_first {
                self.gathered.push(token);
            }
        } else if let Err(error) = self.rewatch(token, READ_WRITE) {
            self.failed.push((token, Some(error)));
        }
    }

    /// Takes events, waiting up to `timeout_ms` for the first one, or for ever (-1).
    fn take_ready(&mut self, timeout_ms: libc::c_int) -> io::Result<usize> {
        // SAFETY: the event buffer outlives the call and its length is given.
        taken(unsafe {
            libc::epoll_wait(
                self.queue.as_raw_fd(),
                self.events.as_mut_ptr(),
                self.events.len() as libc::c_int,
                timeout_ms,
            )
        })
    }

    /// Takes events, waiting up to `ns` for the first one, to the nanosecond.
    fn take_ready_within(&mut self, ns: u64) -> io::Result<usize> {
        let (tv_sec, tv_nsec) = ((ns / 1_000_000_000) as i64, (ns % 1_000_000_000) as i64);
        if self.waits_exactly {
            let time = libc::timespec { tv_sec, tv_nsec };
            // By its number: a C library older than glibc 2.35 has no name for it.
            // SAFETY: the event buffer outlives the call and its length is given; the time is
            // live, and no signals are masked.
            return taken(unsafe {
                libc::syscall(
                    libc::SYS_epoll_pwait2,
                    self.queue.as_raw_fd(),
                    self.events.as_mut_ptr(),
                    self.events.len() as libc::c_int,
                    &raw const time,
                    std::ptr::null::<libc::sigset_t>(),
                    0_usize,
                ) as libc::c_int
            });
        }
        let mut queue = [PollFd::new(&self.queue, PollFlags::IN)];
        match poll(&mut queue, Some(&Timespec { tv_sec, tv_nsec }))? {
            0 => Ok(0),
            _ => self.take_ready(0),
        }
    }

    fn connected(&mut self, token: usize) -> io::Result<()> {
        let Some(Some(socket)) = self.sockets.get_mut(token) else {
            return Ok(());
        };
        (socket.connecting, socket.keeps) = (false, false);
        socket_error(&socket.fd)??;
        self.rewatch(token, READ)
    }
}

impl Engine for Epoll {
    const NAME: &'static str = "epoll";

    fn new(sockets: usize, wake: OwnedFd) -> io::Result<Self> {
        let queue = epoll::create(CreateFlags::CLOEXEC)?;
        epoll::add(&queue, &wake, EventData::new_u64(WAKE), READ)?;
        Ok(Self {
            queue,
            wake,
            sockets: Vec::new(),
            events: vec![libc::epoll_event { events: 0, u64: 0 }; sockets.clamp(BATCH_MIN, BATCH)],
            // There may be hundreds of workers with one socket: bytes not read touch no memory.
            buffer: Vec::with_capacity(READ_BYTES_MAX),
            times_sends: false,
            waits_exactly: true,
            gathered: Vec::new(),
            failed: Vec::new(),
            failed_now: Vec::new(),
        })
    }

    fn time_sends(&mut self) {
        self.times_sends = true;
    }

    fn attach(&mut self, token: usize, socket: OwnedFd, connecting: bool) -> io::Result<()> {
        if self.sockets.len() <= token {
            self.sockets.resize_with(token + 1, || None);
        }
        let events = if connecting { READ_WRITE } else { READ };
        epoll::add(&self.queue, &socket, of(token), events)?;
        if let Some(slot) = self.sockets.get_mut(token) {
            *slot = Some(EpollSocket {
                fd: socket,
                connecting,
                keeps: connecting,
                unsent: Vec::new(),
                sent_ns: None,
                sends: None,
            });
        }
        Ok(())
    }

    fn detach(&mut self, token: usize) {
        // The last requests leave before the end.
        self.send_gathered();
        // Closing the only descriptor of a socket takes it out of the queue as well.
        if let Some(slot) = self.sockets.get_mut(token) {
            *slot = None;
        }
        self.failed.retain(|(failed, _)| *failed != token);
    }

    fn send(&mut self, token: usize, bytes: &[u8]) {
        if self.times_sends
            && let Some(Some(socket)) = self.sockets.get_mut(token)
        {
            match &mut socket.sends {
                None => socket.sent_ns = None,
                Some(sends) => sends.begin(),
            }
        }
        self.send_more(token, bytes);
    }

    #[inline(always)]
    fn send_more(&mut self, token: usize, bytes: &[u8]) {
        let Some(Some(socket)) = self.sockets.get_mut(token) else {
            return;
        };
        let sent = if socket.unsent.is_empty() && !socket.keeps {
            socket.give(bytes, self.times_sends)
        } else {
            Ok(0)
        };
        let rest = match sent {
            Ok(sent) => bytes.get(sent..).unwrap_or_default(),
            Err(error) => return self.failed.push((token, Some(error))),
        };
        if !rest.is_empty() {
            self.keep(token, rest);
        }
    }

    fn sent_ns(&self, token: usize) -> Option<u64> {
        self.sockets.get(token)?.as_ref()?.sent_ns
    }

    fn pipeline(&mut self, token: usize) {
        if let Some(Some(socket)) = self.sockets.get_mut(token) {
            socket.keeps = true;
            socket.sends.get_or_insert_default();
        }
    }

    fn answered(&mut self, token: usize) {
        if let Some(Some(socket)) = self.sockets.get_mut(token)
            && let Some(sends) = &mut socket.sends
        {
            socket.sent_ns = sends.take();
        }
    }

    fn wait(&mut self, timeout_ns: Option<u64>) -> io::Result<usize> {
        if !self.gathered.is_empty() {
            self.send_gathered();
        }
        self.failed_now.clear();
        if !self.failed.is_empty() {
            std::mem::swap(&mut self.failed, &mut self.failed_now);
            return Ok(self.failed_now.len());
        }
        let found = match timeout_ns {
            None => self.take_ready(-1),
            Some(0) => self.take_ready(0),
            Some(ns) => self.take_ready_within(ns),
        };
        match found {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(0),
            // Older than Linux 5.11, or a container that does not know the call.
            Err(error) if self.waits_exactly && is_refused(&error) => {
                self.waits_exactly = false;
                Ok(0)
            }
            found => found,
        }
    }

    #[inline]
    fn event(&mut self, index: usize) -> (usize, Event<'_>) {
        if !self.gathered.is_empty() {
            self.send_gathered();
        }
        if let Some((token, error)) = self.failed_now.get_mut(index) {
            return (*token, Event::Closed(error.take()));
        }
        let Some(&libc::epoll_event { events, u64: token }) = self.events.get(index) else {
            return (0, Event::Nothing);
        };
        let flags = EventFlags::from_bits_retain(events);
        if token == WAKE {
            clear(&self.wake);
            return (0, Event::Woken);
        }
        let token = token as usize;
        let Some(Some(socket)) = self.sockets.get(token) else {
            return (token, Event::Nothing);
        };
        if socket.connecting {
            return match self.connected(token) {
                Ok(()) => (token, Event::Connected),
                Err(error) => (token, Event::Closed(Some(error))),
            };
        }
        if flags.contains(EventFlags::OUT)
            && let Err(error) = self.flush(token)
        {
            return (token, Event::Closed(Some(error)));
        }
        if (flags - EventFlags::OUT).is_empty() {
            return (token, Event::Nothing);
        }
        let Some(Some(socket)) = self.sockets.get(token) else {
            return (token, Event::Nothing);
        };
        self.buffer.clear();
        match receive(&socket.fd, spare_capacity(&mut self.buffer)) {
            Ok(0) => (token, Event::Closed(None)),
            Ok(_) => (token, Event::Bytes(&self.buffer)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => (token, Event::Nothing),
            Err(error) => (token, Event::Closed(Some(error))),
        }
    }
}

fn of(token: usize) -> EventData {
    EventData::new_u64(token as u64)
}

/// How many events a wait gave.
#[inline]
fn taken(found: libc::c_int) -> io::Result<usize> {
    usize::try_from(found).map_err(|_| io::Error::last_os_error())
}

/// The kernel, or a filter in front of it, does not have the call.
fn is_refused(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ENOSYS | libc::EPERM))
}

/// Sends as many bytes as the socket takes now; 0 if it is full.
fn write(socket: &OwnedFd, bytes: &[u8]) -> io::Result<usize> {
    match send(socket, bytes) {
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(0),
        sent => sent,
    }
}

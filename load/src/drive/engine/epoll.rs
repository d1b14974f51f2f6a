//! Bytes by epoll: works on every kernel and in every container.
//!
//! Reads go to one buffer for all sockets; writes are tried at once, because a request of a
//! connection that waits for nothing nearly always fits the socket's buffer.

use super::{Engine, Event, READ_BYTES_MAX};
use crate::drive::clock;
use crate::drive::socket::send_at_once;
use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

/// Most events taken from the kernel at a time.
const BATCH: usize = 512;
/// Token of the waking file, which no socket has.
const WAKE: u64 = u64::MAX;
const READ: u32 = libc::EPOLLIN as u32;
const READ_WRITE: u32 = (libc::EPOLLIN | libc::EPOLLOUT) as u32;

pub struct Epoll {
    queue: OwnedFd,
    wake: OwnedFd,
    sockets: Vec<Option<Socket>>,
    events: Vec<libc::epoll_event>,
    buffer: Box<[u8]>,
    times_sends: bool,
    /// The kernel has a wait that ends to the nanosecond.
    waits_exactly: bool,
    /// Bytes that a socket did not take and failures of sends, reported with the next wait.
    failed: VecDeque<(usize, io::Error)>,
    failed_now: Vec<(usize, Option<io::Error>)>,
}

struct Socket {
    fd: OwnedFd,
    connecting: bool,
    unsent: Vec<u8>,
    sent_ns: Option<u64>,
}

impl Socket {
    /// Gives the kernel what it takes now; 0 if it is full.
    #[inline(always)]
    fn give(&mut self, bytes: &[u8], is_timed: bool) -> io::Result<usize> {
        if !is_timed || self.sent_ns.is_some() {
            return write(self.fd.as_raw_fd(), bytes);
        }
        // Before the call: it wakes the server, who may have answered when it returns.
        let at_ns = clock::now_ns();
        let taken = write(self.fd.as_raw_fd(), bytes)?;
        self.sent_ns = (taken > 0).then_some(at_ns);
        Ok(taken)
    }
}

impl Epoll {
    fn watch(&self, how: i32, fd: RawFd, token: u64, events: u32) -> io::Result<()> {
        let mut event = libc::epoll_event { events, u64: token };
        // SAFETY: both descriptors are open and the pointer is to a live local.
        match unsafe { libc::epoll_ctl(self.queue.as_raw_fd(), how, fd, &raw mut event) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    fn rewatch(&self, token: usize, events: u32) -> io::Result<()> {
        match self.sockets.get(token) {
            Some(Some(socket)) => self.watch(
                libc::EPOLL_CTL_MOD,
                socket.fd.as_raw_fd(),
                token as u64,
                events,
            ),
            _ => Ok(()),
        }
    }

    /// Sends more of what a socket did not take at first.
    fn flush(&mut self, token: usize) -> io::Result<()> {
        let Some(Some(socket)) = self.sockets.get_mut(token) else {
            return Ok(());
        };
        let mut unsent = std::mem::take(&mut socket.unsent);
        unsent.drain(..socket.give(&unsent, self.times_sends)?);
        socket.unsent = unsent;
        if socket.unsent.is_empty() {
            self.rewatch(token, READ)?;
        }
        Ok(())
    }

    /// Takes events, waiting for the first one so many milliseconds, or for ever (-1).
    fn take_ready(&mut self, timeout_ms: libc::c_int) -> libc::c_int {
        // SAFETY: the event buffer outlives the call and its length is given.
        unsafe {
            libc::epoll_wait(
                self.queue.as_raw_fd(),
                self.events.as_mut_ptr(),
                self.events.len() as libc::c_int,
                timeout_ms,
            )
        }
    }

    /// Takes events, waiting for the first one at most so long.
    fn take_ready_within(&mut self, time: &libc::timespec) -> libc::c_int {
        if self.waits_exactly {
            // SAFETY: the event buffer outlives the call and its length is given; the time is
            // live, and no signals are masked.
            return unsafe {
                libc::epoll_pwait2(
                    self.queue.as_raw_fd(),
                    self.events.as_mut_ptr(),
                    self.events.len() as libc::c_int,
                    time,
                    std::ptr::null(),
                )
            };
        }
        let mut queue = libc::pollfd {
            fd: self.queue.as_raw_fd(),
            events: libc::POLLIN,
            revents: 0,
        };
        // SAFETY: the pointers are to live values, and no signals are masked.
        match unsafe { libc::ppoll(&raw mut queue, 1, time, std::ptr::null()) } {
            1 => self.take_ready(0),
            none_or_failed => none_or_failed,
        }
    }

    fn connected(&mut self, token: usize) -> io::Result<()> {
        let Some(Some(socket)) = self.sockets.get_mut(token) else {
            return Ok(());
        };
        socket.connecting = false;
        let outcome = socket_error(socket.fd.as_raw_fd());
        if let Some(error) = outcome {
            return Err(error);
        }
        self.rewatch(token, READ)
    }
}

impl Engine for Epoll {
    const NAME: &'static str = "epoll";

    fn new(_sockets: usize, wake: OwnedFd) -> io::Result<Self> {
        // SAFETY: no pointers; the result is checked.
        let queue = unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) };
        if queue < 0 {
            return Err(io::Error::last_os_error());
        }
        let epoll = Self {
            // SAFETY: the descriptor was just made and nobody else has it.
            queue: unsafe { OwnedFd::from_raw_fd(queue) },
            wake,
            sockets: Vec::new(),
            events: vec![libc::epoll_event { events: 0, u64: 0 }; BATCH],
            buffer: vec![0; READ_BYTES_MAX].into_boxed_slice(),
            times_sends: false,
            waits_exactly: true,
            failed: VecDeque::new(),
            failed_now: Vec::new(),
        };
        epoll.watch(libc::EPOLL_CTL_ADD, epoll.wake.as_raw_fd(), WAKE, READ)?;
        Ok(epoll)
    }

    fn time_sends(&mut self) {
        self.times_sends = true;
    }

    fn attach(&mut self, token: usize, socket: OwnedFd, connecting: bool) -> io::Result<()> {
        if self.sockets.len() <= token {
            self.sockets.resize_with(token + 1, || None);
        }
        let events = if connecting { READ_WRITE } else { READ };
        self.watch(
            libc::EPOLL_CTL_ADD,
            socket.as_raw_fd(),
            token as u64,
            events,
        )?;
        if let Some(slot) = self.sockets.get_mut(token) {
            *slot = Some(Socket {
                fd: socket,
                connecting,
                unsent: Vec::new(),
                sent_ns: None,
            });
        }
        Ok(())
    }

    fn detach(&mut self, token: usize) {
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
            socket.sent_ns = None;
        }
        self.send_more(token, bytes);
    }

    #[inline(always)]
    fn send_more(&mut self, token: usize, bytes: &[u8]) {
        let Some(Some(socket)) = self.sockets.get_mut(token) else {
            return;
        };
        let sent = if socket.unsent.is_empty() && !socket.connecting {
            socket.give(bytes, self.times_sends)
        } else {
            Ok(0)
        };
        let rest = match sent {
            Ok(sent) => bytes.get(sent..).unwrap_or_default(),
            Err(error) => return self.failed.push_back((token, error)),
        };
        if rest.is_empty() {
            return;
        }
        socket.unsent.extend_from_slice(rest);
        if let Err(error) = self.rewatch(token, READ_WRITE) {
            self.failed.push_back((token, error));
        }
    }

    fn sent_ns(&self, token: usize) -> Option<u64> {
        self.sockets.get(token)?.as_ref()?.sent_ns
    }

    fn wait(&mut self, timeout_ns: Option<u64>) -> io::Result<usize> {
        if !self.failed.is_empty() {
            self.failed_now.clear();
            self.failed_now.extend(
                self.failed
                    .drain(..)
                    .map(|(token, error)| (token, Some(error))),
            );
            return Ok(self.failed_now.len());
        }
        self.failed_now.clear();
        let found = match timeout_ns {
            None => self.take_ready(-1),
            Some(0) => self.take_ready(0),
            Some(ns) => self.take_ready_within(&timespec(ns)),
        };
        if found >= 0 {
            return Ok(found as usize);
        }
        match io::Error::last_os_error() {
            error if error.kind() == io::ErrorKind::Interrupted => Ok(0),
            // Older than Linux 5.11, or a container that does not know the call.
            error if self.waits_exactly && is_refused(&error) => {
                self.waits_exactly = false;
                Ok(0)
            }
            error => Err(error),
        }
    }

    fn event(&mut self, index: usize) -> (usize, Event<'_>) {
        if let Some((token, error)) = self.failed_now.get_mut(index) {
            return (*token, Event::Closed(error.take()));
        }
        let Some(&libc::epoll_event { events, u64: token }) = self.events.get(index) else {
            return (0, Event::Nothing);
        };
        if token == WAKE {
            drain(self.wake.as_raw_fd());
            return (0, Event::Woken);
        }
        let token = token as usize;
        let (connecting, fd) = match self.sockets.get(token) {
            Some(Some(socket)) => (socket.connecting, socket.fd.as_raw_fd()),
            _ => return (token, Event::Nothing),
        };
        if connecting {
            return match self.connected(token) {
                Ok(()) => (token, Event::Connected),
                Err(error) => (token, Event::Closed(Some(error))),
            };
        }
        if events & libc::EPOLLOUT as u32 != 0
            && let Err(error) = self.flush(token)
        {
            return (token, Event::Closed(Some(error)));
        }
        if events & !(libc::EPOLLOUT as u32) == 0 {
            return (token, Event::Nothing);
        }
        match read(fd, &mut self.buffer) {
            Ok(0) => (token, Event::Closed(None)),
            Ok(filled) => (
                token,
                Event::Bytes(self.buffer.get(..filled).unwrap_or_default()),
            ),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => (token, Event::Nothing),
            Err(error) => (token, Event::Closed(Some(error))),
        }
    }
}

fn timespec(ns: u64) -> libc::timespec {
    libc::timespec {
        tv_sec: (ns / 1_000_000_000) as libc::time_t,
        tv_nsec: (ns % 1_000_000_000) as libc::c_long,
    }
}

/// The kernel, or a filter in front of it, does not have the call.
fn is_refused(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ENOSYS | libc::EPERM))
}

/// Sends what the socket takes now; 0 where it is full.
fn write(fd: RawFd, bytes: &[u8]) -> io::Result<usize> {
    match send_at_once(fd, bytes) {
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(0),
        sent => sent,
    }
}

fn read(fd: RawFd, buffer: &mut [u8]) -> io::Result<usize> {
    // SAFETY: the pointer and length are those of a live slice.
    let filled = unsafe {
        libc::recv(
            fd,
            buffer.as_mut_ptr().cast(),
            buffer.len(),
            libc::MSG_DONTWAIT,
        )
    };
    if filled >= 0 {
        Ok(filled as usize)
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Takes the wake-ups out of an eventfd.
fn drain(fd: RawFd) {
    let mut count = 0u64;
    // SAFETY: an eventfd gives eight bytes, the pointer is to a live local of that size.
    unsafe { libc::read(fd, (&raw mut count).cast(), size_of::<u64>()) };
}

/// The error that a connection under way ended with.
pub(super) fn socket_error(fd: RawFd) -> Option<io::Error> {
    let mut code: libc::c_int = 0;
    let mut length = size_of::<libc::c_int>() as libc::socklen_t;
    // SAFETY: the pointers are to live locals of the lengths given.
    let asked = unsafe {
        libc::getsockopt(
            fd,
            libc::SOL_SOCKET,
            libc::SO_ERROR,
            (&raw mut code).cast(),
            &raw mut length,
        )
    };
    match (asked, code) {
        (0, 0) => None,
        (0, code) => Some(io::Error::from_raw_os_error(code)),
        _ => Some(io::Error::last_os_error()),
    }
}

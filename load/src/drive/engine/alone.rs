//! Bytes of the only connection of a run: the worker sleeps in the read itself.
//!
//! That is two system calls a query instead of three. On a host with an idle CPU it is also
//! quicker than waiting first: the server's taking of a question wakes a reader of a Unix socket,
//! which keeps the CPU from falling asleep before the answer is there. Where several workers do
//! so their needless wakings hinder each other, so it is for one alone.
//!
//! Everything but that read is epoll's. Now and then the read is left to see whether somebody
//! rings; and it is not begun where something else is due soon.

use super::{Engine, Epoll, Event, READ_BYTES_MAX};
use std::io;
use std::io::ErrorKind::{Interrupted, WouldBlock};
use std::os::fd::{OwnedFd, RawFd};

/// How long a read may keep the worker from hearing the bell.
const PATIENCE_NS: u64 = 20_000_000;

pub struct Alone {
    epoll: Epoll,
    buffer: Box<[u8]>,
    attached: usize,
    /// Reads of the only socket may sleep.
    reads_sleep: bool,
    /// The only socket, once a request was sent there whose answer has not begun.
    asked: Option<usize>,
    /// What its read gave, until it is told.
    answer: Option<(usize, io::Result<usize>)>,
}

impl Alone {
    /// Sleeps in the read. Returns the number of events.
    fn await_answer(&mut self, token: usize, fd: RawFd) -> io::Result<usize> {
        match read(fd, &mut self.buffer) {
            Err(error) if matches!(error.kind(), WouldBlock | Interrupted) => {
                self.asked = Some(token);
                self.epoll.wait(Some(0))
            }
            filled => {
                self.answer = Some((token, filled));
                Ok(1)
            }
        }
    }
}

impl Engine for Alone {
    const NAME: &'static str = "read";

    fn new(sockets: usize, wake: OwnedFd) -> io::Result<Self> {
        Ok(Self {
            epoll: Epoll::new(sockets, wake)?,
            buffer: vec![0; READ_BYTES_MAX].into_boxed_slice(),
            attached: 0,
            reads_sleep: false,
            asked: None,
            answer: None,
        })
    }

    fn time_sends(&mut self) {
        self.epoll.time_sends();
    }

    fn attach(&mut self, token: usize, socket: OwnedFd, connecting: bool) -> io::Result<()> {
        self.epoll.attach(token, socket, connecting)?;
        self.attached += 1;
        self.reads_sleep = false;
        Ok(())
    }

    fn detach(&mut self, token: usize) {
        if self.epoll.fd_of(token).is_some() {
            self.attached -= 1;
        }
        self.asked = None;
        self.epoll.detach(token);
    }

    fn send(&mut self, token: usize, bytes: &[u8]) {
        self.epoll.send(token, bytes);
        if self.attached == 1 && self.epoll.has_sent_all(token) {
            // Where it cannot be had the answer is waited for as those of others.
            self.reads_sleep =
                self.reads_sleep || self.epoll.fd_of(token).is_some_and(let_reads_sleep);
            self.asked = self.reads_sleep.then_some(token);
        }
    }

    fn send_more(&mut self, token: usize, bytes: &[u8]) {
        self.epoll.send_more(token, bytes);
    }

    fn sent_ns(&self, token: usize) -> Option<u64> {
        self.epoll.sent_ns(token)
    }

    fn wait(&mut self, timeout_ns: Option<u64>) -> io::Result<usize> {
        let is_patient = timeout_ns.is_none_or(|ns| ns >= 2 * PATIENCE_NS);
        match self.asked.take() {
            Some(token) if is_patient => match self.epoll.fd_of(token) {
                Some(fd) => self.await_answer(token, fd),
                None => self.epoll.wait(timeout_ns),
            },
            _ => self.epoll.wait(timeout_ns),
        }
    }

    fn event(&mut self, index: usize) -> (usize, Event<'_>) {
        if let Some((token, filled)) = self.answer.take() {
            let event = match filled {
                Ok(0) => Event::Closed(None),
                Ok(filled) => Event::Bytes(self.buffer.get(..filled).unwrap_or_default()),
                Err(error) => Event::Closed(Some(error)),
            };
            return (token, event);
        }
        // It may be the answer, and nobody must sleep for a second one.
        self.asked = None;
        self.epoll.event(index)
    }
}

fn read(fd: RawFd, buffer: &mut [u8]) -> io::Result<usize> {
    // SAFETY: the pointer and length are those of a live slice.
    let filled = unsafe { libc::recv(fd, buffer.as_mut_ptr().cast(), buffer.len(), 0) };
    if filled >= 0 {
        Ok(filled as usize)
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Lets reads sleep that do not ask otherwise, but not for long; false where that cannot be had.
fn let_reads_sleep(fd: RawFd) -> bool {
    let patience = libc::timeval {
        tv_sec: 0,
        tv_usec: (PATIENCE_NS / 1000) as libc::suseconds_t,
    };
    // SAFETY: the descriptor is open, and the pointer is to a live value of the length given.
    unsafe {
        libc::setsockopt(
            fd,
            libc::SOL_SOCKET,
            libc::SO_RCVTIMEO,
            (&raw const patience).cast(),
            size_of::<libc::timeval>() as libc::socklen_t,
        ) == 0
            && libc::fcntl(fd, libc::F_SETFL, 0) == 0
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::drive::bell::Bell;
    use std::io::Write;
    use std::os::unix::net::UnixStream;

    #[test]
    fn the_bell_is_heard_while_an_answer_is_awaited() {
        let bell = Bell::new().unwrap();
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let mut engine = Alone::new(1, bell.heard().unwrap()).unwrap();
        engine.attach(0, ours.into(), false).unwrap();
        engine.send(0, b"?");
        bell.ring();
        let woken = |engine: &mut Alone| {
            let count = engine.wait(None).unwrap();
            (0..count).any(|index| matches!(engine.event(index).1, Event::Woken))
        };
        while !woken(&mut engine) {}
        theirs.write_all(b"!").unwrap();
        assert_eq!(engine.wait(None).unwrap(), 1);
        assert!(matches!(engine.event(0), (0, Event::Bytes(b"!"))));
    }
}

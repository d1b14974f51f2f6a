//! Bytes by io_uring: one system call a batch instead of three a request.
//!
//! Requests are queued and handed to the kernel by the call that waits. Every socket has one
//! receive armed for good (multishot), which fills buffers of a ring that all sockets share.
//! Completions of sends are not reported, because the answer implies them, unless several requests
//! may be in flight on a socket ([`pipeline`]). Nothing is shared with other threads (single
//! issuer), and the kernel does its work inside our wait (deferred task run), not in the middle of
//! our loop.

use super::{Engine, Event};
use crate::clock;
use crate::wait::clear;
use io_uring::types::{Fd, SubmitArgs, Timespec};
use io_uring::{IoUring, cqueue, opcode, squeue};
use rustix::net::sockopt::socket_error;
use rustix::net::{Shutdown, shutdown};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

mod buffers;
mod pipeline;

use buffers::Buffers;
use pipeline::{AfterSend, Pipeline};

const QUEUE_ENTRIES: u32 = 256;
const COMPLETIONS_MIN: u32 = 1024;
const COMPLETIONS_MAX: u32 = 65_536;
/// The group of our only ring of buffers.
const GROUP: u16 = 0;

/// What a completion belongs to, packed in its 64 bits: token, generation, kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operation {
    Receive,
    Send,
    Connect,
    Wake,
    Cancel,
}

const GENERATION_BITS: u32 = 28;
const KIND_BITS: u32 = 4;

pub struct Uring {
    // Dropped first: then the kernel has let go of everything below.
    ring: IoUring,
    buffers: Buffers,
    wake: OwnedFd,
    sockets: Vec<UringSocket>,
    completions: Vec<Completion>,
    times_sends: bool,
    /// Whose requests are queued and not handed over, if sends are timed.
    queued: Vec<usize>,
    /// Sockets whose requests are sent together, with the next wait.
    gathered: Vec<usize>,
    /// The buffer lent out by the last event, given back with the next call.
    lent: Option<u16>,
    /// Outgrown request buffers. The kernel might still read one, so they live with the ring;
    /// each is at most half of its successor, which bounds them.
    outgrown: Vec<Vec<u8>>,
    /// Buffers that the kernel was sending from when their socket was detached, each with the user
    /// data of its completion.
    parted: Vec<(u64, Vec<u8>)>,
    /// Sockets that were detached while the queue could not be handed over. Queued entries refer to
    /// them by number, so no new socket may get these numbers before.
    leaving: Vec<OwnedFd>,
    failed: Vec<(usize, Option<io::Error>)>,
    failed_now: Vec<(usize, Option<io::Error>)>,
}

#[derive(Clone, Copy, Debug)]
struct Completion {
    data: u64,
    result: i32,
    flags: u32,
}

/// A place for a socket. The request buffer stays with the place, not with the socket.
#[derive(Default)]
struct UringSocket {
    fd: Option<OwnedFd>,
    generation: u32,
    request: Vec<u8>,
    sent_ns: Option<u64>,
    pipeline: Option<Box<Pipeline>>,
}

impl Uring {
    fn data(&self, token: usize, kind: Operation) -> u64 {
        let generation = self
            .sockets
            .get(token)
            .map_or(0, |socket| socket.generation);
        (token as u64) << 32 | u64::from(generation) << KIND_BITS | kind as u64
    }

    /// Puts one entry in the queue, making room by handing the others over.
    ///
    /// # Safety
    /// Memory that the entry points to must live until it completes.
    unsafe fn push(&mut self, entry: &squeue::Entry) -> io::Result<()> {
        // SAFETY: passed on to the caller.
        while unsafe { self.ring.submission().push(entry) }.is_err() {
            self.hand_over(|ring| ring.submit())?;
        }
        Ok(())
    }

    /// Gives the kernel all that is queued, by one of the ring's calls, and notes when.
    fn hand_over(&mut self, call: impl FnOnce(&IoUring) -> io::Result<usize>) -> io::Result<usize> {
        if !self.gathered.is_empty() {
            self.queue_gathered();
        }
        let at_ns = (!self.queued.is_empty()).then(clock::now_ns);
        // A call that fails has taken nothing.
        let taken = call(&self.ring)?;
        for token in self.queued.drain(..) {
            let Some(place) = self.sockets.get_mut(token) else {
                continue;
            };
            match (&mut place.pipeline, at_ns) {
                (Some(pipeline), Some(at_ns)) => pipeline.given(&place.request, at_ns),
                _ => place.sent_ns = place.sent_ns.or(at_ns),
            }
        }
        Ok(taken)
    }

    /// Queues the requests that were gathered, one send for each socket.
    #[cold]
    fn queue_gathered(&mut self) {
        while let Some(token) = self.gathered.pop() {
            if let Some(place) = self.sockets.get_mut(token)
                && let Some(pipeline) = &mut place.pipeline
            {
                pipeline.turn(&mut place.request);
                self.queue_rest(token);
            }
        }
    }

    /// Queues the unsent rest of a request buffer, whose completion will be reported.
    fn queue_rest(&mut self, token: usize) {
        let data = self.data(token, Operation::Send);
        let Some(UringSocket {
            fd: Some(fd),
            request,
            pipeline: Some(pipeline),
            ..
        }) = self.sockets.get(token)
        else {
            return;
        };
        let rest = pipeline.rest(request);
        let entry = opcode::Send::new(Fd(fd.as_raw_fd()), rest.as_ptr(), rest.len() as u32)
            .flags(libc::MSG_NOSIGNAL | libc::MSG_WAITALL)
            .build()
            .user_data(data);
        // SAFETY: the bytes stay where they are, unchanged, until the completion: meanwhile
        // requests go to the other buffer, and if the socket is detached this one is kept.
        match unsafe { self.push(&entry) } {
            Ok(()) if self.times_sends => self.queued.push(token),
            Ok(()) => {}
            Err(error) => self.failed.push((token, Some(error))),
        }
    }

    /// A send of several requests was completed.
    fn sent(&mut self, token: usize, sent: i32) -> Event<'static> {
        let Some(place) = self.sockets.get_mut(token) else {
            return Event::Nothing;
        };
        let Some(pipeline) = &mut place.pipeline else {
            return Event::Nothing;
        };
        match pipeline.completed(sent as usize, &place.request) {
            AfterSend::Nothing => {}
            AfterSend::Gathered => self.gathered.push(token),
            AfterSend::Rest if sent == 0 => return Event::Closed(None),
            AfterSend::Rest => self.queue_rest(token),
        }
        Event::Nothing
    }

    fn receive(&mut self, token: usize) -> io::Result<()> {
        let data = self.data(token, Operation::Receive);
        let Some(Some(fd)) = self.sockets.get(token).map(|socket| socket.fd.as_ref()) else {
            return Ok(());
        };
        let entry = opcode::RecvMulti::new(Fd(fd.as_raw_fd()), GROUP)
            .build()
            .user_data(data);
        // SAFETY: the entry points to nothing; its buffers are the ring's, which we own.
        unsafe { self.push(&entry) }
    }

    fn watch_wake(&mut self) -> io::Result<()> {
        let entry = opcode::PollAdd::new(Fd(self.wake.as_raw_fd()), libc::POLLIN as u32)
            .build()
            .user_data(Operation::Wake as u64);
        // SAFETY: the entry points to nothing.
        unsafe { self.push(&entry) }
    }

    fn collect(&mut self) {
        self.completions.clear();
        self.completions
            .extend(self.ring.completion().map(|entry| Completion {
                data: entry.user_data(),
                result: entry.result(),
                flags: entry.flags(),
            }));
    }

    fn give_back(&mut self) {
        if let Some(buffer) = self.lent.take() {
            self.buffers.give_back(buffer);
        }
    }

    fn received(&mut self, token: usize, completion: Completion) -> Event<'_> {
        let more = cqueue::more(completion.flags);
        let buffer = cqueue::buffer_select(completion.flags);
        self.lent = buffer;
        match completion.result {
            filled @ 1.. => {
                if !more && let Err(error) = self.receive(token) {
                    return Event::Closed(Some(error));
                }
                match buffer {
                    Some(buffer) => Event::Bytes(self.buffers.get(buffer, filled as usize)),
                    None => Event::Nothing,
                }
            }
            0 => Event::Closed(None),
            // The buffers ran out for a moment, or a signal came: the bytes wait in the socket.
            failed if matches!(-failed, libc::ENOBUFS | libc::EINTR | libc::EAGAIN) => {
                match self.receive(token) {
                    Ok(()) => Event::Nothing,
                    Err(error) => Event::Closed(Some(error)),
                }
            }
            failed => Event::Closed(Some(io::Error::from_raw_os_error(-failed))),
        }
    }

    fn connected(&mut self, token: usize) -> Event<'static> {
        let Some(Some(fd)) = self.sockets.get(token).map(|socket| socket.fd.as_ref()) else {
            return Event::Nothing;
        };
        if let Err(error) = socket_error(fd).and_then(|outcome| outcome) {
            return Event::Closed(Some(error.into()));
        }
        match self.receive(token) {
            Ok(()) => Event::Connected,
            Err(error) => Event::Closed(Some(error)),
        }
    }

    fn woken(&mut self) {
        clear(&self.wake);
        if let Err(error) = self.watch_wake() {
            // No place in the queue means a broken ring: the next wait will report it.
            debug_assert!(false, "{error}");
        }
    }
}

impl Engine for Uring {
    const NAME: &'static str = "io_uring";

    fn new(sockets: usize, wake: OwnedFd) -> io::Result<Self> {
        let completions = u32::try_from(sockets.saturating_mul(4)).unwrap_or(COMPLETIONS_MAX);
        let ring: IoUring = IoUring::builder()
            .dontfork()
            .setup_single_issuer()
            .setup_defer_taskrun()
            .setup_submit_all()
            .setup_clamp()
            .setup_cqsize(
                completions
                    .clamp(COMPLETIONS_MIN, COMPLETIONS_MAX)
                    .next_power_of_two(),
            )
            .build(QUEUE_ENTRIES)?;
        let buffers = Buffers::register(&ring, GROUP, sockets)?;
        let mut uring = Self {
            ring,
            buffers,
            wake,
            sockets: Vec::new(),
            completions: Vec::new(),
            times_sends: false,
            queued: Vec::new(),
            gathered: Vec::new(),
            lent: None,
            outgrown: Vec::new(),
            parted: Vec::new(),
            leaving: Vec::new(),
            failed: Vec::new(),
            failed_now: Vec::new(),
        };
        uring.watch_wake()?;
        Ok(uring)
    }

    fn time_sends(&mut self) {
        self.times_sends = true;
    }

    fn attach(&mut self, token: usize, socket: OwnedFd, connecting: bool) -> io::Result<()> {
        if self.sockets.len() <= token {
            self.sockets.resize_with(token + 1, UringSocket::default);
        }
        let fd = Fd(socket.as_raw_fd());
        if let Some(place) = self.sockets.get_mut(token) {
            place.fd = Some(socket);
            place.sent_ns = None;
            place.pipeline = None;
        }
        if !connecting {
            return self.receive(token);
        }
        let data = self.data(token, Operation::Connect);
        let entry = opcode::PollAdd::new(fd, libc::POLLOUT as u32)
            .build()
            .user_data(data);
        // SAFETY: the entry points to nothing.
        unsafe { self.push(&entry) }
    }

    fn detach(&mut self, token: usize) {
        let data = self.data(token, Operation::Receive);
        let sending = self.data(token, Operation::Send);
        if !self.gathered.is_empty() {
            self.queue_gathered();
        }
        let Some(place) = self.sockets.get_mut(token) else {
            return;
        };
        let Some(fd) = place.fd.take() else { return };
        if place.pipeline.take().is_some_and(|one| one.is_sending) {
            let buffer = std::mem::take(&mut place.request);
            self.parted.push((sending, buffer));
        }
        // Completions under way carry the old generation and are passed over.
        place.generation = (place.generation + 1) & ((1 << GENERATION_BITS) - 1);
        // The last request leaves before the end. If it cannot, the other side sees a close, and
        // the error shows again with the next wait.
        let _ = self.hand_over(|ring| ring.submit());
        let left_behind = !self.ring.submission().is_empty();
        // An armed receive holds the socket open, so closing alone would not close it.
        // A socket that is not connected any more refuses, which is fine.
        let _ = shutdown(&fd, Shutdown::Both);
        let entry = opcode::AsyncCancel::new(data)
            .build()
            .flags(squeue::Flags::SKIP_SUCCESS)
            .user_data(Operation::Cancel as u64);
        // SAFETY: the entry points to nothing. If it cannot be queued the shutdown still ends
        // the receive.
        let _ = unsafe { self.push(&entry) };
        if left_behind {
            self.leaving.push(fd);
        } else {
            self.leaving.clear();
        }
        self.failed.retain(|(failed, _)| *failed != token);
    }

    fn send(&mut self, token: usize, bytes: &[u8]) {
        if self.times_sends
            && let Some(place) = self.sockets.get_mut(token)
        {
            match &mut place.pipeline {
                None => place.sent_ns = None,
                Some(pipeline) => pipeline.sends.begin(),
            }
        }
        self.send_more(token, bytes);
    }

    fn send_more(&mut self, token: usize, bytes: &[u8]) {
        let data = self.data(token, Operation::Send);
        let Some(place) = self.sockets.get_mut(token) else {
            return;
        };
        let Some(fd) = place.fd.as_ref() else { return };
        if let Some(pipeline) = &mut place.pipeline {
            if pipeline.gather(bytes) {
                self.gathered.push(token);
            }
            return;
        }
        if place.request.capacity() < bytes.len() {
            let room = bytes.len().next_power_of_two().max(64);
            let outgrown = std::mem::replace(&mut place.request, Vec::with_capacity(room));
            if outgrown.capacity() > 0 {
                self.outgrown.push(outgrown);
            }
        }
        place.request.clear();
        place.request.extend_from_slice(bytes);
        let entry = opcode::Send::new(
            Fd(fd.as_raw_fd()),
            place.request.as_ptr(),
            place.request.len() as u32,
        )
        .flags(libc::MSG_NOSIGNAL | libc::MSG_WAITALL)
        .build()
        .flags(squeue::Flags::SKIP_SUCCESS)
        .user_data(data);
        // SAFETY: the bytes stay where they are until the ring is gone: the buffer is neither freed
        // nor moved, only outgrown, and outgrown buffers are kept. A connection sends one request
        // at a time, so the bytes do not change either before the server has read them.
        match unsafe { self.push(&entry) } {
            Ok(()) if self.times_sends => self.queued.push(token),
            Ok(()) => {}
            Err(error) => self.failed.push((token, Some(error))),
        }
    }

    fn sent_ns(&self, token: usize) -> Option<u64> {
        self.sockets.get(token)?.sent_ns
    }

    fn pipeline(&mut self, token: usize) {
        if let Some(place) = self.sockets.get_mut(token) {
            place.pipeline.get_or_insert_default();
        }
    }

    fn answered(&mut self, token: usize) {
        if let Some(place) = self.sockets.get_mut(token)
            && let Some(pipeline) = &mut place.pipeline
        {
            place.sent_ns = pipeline.sends.take();
        }
    }

    fn wait(&mut self, timeout_ns: Option<u64>) -> io::Result<usize> {
        self.give_back();
        self.failed_now.clear();
        if !self.failed.is_empty() {
            std::mem::swap(&mut self.failed, &mut self.failed_now);
            return Ok(self.failed_now.len());
        }
        let waited = match timeout_ns {
            None => self.hand_over(|ring| ring.submit_and_wait(1)),
            Some(ns) => {
                let time = Timespec::new()
                    .sec(ns / 1_000_000_000)
                    .nsec((ns % 1_000_000_000) as u32);
                let args = SubmitArgs::new().timespec(&time);
                self.hand_over(|ring| ring.submitter().submit_with_args(1, &args))
            }
        };
        if let Err(error) = waited {
            match error.raw_os_error() {
                // The time is over, a signal came, or completions must be taken first.
                Some(libc::ETIME | libc::EINTR | libc::EBUSY | libc::EAGAIN) => {}
                _ => return Err(error),
            }
        }
        self.collect();
        Ok(self.completions.len())
    }

    fn event(&mut self, index: usize) -> (usize, Event<'_>) {
        self.give_back();
        if let Some((token, error)) = self.failed_now.get_mut(index) {
            return (*token, Event::Closed(error.take()));
        }
        let Some(&completion) = self.completions.get(index) else {
            return (0, Event::Nothing);
        };
        let token = (completion.data >> 32) as usize;
        let kind = completion.data & ((1 << KIND_BITS) - 1);
        if kind == Operation::Wake as u64 {
            self.woken();
            return (token, Event::Woken);
        }
        let generation = (completion.data as u32) >> KIND_BITS;
        if self
            .sockets
            .get(token)
            .is_none_or(|s| s.generation != generation || s.fd.is_none())
        {
            // It belongs to a socket that is gone; its buffers, if it has any, are free again.
            self.lent = cqueue::buffer_select(completion.flags);
            self.parted.retain(|(data, _)| *data != completion.data);
            return (token, Event::Nothing);
        }
        if kind == Operation::Receive as u64 {
            return (token, self.received(token, completion));
        }
        if kind == Operation::Connect as u64 {
            return (token, self.connected(token));
        }
        if kind == Operation::Send as u64 && completion.result < 0 {
            let error = io::Error::from_raw_os_error(-completion.result);
            return (token, Event::Closed(Some(error)));
        }
        if kind == Operation::Send as u64 {
            return (token, self.sent(token, completion.result));
        }
        (token, Event::Nothing)
    }
}

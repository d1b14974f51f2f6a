//! One thread of the line: its connections, and the bytes that are under way in them.

use super::LineFigures;
use super::pair::{Pair, Side};
use super::pipe::Spare;
use super::punctual::Punctual;
use contend_client::failure;
use contend_reactor::clock::now_ns;
use contend_reactor::engine::READ_BYTES_MAX;
use contend_reactor::inbox::Inbox;
use contend_reactor::socket::{Address, send};
use contend_reactor::threads::be_punctual;
use contend_reactor::wait::clear;
use contend_wire::mysql::frame::put_packet;
use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, timerfd_create, timerfd_settime,
};
use std::collections::VecDeque;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, PoisonError};

/// Tokens that no socket has.
const WAKE: u64 = u64::MAX;
const TIMER: u64 = u64::MAX - 1;

/// Most events taken from the kernel at a time.
const BATCH: usize = 256;

const AT_ONCE: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 0,
};
/// The wait when a server that listens on a Unix socket accepts no client for now.
const QUEUE_FULL: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 1_000_000,
};

pub struct LineWorker {
    inbox: Arc<Inbox>,
    figures: Arc<Mutex<LineFigures>>,
    target: Address,
    one_way_ns: u64,
    queue: OwnedFd,
    wake: OwnedFd,
    timer: OwnedFd,
    armed_ns: u64,
    punctual: Punctual,
    pairs: Vec<Option<Pair>>,
    free: Vec<usize>,
    /// Freed since the last wait, whose events may still name them.
    freed: Vec<usize>,
    /// When something is due, and where. It takes all bytes the same time, so these are in order.
    under_way: VecDeque<(u64, usize, Side)>,
    /// Clients for whom the server had no room yet.
    waiting: Vec<OwnedFd>,
    spare: Spare,
}

impl LineWorker {
    pub fn new(
        inbox: Arc<Inbox>,
        figures: Arc<Mutex<LineFigures>>,
        target: Address,
        one_way_ns: u64,
    ) -> io::Result<Self> {
        let queue = epoll::create(CreateFlags::CLOEXEC)?;
        let wake = inbox.descriptor()?;
        let flags = TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK;
        let timer = timerfd_create(TimerfdClockId::Monotonic, flags)?;
        epoll::add(&queue, &wake, EventData::new_u64(WAKE), EventFlags::IN)?;
        epoll::add(&queue, &timer, EventData::new_u64(TIMER), EventFlags::IN)?;
        Ok(Self {
            inbox,
            figures,
            target,
            one_way_ns,
            queue,
            wake,
            timer,
            armed_ns: 0,
            punctual: Punctual::default(),
            pairs: Vec::new(),
            free: Vec::new(),
            freed: Vec::new(),
            under_way: VecDeque::new(),
            waiting: Vec::new(),
            spare: Spare::default(),
        })
    }

    /// Passes bytes on until the inbox is closed.
    pub fn run(mut self) {
        be_punctual();
        let mut buffer = vec![0; READ_BYTES_MAX].into_boxed_slice();
        let none = epoll::Event {
            flags: EventFlags::empty(),
            data: EventData::new_u64(WAKE),
        };
        let mut events = vec![none; BATCH].into_boxed_slice();
        let figures = Arc::clone(&self.figures);
        while !self.inbox.is_closed() {
            self.free.append(&mut self.freed);
            let timeout = self.timeout();
            let slept_ns = now_ns();
            // A wait that fails has no events; the error shows again with the next.
            let count = epoll::wait(&self.queue, &mut *events, timeout.as_ref()).unwrap_or(0);
            if count == 0 && self.waiting.is_empty() && !self.is_due() {
                continue;
            }
            let mut figures = figures.lock().unwrap_or_else(PoisonError::into_inner);
            for event in events.iter().take(count) {
                let (flags, token) = (event.flags, event.data.u64());
                match token {
                    WAKE => {
                        clear(&self.wake);
                        for (_, client) in self.inbox.take() {
                            self.waiting.push(client);
                        }
                    }
                    TIMER => self.woken(slept_ns),
                    token => self.heard(token, flags, &mut buffer, &mut figures),
                }
            }
            self.welcome(&mut figures);
            self.release_due(&mut figures);
        }
    }

    /// Until when to sleep; none until something happens, which the timer may be.
    fn timeout(&mut self) -> Option<Timespec> {
        let patience = (!self.waiting.is_empty()).then_some(QUEUE_FULL);
        let Some((due_ns, _, _)) = self.under_way.front() else {
            return patience;
        };
        let wake_ns = self.punctual.wake_ns(*due_ns);
        if wake_ns <= now_ns() {
            return Some(AT_ONCE);
        }
        if self.armed_ns != wake_ns && self.arm(wake_ns).is_err() {
            return Some(AT_ONCE);
        }
        patience
    }

    fn arm(&mut self, wake_ns: u64) -> io::Result<()> {
        let never = AT_ONCE;
        let at = Timespec {
            tv_sec: (wake_ns / 1_000_000_000) as i64,
            tv_nsec: (wake_ns % 1_000_000_000) as i64,
        };
        let time = Itimerspec {
            it_interval: never,
            it_value: at,
        };
        timerfd_settime(&self.timer, TimerfdTimerFlags::ABSTIME, &time)?;
        self.armed_ns = wake_ns;
        Ok(())
    }

    /// The timer rang. Its lateness only counts if it found us asleep.
    fn woken(&mut self, slept_ns: u64) {
        clear(&self.timer);
        if slept_ns < self.armed_ns {
            self.punctual.woken(now_ns().saturating_sub(self.armed_ns));
        }
        self.armed_ns = 0;
    }

    fn is_due(&self) -> bool {
        self.under_way
            .front()
            .is_some_and(|(due_ns, _, _)| *due_ns <= now_ns())
    }

    /// Connects the waiting clients, as far as the server has room.
    fn welcome(&mut self, figures: &mut LineFigures) {
        for client in std::mem::take(&mut self.waiting) {
            match self.target.connect() {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.waiting.push(client);
                }
                Err(error) => refuse(&client, &self.target, &error, figures),
                Ok(server) => self.join(client, server, figures),
            }
        }
    }

    fn join(&mut self, client: OwnedFd, server: (OwnedFd, bool), figures: &mut LineFigures) {
        let place = self.free.pop().unwrap_or(self.pairs.len());
        if place == self.pairs.len() {
            self.pairs.push(None);
        }
        match Pair::new(client, server, place as u64 * 2, &self.queue) {
            Ok(pair) => {
                figures.connections += 1;
                if let Some(slot) = self.pairs.get_mut(place) {
                    *slot = Some(pair);
                }
            }
            // The kernel watches no more sockets: both are closed.
            Err(_) => self.free.push(place),
        }
    }

    /// Something is known of a socket.
    fn heard(
        &mut self,
        token: u64,
        flags: EventFlags,
        buffer: &mut [u8],
        figures: &mut LineFigures,
    ) {
        let place = (token / 2) as usize;
        let side = match token % 2 {
            0 => Side::Client,
            _ => Side::Server,
        };
        let Some(Some(pair)) = self.pairs.get_mut(place) else {
            return;
        };
        if side == Side::Server
            && let Err(error) = pair.connected()
        {
            let client = self.pairs.get_mut(place).and_then(Option::take);
            if let Some(client) = client.and_then(Pair::into_client) {
                refuse(&client, &self.target, &error, figures);
            }
            self.freed.push(place);
            return;
        }
        if flags.contains(EventFlags::OUT) {
            let passed = figures.towards(side);
            pair.release(side, passed, &mut self.spare);
        }
        if !(flags - EventFlags::OUT).is_empty() {
            let due_ns = now_ns() + self.one_way_ns;
            if pair.read(side, due_ns, buffer, &mut self.spare) {
                self.under_way.push_back((due_ns, place, side.other()));
            }
        }
        self.settle(place);
    }

    fn release_due(&mut self, figures: &mut LineFigures) {
        while self.is_due() {
            let Some((_, place, side)) = self.under_way.pop_front() else {
                return;
            };
            if let Some(Some(pair)) = self.pairs.get_mut(place) {
                pair.release(side, figures.towards(side), &mut self.spare);
                self.settle(place);
            }
        }
    }

    /// Watches a pair for the events it waits for now, or lets it go.
    fn settle(&mut self, place: usize) {
        let Some(slot) = self.pairs.get_mut(place) else {
            return;
        };
        if let Some(pair) = slot
            && (pair.is_over() || pair.watch(&self.queue).is_err())
        {
            *slot = None;
            self.freed.push(place);
        }
    }
}

/// The error of a server that cannot reach another one. The numbers of the client libraries (from
/// 2000 on) will not do: MariaDB's takes them for a broken packet if a server sends them.
const CANNOT_REACH: u16 = 1429;

/// Tells a client why it gets no further, as a server does that has no room for it.
fn refuse(client: &OwnedFd, target: &Address, error: &io::Error, figures: &mut LineFigures) {
    let why = format!(
        "the delay line cannot reach {target}: {}",
        failure::words(error)
    );
    let mut packet = Vec::new();
    put_packet(&mut packet, 0, |out| {
        out.push(0xff);
        out.extend_from_slice(&CANNOT_REACH.to_le_bytes());
        out.extend_from_slice(why.as_bytes());
    });
    // If the client does not take that, it has gone already.
    let _ = send(client, &packet);
    figures.refused += 1;
    figures.refusal = Some(why);
}

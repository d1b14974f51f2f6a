//! Waiting for many sockets, timers and other threads at once: the base of all our programs that
//! have connections.
//!
//! A [`Reactor`] is the object one thread waits with; a [`Handler`] is the work it then does. An
//! [`engine`] moves bytes, a [`Waker`](wait::Waker) wakes the thread that waits in it, and an
//! [`inbox`](inbox::Inbox) hands it clients that the [`listeners`] let in. All time is read from one
//! [`clock`]. The other modules use the system: threads, limits, signals.
//!
//! ```
//! use contend_reactor::{engine::{Engine as _, Epoll}, wait::Waker};
//! # fn main() -> std::io::Result<()> {
//! let waker = Waker::new()?;
//! let mut engine = Epoll::new(1, waker.descriptor()?)?;
//! waker.wake();
//! assert_eq!(engine.wait(None)?, 1);
//! # Ok(()) }
//! ```

pub mod clock;
pub mod engine;
pub mod inbox;
pub mod limits;
pub mod listeners;
pub mod signals;
pub mod socket;
pub mod threads;
pub mod wait;

use engine::Engine;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;

/// For a shorter time the loop does not sleep but polls: a sleep would take longer.
const WAIT_NS_MIN: u64 = 1_000;

/// What the event loop of a thread needs: sockets, timers, and the last reading of the clock.
pub struct Reactor<E> {
    pub engine: E,
    pub timers: Timers,
    now_ns: u64,
}

/// The owner of the sockets and timers; [`run`] calls it.
pub trait Handler<E: Engine> {
    fn reactor(&mut self) -> &mut Reactor<E>;

    /// True if the loop must end.
    fn is_over(&self) -> bool;

    /// Called before each wait: when the next work is due that has no timer; `u64::MAX` if there
    /// is none.
    fn due_ns(&mut self) -> u64 {
        u64::MAX
    }

    /// Handles the event at `index` of this wait; [`Engine::event`] returns it.
    fn heard(&mut self, index: usize);

    /// Called after all events of a wait and before the timers, for work that is due by the clock.
    fn look_at_clock(&mut self) {}

    /// A timer was due at `at_ns`; `token` and `number` are the seat and token that it was set
    /// with in [`Timers::set`].
    fn timer(&mut self, at_ns: u64, token: usize, number: u64);

    /// Called after the timers, before the next wait.
    fn end_round(&mut self) {}

    /// The wait for the sockets failed.
    fn broken(&mut self, error: io::Error);
}

impl<E: Engine> Reactor<E> {
    pub fn new(engine: E) -> Self {
        Self {
            engine,
            timers: Timers::default(),
            now_ns: clock::now_ns(),
        }
    }

    /// The last reading of the clock.
    #[inline]
    pub fn now_ns(&self) -> u64 {
        self.now_ns
    }

    /// Reads the clock.
    #[inline]
    pub fn tick(&mut self) -> u64 {
        self.now_ns = clock::now_ns();
        self.now_ns
    }

    fn wait(&mut self, due_ns: u64) -> io::Result<usize> {
        let due_ns = due_ns.min(self.timers.next_ns().unwrap_or(u64::MAX));
        let timeout = (due_ns != u64::MAX).then(|| match due_ns.saturating_sub(self.now_ns) {
            short if short < WAIT_NS_MIN => 0,
            long => long,
        });
        self.engine.wait(timeout)
    }
}

/// Runs the event loop until [`Handler::is_over`].
pub fn run<E: Engine>(handler: &mut impl Handler<E>) {
    while !handler.is_over() {
        let due_ns = handler.due_ns();
        let waited = handler.reactor().wait(due_ns);
        let events = match waited {
            Ok(events) => events,
            Err(error) => {
                handler.broken(error);
                continue;
            }
        };
        let waited_ns = handler.reactor().now_ns;
        for index in 0..events {
            handler.heard(index);
        }
        // If the handling of an event has read the clock, that reading is recent enough.
        let reactor = handler.reactor();
        if reactor.now_ns == waited_ns {
            reactor.tick();
        }
        handler.look_at_clock();
        // The clock is read once: a timer that is due later than now is left to the next round,
        // however soon it is due.
        let due_ns = handler.reactor().now_ns;
        while let Some((at_ns, token, number)) = handler.reactor().timers.pop_due(due_ns) {
            handler.timer(at_ns, token, number);
        }
        handler.end_round();
    }
}

/// Timers of seats, soonest first. A timer cannot be cancelled. Its owner sets it with a `token`
/// and ignores the timer if the token is out of date by the time it is due.
#[derive(Debug, Default)]
pub struct Timers {
    heap: BinaryHeap<Reverse<(u64, usize, u64)>>,
}

impl Timers {
    pub fn set(&mut self, at_ns: u64, seat: usize, token: u64) {
        self.heap.push(Reverse((at_ns, seat, token)));
    }

    /// When the next timer is due.
    #[inline]
    pub fn next_ns(&self) -> Option<u64> {
        self.heap.peek().map(|Reverse((at_ns, _, _))| *at_ns)
    }

    /// Removes one timer that is due and returns the time it was set for, its seat and its token.
    #[inline]
    pub fn pop_due(&mut self, now_ns: u64) -> Option<(u64, usize, u64)> {
        if self.next_ns()? > now_ns {
            return None;
        }
        self.heap.pop().map(|Reverse(timer)| timer)
    }

    pub fn clear(&mut self) {
        self.heap.clear();
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn timers_come_in_order_and_not_before_their_time() {
        let mut timers = Timers::default();
        timers.set(30, 3, 0);
        timers.set(10, 1, 7);
        timers.set(20, 2, 0);
        assert_eq!(timers.next_ns(), Some(10));
        assert_eq!(timers.pop_due(9), None);
        assert_eq!(timers.pop_due(25), Some((10, 1, 7)));
        assert_eq!(timers.pop_due(25), Some((20, 2, 0)));
        assert_eq!(timers.pop_due(25), None);
        timers.clear();
        assert_eq!(timers.next_ns(), None);
    }
}

//! Where threads of the operating system wait for one another before the load begins.

use contend_engine::messages::Mailbox;
use contend_reactor::wait::hush;
use contend_reactor::{clock, wait};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A gate that opens once, for all.
pub struct Gate {
    seen: Mutex<GateState>,
    opened: Condvar,
    /// The gate keeper's mailbox: rung when a thread gets ready or ends.
    mailbox: Arc<Mailbox>,
    bell: OwnedFd,
}

/// How many threads have come to the gate, and how many have ended.
#[derive(Clone, Copy, Debug, Default)]
pub struct GateState {
    pub ready: u32,
    pub ended: u32,
    /// When the last of those ended.
    pub ended_ns: u64,
    /// One of them failed before it got ready, or panicked.
    pub failed: bool,
    /// The gate is open, and no event may begin any more from then on.
    open_until_ns: Option<u64>,
}

impl GateState {
    /// All of `threads` are ready or have ended, or one failed.
    pub fn is_settled(&self, threads: u32) -> bool {
        self.ready >= threads || self.ended >= threads || self.failed
    }
}

impl Gate {
    /// # Errors
    /// The kernel has no descriptor left.
    pub fn new(mailbox: Arc<Mailbox>) -> io::Result<Self> {
        Ok(Self {
            seen: Mutex::default(),
            opened: Condvar::new(),
            bell: mailbox.bell()?,
            mailbox,
        })
    }

    /// A thread is ready. Waits for the gate; returns the time from which no event may begin.
    pub fn pass(&self) -> u64 {
        let mut seen = self.lock();
        seen.ready += 1;
        self.mailbox.ring();
        while seen.open_until_ns.is_none() && !seen.failed {
            let waited = self.opened.wait(seen);
            seen = waited.unwrap_or_else(PoisonError::into_inner);
        }
        seen.open_until_ns.unwrap_or(0)
    }

    /// A thread has ended; `failed` if it never got ready, or panicked.
    pub fn leave(&self, failed: bool) {
        let mut seen = self.lock();
        seen.ended += 1;
        seen.ended_ns = clock::now_ns();
        seen.failed |= failed;
        self.opened.notify_all();
        self.mailbox.ring();
    }

    /// Lets the threads begin, until this time.
    pub fn open(&self, until_ns: u64) {
        self.lock().open_until_ns = Some(until_ns);
        self.opened.notify_all();
    }

    /// For the gate keeper: waits until a thread gets ready or ends, or a command comes, but not
    /// past `limit_ns`. Returns the state of the threads then.
    pub fn watch(&self, limit_ns: u64) -> GateState {
        let left = Duration::from_nanos(limit_ns.saturating_sub(clock::now_ns()));
        if wait::is_readable(&self.bell, left) {
            hush(&self.bell);
        }
        *self.lock()
    }

    fn lock(&self) -> MutexGuard<'_, GateState> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn gate() -> Arc<Gate> {
        Arc::new(Gate::new(Arc::new(Mailbox::new().unwrap())).unwrap())
    }

    #[test]
    fn the_gate_opens_when_all_are_there_and_counts_who_left() {
        let gate = gate();
        let life = |gate: Arc<Gate>| {
            move || {
                assert_eq!(gate.pass(), 5);
                gate.leave(false);
            }
        };
        let threads: Vec<_> = (0..3)
            .map(|_| std::thread::spawn(life(Arc::clone(&gate))))
            .collect();
        while !gate.watch(u64::MAX).is_settled(3) {}
        assert_eq!(gate.watch(0).ended, 0);
        gate.open(5);
        while gate.watch(u64::MAX).ended < 3 {}
        threads
            .into_iter()
            .for_each(|thread| thread.join().unwrap());
    }

    #[test]
    fn one_that_fails_opens_nothing() {
        let gate = gate();
        gate.leave(true);
        let seen = gate.watch(u64::MAX);
        assert!(seen.is_settled(2) && seen.failed && seen.open_until_ns.is_none());
        assert_eq!(seen.ended, 1);
        // A thread that comes later does not wait for ever.
        assert_eq!(gate.pass(), 0);
    }
}

//! Where threads of the operating system wait for one another before the load begins.

use crate::reactor::clock;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A gate that opens once, for all.
#[derive(Debug, Default)]
pub struct Gate {
    state: Mutex<GateState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct GateState {
    ready: u32,
    ended: u32,
    /// When the last of those ended.
    ended_ns: u64,
    failed: bool,
    open: bool,
    /// When nothing is to be begun any more.
    deadline: Option<Instant>,
}

impl Gate {
    /// A thread is ready; returns when the gate opens.
    pub fn pass(&self) {
        let mut state = self.lock();
        state.ready += 1;
        self.changed.notify_all();
        while !state.open && !state.failed {
            state = self.wait(state);
        }
    }

    /// A thread has ended; `failed` if it never got ready.
    pub fn leave(&self, failed: bool) {
        let mut state = self.lock();
        state.ended += 1;
        state.ended_ns = clock::now_ns();
        state.failed |= failed;
        self.changed.notify_all();
    }

    /// Waits until all of `threads` are ready or have ended; false if one failed.
    pub fn wait_until_ready(&self, threads: u32) -> bool {
        let mut state = self.lock();
        while state.ready < threads && !state.failed && state.ended < threads {
            state = self.wait(state);
        }
        !state.failed
    }

    /// Lets the threads begin, until `deadline` if there is one.
    pub fn open(&self, deadline: Option<Instant>) {
        let mut state = self.lock();
        state.open = true;
        state.deadline = deadline;
        self.changed.notify_all();
    }

    /// Waits until all of `threads` have ended, but not past `limit`; returns how many have not.
    pub fn wait_until_ended(&self, threads: u32, limit: Option<Instant>) -> u32 {
        let mut state = self.lock();
        while state.ended < threads {
            let Some(limit) = limit else {
                state = self.wait(state);
                continue;
            };
            let left = limit.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            state = self.wait_at_most(state, left);
        }
        threads.saturating_sub(state.ended)
    }

    /// When the last thread ended that has.
    pub fn last_ended_ns(&self) -> u64 {
        self.lock().ended_ns
    }

    pub fn deadline(&self) -> Option<Instant> {
        self.lock().deadline
    }

    fn lock(&self) -> MutexGuard<'_, GateState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, state: MutexGuard<'a, GateState>) -> MutexGuard<'a, GateState> {
        self.changed
            .wait(state)
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn wait_at_most<'a>(
        &self,
        state: MutexGuard<'a, GateState>,
        time: Duration,
    ) -> MutexGuard<'a, GateState> {
        let waited = self.changed.wait_timeout(state, time);
        waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::sync::Arc;

    #[test]
    fn the_gate_opens_when_all_are_there_and_counts_who_left() {
        let gate = Arc::new(Gate::default());
        let threads: Vec<_> = (0..3)
            .map(|_| {
                let gate = Arc::clone(&gate);
                std::thread::spawn(move || {
                    gate.pass();
                    gate.leave(false);
                })
            })
            .collect();
        assert!(gate.wait_until_ready(3));
        gate.open(None);
        assert_eq!(gate.wait_until_ended(3, None), 0);
        threads
            .into_iter()
            .for_each(|thread| thread.join().unwrap());
    }

    #[test]
    fn one_that_fails_opens_nothing() {
        let gate = Gate::default();
        gate.leave(true);
        assert!(!gate.wait_until_ready(2));
        assert_eq!(gate.wait_until_ended(2, Some(Instant::now())), 1);
        // Whoever comes later does not wait for ever.
        gate.pass();
    }
}

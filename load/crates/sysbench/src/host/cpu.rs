//! How much each thread of the operating system that a script has computes.

use contend_reactor::clock;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The CPU clocks of the threads of a run.
#[derive(Debug)]
pub struct CpuClocks(Mutex<Vec<CpuClock>>);

/// A running thread has its clock, an ended one the time it had used at its end.
type CpuClock = (Option<libc::clockid_t>, u64);

impl CpuClocks {
    pub fn new(threads: u32) -> Self {
        Self(Mutex::new(vec![(None, 0); threads as usize]))
    }

    /// To be called by each thread when it begins.
    pub fn begin(&self, thread: u32) {
        self.set(thread, (clock::own_cpu_clock(), 0));
    }

    /// To be called by each thread when it ends: its clock ends with it.
    pub fn end(&self, thread: u32) {
        self.set(thread, (None, clock::thread_cpu_ns()));
    }

    /// The CPU time of each thread so far.
    pub fn read_ns(&self) -> Vec<u64> {
        // A thread cannot end while this is locked, so each clock that runs can be read.
        let read =
            |&(clock, ended_ns): &CpuClock| clock.and_then(clock::cpu_ns).unwrap_or(ended_ns);
        self.lock().iter().map(read).collect()
    }

    /// What the busiest thread has used since then.
    pub fn busiest_since_ns(&self, then_ns: &[u64]) -> u64 {
        let now_ns = self.read_ns();
        let used = now_ns.iter().zip(then_ns);
        used.map(|(now, then)| now.saturating_sub(*then))
            .max()
            .unwrap_or(0)
    }

    fn set(&self, thread: u32, clock: CpuClock) {
        if let Some(place) = self.lock().get_mut(thread as usize) {
            *place = clock;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<CpuClock>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::sync::mpsc;

    /// Computes until the calling thread has used this much more.
    fn compute(ns: u64) {
        let end_ns = clock::thread_cpu_ns() + ns;
        while clock::thread_cpu_ns() < end_ns {}
    }

    #[test]
    fn threads_that_run_and_those_that_have_ended_are_told_of() {
        let clocks = CpuClocks::new(3);
        let (ended, is_ended) = mpsc::channel();
        let (done, is_done) = mpsc::channel::<()>();
        let before = clocks.read_ns();
        assert_eq!(before, [0, 0, 0]);
        std::thread::scope(|scope| {
            let clocks = &clocks;
            let other = ended.clone();
            scope.spawn(move || {
                clocks.begin(0);
                compute(2_000_000);
                clocks.end(0);
                ended.send(()).unwrap();
            });
            scope.spawn(move || {
                clocks.begin(1);
                compute(5_000_000);
                other.send(()).unwrap();
                is_done.recv().unwrap_err();
                clocks.end(1);
            });
            assert_eq!((is_ended.recv(), is_ended.recv()), (Ok(()), Ok(())));
            let read = clocks.read_ns();
            assert!(read[0] >= 2_000_000 && read[1] >= 5_000_000 && read[2] == 0);
            assert!(clocks.busiest_since_ns(&before) >= read[0].max(read[1]));
            drop(done);
        });
        let after = clocks.read_ns();
        assert_eq!(clocks.read_ns(), after);
        assert_eq!(clocks.busiest_since_ns(&after), 0);
    }
}

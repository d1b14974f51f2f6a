//! A thread that does something at given times: reports while a run goes on.

use std::io;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Runs until it is dropped, or its work says that nothing is left.
#[derive(Debug)]
pub struct Ticker {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// Clocks that are read one after the other differ by less.
const AS_GOOD_AS_DUE: Duration = Duration::from_millis(20);

/// When the work is to be done next; none: never again.
pub type Next = Option<Instant>;

impl Ticker {
    /// Calls `first` on the new thread, then the work it returns at each moment that the last
    /// call named.
    ///
    /// # Errors
    /// The thread cannot be had.
    pub fn start<W>(
        name: &str,
        first: impl FnOnce() -> (W, Next) + Send + 'static,
    ) -> io::Result<Self>
    where
        W: FnMut(Instant) -> Next,
    {
        let (stop, stopped) = mpsc::channel::<()>();
        let body = move || {
            let (mut work, mut next) = first();
            while let Some(due) = next {
                let left = || due.saturating_duration_since(Instant::now());
                match stopped.recv_timeout(left()) {
                    Err(RecvTimeoutError::Timeout) => next = work(due),
                    // The other end is gone. What was as good as due is still done: the last
                    // interval of a run ends with the run.
                    _ => {
                        if left() < AS_GOOD_AS_DUE {
                            work(due);
                        }
                        break;
                    }
                }
            }
        };
        let thread = std::thread::Builder::new()
            .name(name.to_owned())
            .spawn(body)?;
        Ok(Self {
            stop: Some(stop),
            thread: Some(thread),
        })
    }

    /// Does the work once at `after` from now, unless dropped before.
    ///
    /// # Errors
    /// The thread cannot be had.
    pub fn once(
        name: &str,
        after: Duration,
        work: impl FnOnce() + Send + 'static,
    ) -> io::Result<Self> {
        let due = Instant::now() + after;
        Self::start(name, move || {
            let mut work = Some(work);
            let fire = move |_| {
                if let Some(work) = work.take() {
                    work();
                }
                None
            };
            (fire, Some(due))
        })
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A panic of the work was said by the thread itself.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

    #[test]
    fn ticks_come_until_nothing_is_left() {
        let count = Arc::new(AtomicU32::new(0));
        let seen = Arc::clone(&count);
        let mut ticker = Ticker::start("test", move || {
            let work = move |due: Instant| {
                let ticks = seen.fetch_add(1, SeqCst) + 1;
                (ticks < 3).then(|| due + Duration::from_millis(1))
            };
            (work, Some(Instant::now()))
        })
        .unwrap();
        ticker.thread.take().unwrap().join().unwrap();
        assert_eq!(count.load(SeqCst), 3);
    }

    #[test]
    fn what_is_dropped_before_its_time_is_not_done() {
        let count = Arc::new(AtomicU32::new(0));
        let seen = Arc::clone(&count);
        let once = Ticker::once("test", Duration::from_secs(3600), move || {
            seen.fetch_add(1, SeqCst);
        });
        drop(once.unwrap());
        assert_eq!(count.load(SeqCst), 0);
    }
}

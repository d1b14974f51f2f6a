//! An action at a given time, unless the run is over before.

use std::io;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::Duration;

/// Rings once, unless it is dropped before.
#[derive(Debug)]
pub struct Alarm {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Alarm {
    /// Does the work at `after` from now, on a thread of its own.
    ///
    /// # Errors
    /// The thread cannot be created.
    pub fn set(
        name: &str,
        after: Duration,
        work: impl FnOnce() + Send + 'static,
    ) -> io::Result<Self> {
        let (stop, stopped) = mpsc::channel::<()>();
        let body = move || {
            if stopped.recv_timeout(after) == Err(RecvTimeoutError::Timeout) {
                work();
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
}

impl Drop for Alarm {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // The thread itself reported a panic of the work.
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
    fn what_is_dropped_before_its_time_is_not_done() {
        let count = Arc::new(AtomicU32::new(0));
        let rings = |after| {
            let seen = Arc::clone(&count);
            Alarm::set("test", after, move || {
                seen.fetch_add(1, SeqCst);
            })
        };
        drop(rings(Duration::from_secs(3600)).unwrap());
        assert_eq!(count.load(SeqCst), 0);
        rings(Duration::ZERO)
            .unwrap()
            .thread
            .take()
            .unwrap()
            .join()
            .unwrap();
        assert_eq!(count.load(SeqCst), 1);
    }
}

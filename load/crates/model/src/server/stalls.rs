//! Stalls: all queries stand still, as when a server stops for a moment.

use super::model::Model;
use contend_figures::outcome::Failure;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// Lets all queries stand still at regular times, until it is dropped.
pub struct Staller {
    over: Arc<(Mutex<bool>, Condvar)>,
    thread: Option<JoinHandle<()>>,
}

impl Staller {
    /// # Errors
    /// The kernel refuses the thread.
    pub fn begin(model: &Arc<Model>) -> Result<Self, Failure> {
        let over = Arc::new((Mutex::new(false), Condvar::new()));
        let span = |seconds: f64| Duration::try_from_secs_f64(seconds).unwrap_or_default();
        let every = span(model.knobs.stall_every_s);
        let length = span(model.knobs.stall_ms / 1e3);
        if every.is_zero() || length.is_zero() {
            return Ok(Self { over, thread: None });
        }
        let (model, ended) = (Arc::clone(model), Arc::clone(&over));
        let thread = std::thread::Builder::new()
            .name("stalls".to_owned())
            .spawn(move || stall(&model, every, length, &ended))
            .map_err(|error| Failure::plain(format!("starting a thread: {error}")))?;
        Ok(Self {
            over,
            thread: Some(thread),
        })
    }
}

impl Drop for Staller {
    fn drop(&mut self) {
        let (over, changed) = &*self.over;
        *over.lock().unwrap_or_else(PoisonError::into_inner) = true;
        changed.notify_all();
        if let Some(thread) = self.thread.take() {
            // It only waits.
            let _ = thread.join();
        }
    }
}

fn stall(model: &Model, every: Duration, length: Duration, over: &(Mutex<bool>, Condvar)) {
    let (over, changed) = over;
    let pause = |time: Duration| {
        let over = over.lock().unwrap_or_else(PoisonError::into_inner);
        let (over, _) = changed
            .wait_timeout_while(over, time, |over| !*over)
            .unwrap_or_else(PoisonError::into_inner);
        *over
    };
    // From the beginning of a stall to that of the next one.
    let mut between = every;
    while !pause(between) {
        let begun = model.uptime();
        let ((), ticks) = model.spinner.timed(|| {
            let shut = model.cache.shut();
            pause(length);
            drop(shut);
        });
        model.stalls.times.fetch_add(1, Ordering::Relaxed);
        model.stalls.ticks.fetch_add(ticks, Ordering::Relaxed);
        between = every.saturating_sub(model.uptime().saturating_sub(begun));
    }
}

//! The truth of a model server: what it counted, told when it has ended; and the stalls, which are
//! made here and counted.

use super::model::{Model, ModelService, Period};
use crate::outcome::Failure;
use crate::serve::model::{Knobs, MissCost};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// Lets all queries stand still every so often, until it is dropped.
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

/// All that was asked for and all that was counted.
pub fn told(model: &Model, service: &ModelService) -> Value {
    let per_ns = model.ticks.per_ns();
    let ns = |ticks: &AtomicU64| (ticks.load(Ordering::Relaxed) as f64 / per_ns).round() as u64;
    let periods = model.periods();
    let (uptime_s, index) = (model.uptime().as_secs_f64(), &model.index);
    let variables: serde_json::Map<_, _> = model
        .variables()
        .all()
        .map(|told| (told.name.to_owned(), Value::from(told.value)))
        .collect();
    json!({
        "type": "truth",
        "version": 1,
        "rows": service.rows,
        "seed": service.seed,
        "rows_in": service.rows_in,
        "index": {"pages": index.pages(), "levels": index.levels(), "root": index.root()},
        "knobs": asked(&service.knobs),
        "variables": variables,
        "clock": {"name": model.ticks.name(), "ticks_per_ns": per_ns},
        "uptime_s": uptime_s,
        "process_cpu_ns": crate::reactor::clock::process_cpu_ns(std::process::id()),
        "connections": model.clients.admitted.load(Ordering::Relaxed),
        "turned_away": model.clients.turned_away.load(Ordering::Relaxed),
        "stalls": {
            "times": model.stalls.times.load(Ordering::Relaxed),
            "ns": ns(&model.stalls.ticks),
        },
        "total": model.counts.sum().told(0, per_ns),
        "periods": periods.iter().map(|period| of_period(period, per_ns)).collect::<Vec<_>>(),
    })
}

fn of_period(period: &Period, per_ns: f64) -> Value {
    let sizes = &period.sizes;
    let mut told = period.counted.told(sizes.segments() as usize, per_ns);
    if let Some(segments) = told.get_mut("segments").and_then(Value::as_array_mut) {
        for (segment, counters) in segments.iter_mut().zip(&period.segments) {
            segment["read_requests"] = counters.read_requests.into();
            segment["reads"] = counters.reads.into();
        }
    }
    told["began_s"] = period.began_s.into();
    told["ended_s"] = period.ended_s.into();
    told["key_cache_segments"] = sizes.key_cache_segments.into();
    told["key_buffer_size"] = sizes.key_buffer_size.into();
    told["key_cache_division_limit"] = sizes.key_cache_division_limit.into();
    told["key_cache_age_threshold"] = sizes.key_cache_age_threshold.into();
    told
}

/// The knobs as they were asked for.
fn asked(knobs: &Knobs) -> Value {
    json!({
        "under_lock_ns": knobs.under_lock_ns,
        "outside_lock_ns": knobs.outside_lock_ns,
        "miss": match knobs.miss {
            MissCost::Nothing => "nothing",
            MissCost::Slept(_) => "slept",
            MissCost::Read => "read",
        },
        "miss_ns": match knobs.miss {
            MissCost::Slept(time) => crate::reactor::clock::nanoseconds(time),
            MissCost::Nothing | MissCost::Read => 0,
        },
        "second_lock_ns": knobs.second_lock_ns,
        "row_lock_ns": knobs.row_lock_ns,
        "delay_us": knobs.delay_us,
        "padding": format!("{:?}", knobs.padding).to_lowercase(),
        "speed": knobs.speed,
        "stall_every_s": knobs.stall_every_s,
        "stall_ms": knobs.stall_ms,
        "leak_ns_per_s": knobs.leak_ns_per_s,
        "lock": format!("{:?}", knobs.lock).to_lowercase(),
        "pool": knobs.pool,
    })
}

//! The books of a run: what was counted since the last report of each kind.
//!
//! Threads only ever add to their figures. Each kind of report keeps the readings of its last
//! time and takes the difference, so reports of one kind never disturb those of another.

use crate::arrival::DueCount;
use crate::drive::clock;
use crate::lua::figures::{Counter, Reading, Times};
use crate::lua::run::Run;
use crate::record::Latency;
use std::sync::Arc;
use std::time::Instant;

/// Figures of one stretch of time.
#[derive(Clone, Debug)]
pub struct Figures {
    pub threads: Vec<Reading>,
    /// Of all threads together.
    pub sum: Reading,
    pub latency: Latency,
    pub interval_s: f64,
    /// Since the load began, or the warm-up ended.
    pub total_s: f64,
    pub threads_running: usize,
    pub queue_length: u64,
    pub concurrency: usize,
}

impl Figures {
    pub fn new(threads: Vec<Reading>, latency: Latency, interval_s: f64, total_s: f64) -> Self {
        let mut sum = Reading::default();
        threads.iter().for_each(|thread| sum.merge(thread));
        Self {
            threads,
            sum,
            latency,
            interval_s,
            total_s,
            threads_running: 0,
            queue_length: 0,
            concurrency: 0,
        }
    }

    pub fn percentile_s(&self, percentile: u32) -> f64 {
        if percentile == 0 {
            0.0
        } else {
            self.quantile_s(f64::from(percentile) / 100.0)
        }
    }

    /// Never below the shortest or above the longest time, which are exact.
    pub fn quantile_s(&self, quantile: f64) -> f64 {
        if self.latency.count() == 0 {
            return 0.0;
        }
        let time_s = self.latency.quantile_ns(quantile) as f64 / 1e9;
        time_s.min(self.max_s()).max(self.min_s())
    }

    pub fn min_s(&self) -> f64 {
        self.sum.time_ns_min.unwrap_or(0) as f64 / 1e9
    }

    pub fn max_s(&self) -> f64 {
        self.sum.time_ns_max as f64 / 1e9
    }

    pub fn mean_s(&self) -> f64 {
        match self.sum.of(Counter::Events) {
            0 => 0.0,
            events => self.sum.time_ns as f64 / 1e9 / events as f64,
        }
    }
}

/// One kind of report: what stood at its last time, and the times taken since.
#[derive(Clone, Debug)]
struct Page {
    readings: Vec<Reading>,
    latency: Latency,
    /// None: the load has begun since.
    at: Option<Instant>,
}

impl Page {
    fn new(threads: usize) -> Self {
        Self {
            readings: vec![Reading::default(); threads],
            latency: Latency::new(),
            at: None,
        }
    }

    /// What came since the last time; this is the new last time.
    fn turn(
        &mut self,
        readings: Vec<Reading>,
        begun: Instant,
        now: Instant,
    ) -> (Vec<Reading>, Latency, f64) {
        let since = readings
            .iter()
            .zip(&self.readings)
            .map(|(now, then)| now.since(then));
        let figures = since.collect();
        let at = self.at.unwrap_or(begun);
        let interval_s = now.saturating_duration_since(at).as_secs_f64();
        self.readings = readings;
        self.at = Some(now);
        (figures, std::mem::take(&mut self.latency), interval_s)
    }
}

/// The books.
#[derive(Debug)]
pub struct Books {
    run: Arc<Run>,
    /// Events that have fallen due under `--rate`.
    due: Option<DueCount>,
    /// Where a warm-up ended.
    opened: Option<Instant>,
    interval: Page,
    checkpoint: Page,
    whole: Page,
}

impl Books {
    pub fn new(run: Arc<Run>) -> Self {
        let threads = run.figures.threads.len();
        let page = Page::new(threads);
        Self {
            due: run.dispenser.schedule().map(DueCount::new),
            run,
            opened: None,
            interval: page.clone(),
            checkpoint: page.clone(),
            whole: page,
        }
    }

    /// Begins to count now: the warm-up is over. What it counted is in no report.
    pub fn begin(&mut self) {
        let (readings, now) = self.run.open_window();
        self.opened = Some(now);
        for page in [&mut self.interval, &mut self.checkpoint, &mut self.whole] {
            *page = Page {
                readings: readings.clone(),
                latency: Latency::new(),
                at: Some(now),
            };
        }
    }

    /// The interval that ends now.
    pub fn interval(&mut self, now: Instant) -> Figures {
        let (readings, begun) = (self.take(self.run.figures.cut()), self.begun());
        let (threads, latency, interval_s) = self.interval.turn(readings, begun, now);
        let mut figures = self.with_present(
            Figures::new(threads, latency, interval_s, self.total_s(now)),
            now,
        );
        figures.threads_running = self.run.figures.running_or_kept();
        figures
    }

    /// What was counted since the last checkpoint; the next begins now.
    pub fn checkpoint(&mut self, now: Instant) -> Figures {
        let cut = self.run.figures.cut_extremes();
        let (readings, begun) = (self.take(cut), self.begun());
        let (threads, latency, interval_s) = self.checkpoint.turn(readings, begun, now);
        self.with_present(
            Figures::new(threads, latency, interval_s, self.total_s(now)),
            now,
        )
    }

    /// The whole run, checkpoints or not. Extremes are those since the last checkpoint.
    pub fn whole(&mut self, now: Instant) -> Figures {
        let (readings, begun) = (self.take(self.run.figures.cut()), self.begun());
        let (threads, latency, interval_s) = self.whole.turn(readings, begun, now);
        self.with_present(
            Figures::new(threads, latency, interval_s, self.total_s(now)),
            now,
        )
    }

    /// Where figures begin: at the end of the warm-up, or with the first event.
    fn begun(&self) -> Instant {
        self.opened.unwrap_or_else(|| self.run.window.begun())
    }

    fn total_s(&self, now: Instant) -> f64 {
        now.saturating_duration_since(self.begun()).as_secs_f64()
    }

    /// What the threads have counted by now; the times since the last cut go on every page.
    fn take(&mut self, (readings, times): (Vec<Reading>, Times)) -> Vec<Reading> {
        for page in [&mut self.interval, &mut self.checkpoint, &mut self.whole] {
            page.latency.merge(&times.response);
        }
        readings
    }

    fn with_present(&mut self, mut figures: Figures, now: Instant) -> Figures {
        figures.threads_running = self.run.figures.running();
        if let Some(due) = &mut self.due {
            let ago = clock::nanoseconds(now.elapsed());
            let now_ns = clock::now_ns().saturating_sub(ago);
            let since_ns = now_ns.saturating_sub(self.run.dispenser.begin_ns());
            let begun = self.run.figures.begun();
            figures.queue_length = due.before(since_ns).saturating_sub(begun);
            figures.concurrency = self.run.figures.in_event();
        }
        figures
    }
}

//! Counts and records since the last report of each kind.

use contend_console::output::ratio;
use contend_figures::{Counter, Latency, Reading, Sum};

/// Figures of one stretch of time.
#[derive(Clone, Debug)]
pub struct ReportFigures {
    pub threads: Vec<Reading>,
    /// Sum of all threads.
    pub sum: Reading,
    pub latency: Latency,
    pub interval_s: f64,
    /// Since the load began, or the warm-up ended.
    pub total_s: f64,
    pub queue_length: u64,
}

impl ReportFigures {
    pub fn new(threads: Vec<Reading>, latency: Latency, interval_s: f64, total_s: f64) -> Self {
        let mut sum = Reading::default();
        threads.iter().for_each(|thread| sum.merge(thread));
        Self {
            threads,
            sum,
            latency,
            interval_s,
            total_s,
            queue_length: 0,
        }
    }

    /// Adds the stretch after this one.
    pub fn go_on(&mut self, next: &Self) {
        for (ours, theirs) in self.threads.iter_mut().zip(&next.threads) {
            ours.go_on(theirs);
        }
        self.sum.go_on(&next.sum);
        self.latency.merge(&next.latency);
        self.interval_s += next.interval_s;
        (self.total_s, self.queue_length) = (next.total_s, next.queue_length);
    }

    pub fn percentile_s(&self, percentile: u32) -> f64 {
        match percentile {
            0 => 0.0,
            _ => self.quantile_s(f64::from(percentile) / 100.0),
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
        let events = self.sum.of(Counter::Events) as f64;
        ratio(self.sum.time_ns as f64 / 1e9, events)
    }
}

/// The figures that one kind of report has not printed yet.
#[derive(Clone, Debug, Default)]
struct Page {
    threads: Vec<Reading>,
    latency: Latency,
    since_s: f64,
}

/// Sums since the last report of each kind. Each figure of the run is added to all of them, so the
/// kinds of report never disturb each other.
#[derive(Debug)]
pub struct ReportSums {
    /// The counts of each thread in the run's last report, and the time of that report, in seconds
    /// since the load began or the warm-up ended.
    counted: Vec<Reading>,
    now_s: f64,
    queue_length: u64,
    interval: Page,
    checkpoint: Page,
}

impl ReportSums {
    pub fn new(threads: usize) -> Self {
        let page = Page {
            threads: vec![Reading::default(); threads],
            ..Page::default()
        };
        Self {
            counted: page.threads.clone(),
            now_s: 0.0,
            queue_length: 0,
            interval: page.clone(),
            checkpoint: page,
        }
    }

    /// The warm-up is over. Its counts are in no report.
    pub fn begin(&mut self, counts: &[(u32, Reading)]) {
        for (thread, reading) in counts {
            if let Some(counted) = self.counted.get_mut(*thread as usize) {
                counted.clone_from(reading);
            }
        }
    }

    /// Takes the threads' counts by `end_s`, the times of the events that were recorded since, and
    /// the number of due events that had not begun.
    pub fn take(&mut self, end_s: f64, counts: &[(u32, Reading)], since: &Latency, queue: u64) {
        self.now_s = end_s;
        self.queue_length = queue;
        let mut pages = [&mut self.interval, &mut self.checkpoint];
        for page in &mut pages {
            page.latency.merge(since);
        }
        for (thread, reading) in counts {
            let place = *thread as usize;
            let Some(counted) = self.counted.get_mut(place) else {
                continue;
            };
            let since = reading.since(counted);
            for page in &mut pages {
                if let Some(thread) = page.threads.get_mut(place) {
                    thread.go_on(&since);
                }
            }
            counted.clone_from(reading);
        }
    }

    /// The interval that ends now.
    pub fn interval(&mut self) -> ReportFigures {
        let empty = self.empty();
        let page = std::mem::replace(&mut self.interval, empty);
        self.figures(page)
    }

    /// The counts since the last checkpoint; the next begins now.
    pub fn checkpoint(&mut self) -> ReportFigures {
        let empty = self.empty();
        let page = std::mem::replace(&mut self.checkpoint, empty);
        self.figures(page)
    }

    fn empty(&self) -> Page {
        Page {
            threads: vec![Reading::default(); self.counted.len()],
            since_s: self.now_s,
            ..Page::default()
        }
    }

    fn figures(&self, page: Page) -> ReportFigures {
        let interval_s = self.now_s - page.since_s;
        let mut figures = ReportFigures::new(page.threads, page.latency, interval_s, self.now_s);
        figures.queue_length = self.queue_length;
        figures
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(reads: u64, time_ns: u64) -> Vec<(u32, Reading)> {
        let mut reading = Reading {
            time_ns,
            time_ns_max: time_ns,
            ..Reading::default()
        };
        reading.counters[Counter::Read as usize] = reads;
        vec![(1, reading)]
    }

    #[test]
    fn each_report_has_what_came_since_the_last_of_its_kind() {
        let mut sums = ReportSums::new(2);
        sums.begin(&counts(5, 50));
        let mut latency = Latency::new();
        latency.record_ns(1000);
        sums.take(1.0, &counts(7, 60), &latency, 0);
        let first = sums.interval();
        assert_eq!((first.sum.of(Counter::Read), first.sum.time_ns), (2, 10));
        assert_eq!((first.interval_s, first.latency.count()), (1.0, 1));
        sums.take(2.5, &counts(10, 90), &latency, 3);
        let second = sums.interval();
        assert_eq!((second.sum.of(Counter::Read), second.interval_s), (3, 1.5));
        assert_eq!((second.total_s, second.queue_length), (2.5, 3));
        let mut both = first.clone();
        both.go_on(&second);
        assert_eq!((both.sum.of(Counter::Read), both.sum.time_ns), (5, 40));
        assert_eq!((both.threads[1].queries(), both.interval_s), (5, 2.5));
        assert_eq!((both.latency.count(), both.total_s), (2, 2.5));
        let checkpoint = sums.checkpoint();
        assert_eq!(checkpoint.sum.of(Counter::Read), 5);
        assert_eq!(
            (checkpoint.latency.count(), checkpoint.interval_s),
            (2, 2.5)
        );
        assert_eq!(sums.checkpoint().sum, Reading::default());
    }
}

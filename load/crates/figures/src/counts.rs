//! The counts of a script's thread, as plain numbers.

/// Kinds of counter; the numbers are those that scripts see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counter {
    Other = 0,
    Read = 1,
    Write = 2,
    Events = 3,
    Errors = 4,
    Reconnects = 5,
    BytesRead = 6,
    BytesWritten = 7,
}

pub const COUNTERS: usize = 8;

/// The counters of a thread, or of all, at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    pub counters: [u64; COUNTERS],
    /// Time in events, and the longest and the shortest of those since the reading before.
    pub time_ns: u64,
    pub time_ns_max: u64,
    pub time_ns_min: Option<u64>,
    /// Threads that run, and those of them that are in an event.
    pub running: u32,
    pub in_event: u32,
}

impl Reading {
    pub fn of(&self, counter: Counter) -> u64 {
        self.counters.get(counter as usize).copied().unwrap_or(0)
    }

    pub fn queries(&self) -> u64 {
        let kinds = [Counter::Read, Counter::Write, Counter::Other];
        kinds.into_iter().map(|counter| self.of(counter)).sum()
    }

    /// The counts since `earlier`; all other fields keep their current values.
    pub fn since(&self, earlier: &Self) -> Self {
        let mut since = self.clone();
        for (ours, before) in since.counters.iter_mut().zip(earlier.counters) {
            *ours = ours.saturating_sub(before);
        }
        since.time_ns = self.time_ns.saturating_sub(earlier.time_ns);
        since
    }

    /// Adds the counts of another thread.
    pub fn merge(&mut self, other: &Self) {
        self.running += other.running;
        self.in_event += other.in_event;
        self.add(other);
    }

    /// Adds the next counts of the same thread.
    pub fn go_on(&mut self, next: &Self) {
        (self.running, self.in_event) = (next.running, next.in_event);
        self.add(next);
    }

    fn add(&mut self, other: &Self) {
        for (ours, theirs) in self.counters.iter_mut().zip(other.counters) {
            *ours += theirs;
        }
        self.time_ns += other.time_ns;
        self.time_ns_max = self.time_ns_max.max(other.time_ns_max);
        self.time_ns_min = match (self.time_ns_min, other.time_ns_min) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(reads: u64, time_ns: u64) -> Reading {
        let mut counters = [0; COUNTERS];
        counters[Counter::Read as usize] = reads;
        Reading {
            counters,
            time_ns,
            time_ns_max: time_ns,
            time_ns_min: Some(time_ns),
            running: 1,
            in_event: 0,
        }
    }

    #[test]
    fn readings_subtract_and_add() {
        let since = reading(3, 17).since(&reading(2, 10));
        assert_eq!((since.of(Counter::Read), since.time_ns), (1, 7));
        let mut sum = reading(1, 10);
        sum.merge(&reading(2, 7));
        assert_eq!((sum.queries(), sum.time_ns, sum.running), (3, 17, 2));
        assert_eq!((sum.time_ns_min, sum.time_ns_max), (Some(7), 10));
        let mut thread = reading(1, 10);
        thread.go_on(&reading(2, 7));
        assert_eq!((thread.queries(), thread.running), (3, 1));
    }
}

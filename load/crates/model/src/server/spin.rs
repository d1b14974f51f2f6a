//! Work that takes a given time, and returns how long it took.

use contend_reactor::clock::Ticks;

/// Spins and times, on any thread.
#[derive(Clone, Copy, Debug)]
pub struct Spinner {
    ticks: Ticks,
    per_ns: f64,
    /// A longer time between two readings was not spent on the CPU.
    gap_ticks: u64,
}

const GAP_NS: f64 = 10_000.0;

impl Spinner {
    /// By a counter whose speed was measured since it was begun.
    pub fn new(ticks: Ticks) -> Self {
        let per_ns = ticks.per_ns();
        Self {
            ticks,
            per_ns,
            gap_ticks: (GAP_NS * per_ns) as u64,
        }
    }

    #[inline]
    pub fn now(&self) -> u64 {
        self.ticks.now()
    }

    /// Ticks of `ns` nanoseconds.
    pub fn ticks(&self, ns: f64) -> u64 {
        // A cast from floating point saturates.
        (ns * self.per_ns) as u64
    }

    /// Keeps the CPU busy for at least `ticks` ticks; returns how many it took. A thread that is
    /// taken off its CPU meanwhile does the rest of its work later: longer gaps between two
    /// readings count as nothing done.
    #[inline]
    pub fn spin(&self, ticks: u64) -> u64 {
        let mut done = 0;
        let mut last = self.ticks.now();
        while done < ticks {
            std::hint::spin_loop();
            let now = self.ticks.now();
            let step = now.wrapping_sub(last);
            if step < self.gap_ticks {
                done += step;
            }
            last = now;
        }
        done
    }

    /// Executes `work`, and returns how many ticks it took.
    #[inline]
    pub fn timed<T>(&self, work: impl FnOnce() -> T) -> (T, u64) {
        let begun = self.ticks.now();
        let done = work();
        (done, self.ticks.now().wrapping_sub(begun))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_spins_no_less_than_it_was_told_and_says_what_it_was() {
        let ticks = Ticks::begin();
        std::thread::sleep(std::time::Duration::from_millis(10));
        let spinner = Spinner::new(ticks);
        for ns in [0.0, 100.0, 20_000.0] {
            let wanted = spinner.ticks(ns);
            let (spent, around) = spinner.timed(|| spinner.spin(wanted));
            assert!(
                spent >= wanted && around >= spent,
                "{ns}: {wanted} {spent} {around}"
            );
        }
        assert_eq!(spinner.spin(0), 0);
    }
}

//! How long before its time a sleeper must wake.
//!
//! The kernel wakes a thread some microseconds after the requested time, and the delay depends on
//! the host: a virtual CPU that has gone idle takes tens of them. So a line sleeps to a little
//! before the time and reads the clock for the rest. How little follows from the kernel's recent
//! lateness, so that no CPU time is spent on a punctual host. It is never more than
//! [`AHEAD_NS_MAX`] for one time.

/// Most CPU time that one wake-up may cost.
const AHEAD_NS_MAX: f64 = 60_000.0;
/// The estimate moves by at most this with each wake-up.
const STEP_NS: f64 = 2_000.0;
/// Share of the wake-ups that shall be in time.
const IN_TIME: f64 = 0.9;

/// An estimate of the 90th percentile of the kernel's lateness. It rises by 0.9 of a step when a
/// wake-up was later, and falls by 0.1 of it when one was earlier.
#[derive(Debug)]
pub struct Punctual {
    ahead_ns: f64,
}

impl Default for Punctual {
    fn default() -> Self {
        Self {
            ahead_ns: AHEAD_NS_MAX,
        }
    }
}

impl Punctual {
    /// When to wake for bytes that are due at `due_ns`.
    pub fn wake_ns(&self, due_ns: u64) -> u64 {
        due_ns.saturating_sub(self.ahead_ns as u64)
    }

    /// The kernel woke us `late_ns` later than asked.
    pub fn woken(&mut self, late_ns: u64) {
        let step_ns = match late_ns as f64 > self.ahead_ns {
            true => STEP_NS * IN_TIME,
            false => -STEP_NS * (1.0 - IN_TIME),
        };
        self.ahead_ns = (self.ahead_ns + step_ns).clamp(0.0, AHEAD_NS_MAX);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(lates_ns: impl Iterator<Item = u64>) -> u64 {
        let mut punctual = Punctual::default();
        lates_ns.for_each(|late_ns| punctual.woken(late_ns));
        1_000_000 - punctual.wake_ns(1_000_000)
    }

    #[test]
    fn a_punctual_kernel_costs_little_and_a_late_one_no_more_than_the_bound() {
        assert!(after(std::iter::repeat_n(1_000, 1_000)) < 5_000);
        let late_ns = after(std::iter::repeat_n(1_000_000, 1_000));
        assert_eq!(late_ns, AHEAD_NS_MAX as u64);
    }

    #[test]
    fn it_settles_where_nine_of_ten_are_in_time() {
        // Lateness runs evenly from 0 to 40 µs.
        let ahead_ns = after((0..20_000).map(|n| n * 7919 % 40_000));
        assert!((30_000..40_000).contains(&ahead_ns), "{ahead_ns}");
    }
}

//! Moments of entries: false clocks, and whole seconds divided.

/// A stamp this much before the last one is late, not false.
const LATE_US: i64 = 10_000_000;
/// No log is silent for longer while it goes on.
const SILENT_US: i64 = 86_400_000_000;
/// This many false stamps in a row, near one another, are the clock itself.
const STREAK: u32 = 8;

/// Compares the stamps of a log with one another. A client may set its session's clock (`SET
/// timestamp`), and the host's may be set back.
#[derive(Debug, Default)]
pub struct LogClock {
    last_us: Option<i64>,
    /// Added to all stamps, so that the recording's time never goes back far.
    shift_us: i64,
    streak: u32,
    streak_us: i64,
    /// Stamps that were replaced.
    pub false_stamps: u64,
    /// Times that the clock was set back.
    pub set_back: u64,
}

impl LogClock {
    /// The moment of a stamp. A false one gets the moment of the entry before it, and `true`.
    pub fn moment(&mut self, stamp_us: i64) -> (i64, bool) {
        let us = stamp_us.saturating_add(self.shift_us);
        let Some(last) = self.last_us else {
            self.last_us = Some(us);
            return (us, false);
        };
        if (last - LATE_US..=last.saturating_add(SILENT_US)).contains(&us) {
            self.streak = 0;
            self.last_us = Some(last.max(us));
            return (us, false);
        }
        let is_near = us.abs_diff(self.streak_us) <= LATE_US.unsigned_abs();
        self.streak = if is_near { self.streak + 1 } else { 1 };
        self.streak_us = us;
        if self.streak < STREAK {
            self.false_stamps += 1;
            return (last, true);
        }
        self.streak = 0;
        if us < last {
            self.set_back += 1;
            self.shift_us = self.shift_us.saturating_add(last - us);
            return (last, false);
        }
        self.last_us = Some(us);
        (us, false)
    }

    /// A different file begins: any time may have passed.
    pub fn next_file(&mut self) {
        self.streak = STREAK - 1;
    }

    /// The latest moment so far.
    pub fn last(&self) -> Option<i64> {
        self.last_us
    }
}

/// The moment of the entry at a place among those of one second.
pub fn within_second(second_us: i64, place: usize, count: usize) -> i64 {
    let part = (place as i64 + 1).saturating_mul(1_000_000) / (count as i64 + 1);
    second_us.saturating_add(part.min(999_999))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_false_stamp_changes_nothing_and_a_clock_set_back_is_followed() {
        let mut clock = LogClock::default();
        assert_eq!(clock.moment(100_000_000), (100_000_000, false));
        assert_eq!(clock.moment(99_999_000), (99_999_000, false));
        assert_eq!(clock.moment(5), (100_000_000, true));
        assert_eq!(clock.moment(i64::MAX), (100_000_000, true));
        assert_eq!(clock.moment(101_000_000), (101_000_000, false));
        for _ in 1..STREAK {
            assert!(clock.moment(50_000_000).1);
        }
        assert_eq!(clock.moment(50_000_000), (101_000_000, false));
        assert_eq!(clock.moment(50_500_000), (101_500_000, false));
        assert_eq!((clock.false_stamps, clock.set_back), (9, 1));
    }

    #[test]
    fn a_second_is_divided_in_order() {
        let moments: Vec<_> = (0..3).map(|place| within_second(7, place, 3)).collect();
        assert_eq!(moments, [250_007, 500_007, 750_007]);
    }
}

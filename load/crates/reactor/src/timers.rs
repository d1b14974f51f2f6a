//! Wake-up times of a worker's seats.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Timers of seats, soonest first. A timer cannot be cancelled. Its owner sets it with a `token`
/// and ignores the timer if the token is out of date by the time it is due.
#[derive(Debug, Default)]
pub struct Timers {
    heap: BinaryHeap<Reverse<(u64, usize, u64)>>,
}

impl Timers {
    pub fn set(&mut self, at_ns: u64, seat: usize, token: u64) {
        self.heap.push(Reverse((at_ns, seat, token)));
    }

    /// When the next timer is due.
    #[inline]
    pub fn next_ns(&self) -> Option<u64> {
        self.heap.peek().map(|Reverse((at_ns, _, _))| *at_ns)
    }

    /// Removes one timer that is due and returns the time it was set for, its seat and its token.
    #[inline]
    pub fn pop_due(&mut self, now_ns: u64) -> Option<(u64, usize, u64)> {
        if self.next_ns()? > now_ns {
            return None;
        }
        self.heap.pop().map(|Reverse(timer)| timer)
    }

    pub fn clear(&mut self) {
        self.heap.clear();
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn timers_come_in_order_and_not_before_their_time() {
        let mut timers = Timers::default();
        timers.set(30, 3, 0);
        timers.set(10, 1, 7);
        timers.set(20, 2, 0);
        assert_eq!(timers.next_ns(), Some(10));
        assert_eq!(timers.pop_due(9), None);
        assert_eq!(timers.pop_due(25), Some((10, 1, 7)));
        assert_eq!(timers.pop_due(25), Some((20, 2, 0)));
        assert_eq!(timers.pop_due(25), None);
        timers.clear();
        assert_eq!(timers.next_ns(), None);
    }
}

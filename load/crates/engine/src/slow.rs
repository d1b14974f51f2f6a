//! Slow events: noted one by one in a sampled slice, so that a sample of a thread can be tied to
//! the event that it worked for.

/// The most events of a worker that are noted in one slice.
const NOTED_MAX: usize = 16_384;

/// An event that took longer than was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlowEvent {
    /// The number by which the server knows the connection.
    pub connection: u64,
    pub intended_ns: u64,
    pub begun_ns: u64,
    pub ended_ns: u64,
}

/// The slow events of one worker's seats.
#[derive(Debug)]
pub(super) struct SlowEvents {
    over_ns: u64,
    /// The seat's index and the event, whose connection is not known yet.
    noted: Vec<(u32, SlowEvent)>,
}

impl SlowEvents {
    /// Nothing is slow until a limit is set.
    pub(super) fn none() -> Self {
        Self {
            over_ns: u64::MAX,
            noted: Vec::new(),
        }
    }

    /// Events that take longer are noted from now on; none if that is `u64::MAX`. Earlier notes are
    /// forgotten.
    pub(super) fn note_over(&mut self, over_ns: u64) {
        self.over_ns = over_ns;
        self.noted.clear();
        if over_ns < u64::MAX {
            // Now, and not between two requests.
            self.noted.reserve_exact(NOTED_MAX);
        }
    }

    /// An event of this seat has ended.
    #[inline]
    pub(super) fn see(&mut self, seat: u32, intended_ns: u64, begun_ns: u64, ended_ns: u64) {
        if ended_ns.saturating_sub(intended_ns) > self.over_ns {
            self.note(seat, intended_ns, begun_ns, ended_ns);
        }
    }

    #[cold]
    fn note(&mut self, seat: u32, intended_ns: u64, begun_ns: u64, ended_ns: u64) {
        if self.noted.len() < NOTED_MAX {
            let event = SlowEvent {
                connection: 0,
                intended_ns,
                begun_ns,
                ended_ns,
            };
            self.noted.push((seat, event));
        }
    }

    /// The noted events, with the connections that these seats have; events of a seat without one
    /// are left out.
    pub(super) fn take(&mut self, connection_of: impl Fn(u32) -> Option<u64>) -> Vec<SlowEvent> {
        let noted = self.noted.drain(..);
        let named = noted.filter_map(|(seat, event)| {
            let connection = connection_of(seat)?;
            Some(SlowEvent {
                connection,
                ..event
            })
        });
        named.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_takes_longer_is_noted_and_it_is_taken_once() {
        let mut slow = SlowEvents::none();
        slow.see(1, 0, 0, u64::MAX);
        slow.note_over(100);
        slow.see(1, 0, 10, 100);
        slow.see(1, 0, 10, 101);
        slow.see(2, 0, 10, 500);
        let taken = slow.take(|seat| (seat == 1).then_some(7));
        let expected = SlowEvent {
            connection: 7,
            intended_ns: 0,
            begun_ns: 10,
            ended_ns: 101,
        };
        assert_eq!(taken, [expected]);
        assert!(slow.take(|_| Some(1)).is_empty());
    }

    #[test]
    fn it_is_never_noted_more_than_there_is_room_for() {
        let mut slow = SlowEvents::none();
        slow.note_over(0);
        for _ in 0..NOTED_MAX + 5 {
            slow.see(1, 0, 0, 1);
        }
        assert_eq!(slow.take(|_| Some(1)).len(), NOTED_MAX);
    }
}

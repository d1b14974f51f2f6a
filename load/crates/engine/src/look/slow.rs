//! What threads did while the events that they worked for were among the slowest.

use super::EndedLook;
use super::files::ThreadState;
use crate::slow::SlowEvent;
use contend_figures::outcome::{SlowTimes, ThreadTimes};
use std::collections::BTreeMap;

/// The connection that each thread of a server serves.
pub type Connections = BTreeMap<u32, u64>;

/// Reads the rows of a statement that lists connections, each with its thread; rows without numbers
/// are left out.
pub fn connections_in(rows: &[Vec<Option<String>>]) -> Connections {
    let number = |cell: Option<&Option<String>>| cell?.as_deref()?.parse::<u64>().ok();
    let pairs = rows.iter().filter_map(|row| {
        let thread = u32::try_from(number(row.get(1))?).ok()?;
        Some((thread, number(row.first())?))
    });
    pairs.collect()
}

impl EndedLook {
    /// The times, with those of the slow events of its slice: all that took longer than `over_ns`.
    pub fn with_slow(
        self,
        connections: &Connections,
        events: &[SlowEvent],
        over_ns: u64,
    ) -> ThreadTimes {
        let slow = SlowTimes {
            over_us: over_ns as f64 / 1e3,
            events: events.len() as u64,
            response_us: mean_us(events, |one| one.ended_ns.saturating_sub(one.intended_ns)),
            lag_us: mean_us(events, |one| one.begun_ns.saturating_sub(one.intended_ns)),
            ..SlowTimes::default()
        };
        ThreadTimes {
            slow: Some(self.count(connections, events, slow)),
            ..self.times
        }
    }

    fn count(
        &self,
        connections: &Connections,
        events: &[SlowEvent],
        mut slow: SlowTimes,
    ) -> SlowTimes {
        let mut of_connection: BTreeMap<u64, Vec<&SlowEvent>> = BTreeMap::new();
        for event in events {
            of_connection
                .entry(event.connection)
                .or_default()
                .push(event);
        }
        for look in &self.sampled.found {
            let thread = self.threads.get(look.place as usize);
            let connection = thread.and_then(|thread| connections.get(thread));
            let theirs = connection.and_then(|connection| of_connection.get(connection));
            let during =
                |event: &&SlowEvent| (event.begun_ns..event.ended_ns).contains(&look.at_ns);
            if !theirs.is_some_and(|events| events.iter().any(during)) {
                continue;
            }
            slow.reads += 1;
            match look.found {
                ThreadState::Running => slow.running += 1,
                ThreadState::Receive | ThreadState::ReceiveAny => slow.idle += 1,
                other => {
                    if let Some(place) = super::place_of(other) {
                        *slow.blocked.entry(place.to_owned()).or_default() += 1;
                    }
                }
            }
        }
        slow
    }
}

fn mean_us(events: &[SlowEvent], time_ns: impl Fn(&SlowEvent) -> u64) -> f64 {
    if events.is_empty() {
        return 0.0;
    }
    let sum: u128 = events.iter().map(|event| u128::from(time_ns(event))).sum();
    sum as f64 / events.len() as f64 / 1e3
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::sampler::{Sampled, Sight};
    use super::*;

    fn event(connection: u64, begun_ns: u64, ended_ns: u64) -> SlowEvent {
        SlowEvent {
            connection,
            intended_ns: begun_ns - 10,
            begun_ns,
            ended_ns,
        }
    }

    #[test]
    fn a_look_counts_if_its_thread_worked_for_a_slow_event_then() {
        let sight = |place, found, at_ns| Sight {
            place,
            found,
            at_ns,
        };
        let found = vec![
            sight(0, ThreadState::Futex(1), 150),
            sight(0, ThreadState::Running, 199),
            sight(0, ThreadState::Receive, 100),
            // After it, of a thread that has none, and of an unknown one.
            sight(0, ThreadState::Disk, 200),
            sight(1, ThreadState::Disk, 150),
            sight(2, ThreadState::Disk, 150),
        ];
        let looked = EndedLook {
            times: ThreadTimes::default(),
            sampled: Sampled {
                found,
                ..Sampled::default()
            },
            threads: vec![11, 12, 13],
        };
        let connections = Connections::from([(11, 7), (12, 8)]);
        let events = [event(7, 100, 200), event(7, 300, 400), event(9, 100, 200)];
        let slow = looked.with_slow(&connections, &events, 90).slow.unwrap();
        assert_eq!((slow.reads, slow.running, slow.idle), (3, 1, 1));
        assert_eq!(slow.blocked.get("futex"), Some(&1));
        assert_eq!((slow.events, slow.over_us), (3, 0.09));
        assert_eq!((slow.response_us, slow.lag_us), (0.11, 0.01));
    }

    #[test]
    fn rows_that_are_no_numbers_name_no_connection() {
        let text = |text: &str| Some(text.to_owned());
        let rows = [
            vec![text("7"), text("11")],
            vec![text("8"), None],
            vec![text("x"), text("12")],
            vec![text("9")],
            vec![],
            vec![text("9"), text("99999999999")],
        ];
        assert_eq!(connections_in(&rows), Connections::from([(11, 7)]));
    }
}

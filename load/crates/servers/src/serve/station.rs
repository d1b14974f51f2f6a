//! A station: a fixed number of servers with a known service time. A query that finds all of them
//! busy waits in a queue.
//!
//! Queries are served in the order of receipt. So it is known at once when the answer to a query
//! leaves: its service begins when the first server is free, and takes the query's service time.
//! Nothing is simulated, and if the process sends one answer late, the next answers are not
//! delayed by that.
//!
//! While an answer is on its way to the client and the next query has not come, a server may be
//! idle. A client that always has a next query would lose that time with every query, and the
//! speed would also depend on the host's sockets and timers. So a turnaround may be granted: if a
//! client sends its next query within the turnaround, the query counts as received when the last
//! answer was due.

use super::number::Demand;
use contend_random::Stream;
use std::collections::BTreeSet;

/// The part of an event's stream that its service is drawn from. It is far from the parts that
/// the event's own values come from, should the load and the server have the same seed.
const SERVICE_PART: u64 = u64::MAX;

/// How long each answer takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ServiceTime {
    /// As fast as possible.
    None,
    Fixed {
        ns: u64,
    },
    /// Exponential with this mean.
    Random {
        mean_ns: u64,
    },
}

impl ServiceTime {
    /// The time of an event: always the same for a seed and a number, so that anybody can know it.
    pub fn of_event(self, seed: u64, number: u64) -> u64 {
        self.drawn(&mut Stream::for_cycle(seed, number).part(SERVICE_PART))
    }

    pub(super) fn drawn(self, stream: &mut Stream) -> u64 {
        match self {
            Self::None => 0,
            Self::Fixed { ns } => ns,
            // A cast from floating point saturates.
            Self::Random { mean_ns } => (stream.exponential() * mean_ns as f64) as u64,
        }
    }
}

/// The servers and their queue; the module's comment explains them.
#[derive(Clone, Debug)]
pub struct Station {
    service: ServiceTime,
    seed: u64,
    turnaround_ns: u64,
    /// For each server, when it is free, and its number.
    free: BTreeSet<(u64, u32)>,
    /// How many events without a number were received; they are numbered by this count.
    received: u64,
    granted: Granted,
}

/// The turnarounds that were granted: how many, and how long they took together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Granted {
    pub queries: u64,
    pub sum_ns: u64,
}

impl Station {
    /// A station with `servers` servers that grants turnarounds of up to `turnaround_ns`.
    pub fn new(servers: u32, service: ServiceTime, seed: u64, turnaround_ns: u64) -> Self {
        Self {
            service,
            seed,
            turnaround_ns,
            free: (0..servers).map(|place| (0, place)).collect(),
            received: 0,
            granted: Granted::default(),
        }
    }

    /// When the answer to a query received at `now_ns` leaves. `last_ns` is when the last answer
    /// on the same connection was due; none before the first answer. Must be called in the order
    /// of receipt.
    pub fn leaves_ns(&mut self, now_ns: u64, last_ns: Option<u64>, asked: Demand) -> u64 {
        let Demand::Event(number) = asked else {
            return now_ns;
        };
        let number = number.unwrap_or_else(|| {
            self.received += 1;
            self.received - 1
        });
        let came_ns = self.came_ns(now_ns, last_ns);
        let service_ns = self.service.of_event(self.seed, number);
        let Some((free_ns, place)) = self.server_at(came_ns) else {
            return now_ns;
        };
        self.free.remove(&(free_ns, place));
        let leaves_ns = free_ns.max(came_ns).saturating_add(service_ns);
        self.free.insert((leaves_ns, place));
        leaves_ns
    }

    /// The server for a query that counts as received at `came_ns`: of the servers that are free
    /// by then, the one that was busy last. If none is free by then, the one that is free first.
    /// Any free server would do; those that have been free for longer are kept for queries that
    /// come later but, by a granted turnaround, count as received earlier.
    fn server_at(&self, came_ns: u64) -> Option<(u64, u32)> {
        let free = self.free.range(..=(came_ns, u32::MAX)).next_back();
        free.or_else(|| self.free.first()).copied()
    }

    /// When a query counts as received: if a turnaround is granted, when the last answer was due.
    fn came_ns(&mut self, now_ns: u64, last_ns: Option<u64>) -> u64 {
        let Some(last_ns) = last_ns else {
            return now_ns;
        };
        let since_ns = now_ns.saturating_sub(last_ns);
        if since_ns == 0 || since_ns > self.turnaround_ns {
            return now_ns;
        }
        self.granted.queries += 1;
        self.granted.sum_ns += since_ns;
        last_ns
    }

    pub fn granted(&self) -> Granted {
        self.granted
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    const CONSTANT: ServiceTime = ServiceTime::Fixed { ns: 100 };
    const EXPONENTIAL: ServiceTime = ServiceTime::Random { mean_ns: 1_000 };
    const UNNUMBERED: Demand = Demand::Event(None);

    #[test]
    fn so_many_are_served_at_a_time_and_the_rest_queue() {
        let mut station = Station::new(2, CONSTANT, 1, 0);
        let leave: Vec<u64> = [0, 10, 20, 30, 500]
            .map(|at_ns| station.leaves_ns(at_ns, None, UNNUMBERED))
            .to_vec();
        assert_eq!(leave, [100, 110, 200, 210, 600]);
    }

    #[test]
    fn settling_in_takes_no_server_and_no_number() {
        let mut station = Station::new(1, EXPONENTIAL, 1, 0);
        assert_eq!(station.leaves_ns(7, None, Demand::Settings), 7);
        let first_ns = EXPONENTIAL.of_event(1, 0);
        assert_eq!(station.leaves_ns(7, None, UNNUMBERED), 7 + first_ns);
    }

    #[test]
    fn a_number_draws_its_own_time_and_the_order_of_receipt_stands_in_for_none() {
        let alone =
            |number| Station::new(1, EXPONENTIAL, 3, 0).leaves_ns(0, None, Demand::Event(number));
        let drawn: Vec<u64> = (0..50).map(|n| alone(Some(n))).collect();
        assert_eq!(alone(Some(7)), alone(Some(7)));
        assert_ne!(drawn[0], drawn[1]);
        let mut station = Station::new(200, EXPONENTIAL, 3, 0);
        for expected in &drawn {
            assert_eq!(station.leaves_ns(0, None, UNNUMBERED), *expected);
            // What carries a number does not move the count of the others.
            assert_eq!(station.leaves_ns(0, None, Demand::Event(Some(7))), drawn[7]);
        }
    }

    #[test]
    fn a_turnaround_is_granted_up_to_its_length() {
        let mut station = Station::new(1, CONSTANT, 1, 30);
        assert_eq!(station.leaves_ns(500, None, UNNUMBERED), 600);
        // As if it had come when the last answer was due.
        assert_eq!(station.leaves_ns(630, Some(600), UNNUMBERED), 700);
        assert_eq!(station.leaves_ns(731, Some(700), UNNUMBERED), 831);
        // Received before the last answer was due: it waits in the queue, without a turnaround.
        assert_eq!(station.leaves_ns(800, Some(831), UNNUMBERED), 931);
        let granted = Granted {
            queries: 1,
            sum_ns: 30,
        };
        assert_eq!(station.granted(), granted);
        let mut strict = Station::new(1, CONSTANT, 1, 0);
        assert_eq!(strict.leaves_ns(1, None, UNNUMBERED), 101);
    }

    #[test]
    fn the_first_query_has_no_answer_before_it_however_young_the_clock() {
        let mut station = Station::new(1, CONSTANT, 1, 1_000_000);
        // The clock of a host that has just been started is below the turnaround.
        assert_eq!(station.leaves_ns(500, None, UNNUMBERED), 600);
        assert_eq!(station.granted(), Granted::default());
        // An answer that was due at 0 counts as an answer.
        assert_eq!(station.leaves_ns(700, Some(0), UNNUMBERED), 700);
        assert_eq!(station.granted().queries, 1);
    }

    #[test]
    fn who_always_asks_again_in_time_gets_the_whole_speed() {
        let mut station = Station::new(4, EXPONENTIAL, 2, 1_000_000);
        // When each connection's last answer was due, and when it asks again.
        let mut connections = [(None, 0u64); 4];
        for number in 0..4_000u64 {
            let next = connections.iter_mut().min_by_key(|(_, asks_ns)| *asks_ns);
            let (due_ns, asks_ns) = next.unwrap();
            let leaves_ns = station.leaves_ns(*asks_ns, *due_ns, Demand::Event(Some(number)));
            *due_ns = Some(leaves_ns);
            // Turnarounds of very different length: the first to be answered often asks last.
            *asks_ns = leaves_ns.max(*asks_ns) + number * 7919 % 500 + 1;
        }
        let served: u64 = (0..4_000)
            .map(|number| EXPONENTIAL.of_event(2, number))
            .sum();
        assert_eq!(
            connections
                .iter()
                .filter_map(|(due_ns, _)| *due_ns)
                .sum::<u64>(),
            served
        );
    }

    /// The same rule, implemented simply: each query takes the server that is free first.
    fn slowly(servers: usize, arrivals: &[u64], service: impl Fn(u64) -> u64) -> Vec<u64> {
        let mut free = vec![0u64; servers];
        arrivals
            .iter()
            .enumerate()
            .map(|(number, at_ns)| {
                let place = (0..servers).min_by_key(|place| free[*place]).unwrap();
                free[place] = free[place].max(*at_ns) + service(number as u64);
                free[place]
            })
            .collect()
    }

    proptest! {
        #[test]
        fn first_come_is_first_served(
            mut arrivals in proptest::collection::vec(0..50_000u64, 1..200),
            servers in 1..9u32,
            seed: u64,
        ) {
            arrivals.sort_unstable();
            let mut station = Station::new(servers, EXPONENTIAL, seed, 0);
            let leave: Vec<u64> =
                arrivals.iter().map(|at_ns| station.leaves_ns(*at_ns, None, UNNUMBERED)).collect();
            let service = |number| EXPONENTIAL.of_event(seed, number);
            prop_assert_eq!(&leave, &slowly(servers as usize, &arrivals, service));
            // No query begins before one that was received earlier.
            let begins: Vec<u64> =
                leave.iter().zip(0..).map(|(at_ns, number)| at_ns - service(number)).collect();
            prop_assert!(begins.is_sorted());
        }
    }
}

//! A server of a known speed: so many queries are served at a time, the others queue.
//!
//! Queries are served in the order of receipt. When one leaves is therefore known as soon as it
//! comes: it begins when the first of the servers is free, and takes its time. Nothing is
//! simulated, and what the process is late with one answer it does not add to the next.
//!
//! What it cannot do is serve while an answer is on its way and the next query has not come. A
//! load that always has something to ask would lose that time again and again, and the speed would
//! be that of the host's sockets and timers as well. So a turnaround may be granted: who asks again
//! within it is served as if the query had come when the answer to the last one was due.

use super::number::Asked;
use super::service::ServiceTime;
use std::collections::BTreeSet;

/// See the module's words.
#[derive(Clone, Debug)]
pub struct Station {
    service: ServiceTime,
    seed: u64,
    turnaround_ns: u64,
    /// When each server is free, and its place.
    free: BTreeSet<(u64, u32)>,
    /// Events that carried no number.
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
    /// `servers` of them, who grant turnarounds of up to `turnaround_ns`.
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

    /// When the answer to what came at `now_ns` leaves, if the last answer on the same connection
    /// was due at `last_ns`; none if there was no answer yet. Must be asked in the order of
    /// receipt.
    pub fn leaves_ns(&mut self, now_ns: u64, last_ns: Option<u64>, asked: Asked) -> u64 {
        let Asked::Event(number) = asked else {
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

    /// Of the servers that are free by then the one that was last busy, else the one that is free
    /// first. Any free server would serve as soon; those that have been free for longer are left
    /// for queries that come later and count as come earlier.
    fn server_at(&self, came_ns: u64) -> Option<(u64, u32)> {
        let free = self.free.range(..=(came_ns, u32::MAX)).next_back();
        free.or_else(|| self.free.first()).copied()
    }

    /// When a query counts as come.
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
    const UNNUMBERED: Asked = Asked::Event(None);

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
        assert_eq!(station.leaves_ns(7, None, Asked::Settings), 7);
        let first_ns = EXPONENTIAL.of_event(1, 0);
        assert_eq!(station.leaves_ns(7, None, UNNUMBERED), 7 + first_ns);
    }

    #[test]
    fn a_number_draws_its_own_time_and_the_order_of_receipt_stands_in_for_none() {
        let alone =
            |number| Station::new(1, EXPONENTIAL, 3, 0).leaves_ns(0, None, Asked::Event(number));
        let drawn: Vec<u64> = (0..50).map(|n| alone(Some(n))).collect();
        assert_eq!(alone(Some(7)), alone(Some(7)));
        assert_ne!(drawn[0], drawn[1]);
        let mut station = Station::new(200, EXPONENTIAL, 3, 0);
        for expected in &drawn {
            assert_eq!(station.leaves_ns(0, None, UNNUMBERED), *expected);
            // What carries a number does not move the count of the others.
            assert_eq!(station.leaves_ns(0, None, Asked::Event(Some(7))), drawn[7]);
        }
    }

    #[test]
    fn a_turnaround_is_granted_up_to_its_length() {
        let mut station = Station::new(1, CONSTANT, 1, 30);
        assert_eq!(station.leaves_ns(500, None, UNNUMBERED), 600);
        // As if it had come when the last answer was due.
        assert_eq!(station.leaves_ns(630, Some(600), UNNUMBERED), 700);
        assert_eq!(station.leaves_ns(731, Some(700), UNNUMBERED), 831);
        // Asked before the last answer: it has waited for its turn, not for the client.
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
        // An answer that was due at 0 is one.
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
            let leaves_ns = station.leaves_ns(*asks_ns, *due_ns, Asked::Event(Some(number)));
            *due_ns = Some(leaves_ns);
            // Ways of very different length: who was answered first often asks last.
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

    /// The same discipline, slowly: each query takes the server that is free first.
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
            // Nobody begins before somebody who came earlier.
            let begins: Vec<u64> =
                leave.iter().zip(0..).map(|(at_ns, number)| at_ns - service(number)).collect();
            prop_assert!(begins.is_sorted());
        }
    }
}

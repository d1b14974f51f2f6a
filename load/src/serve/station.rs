//! A server of a known speed: so many queries are served at a time, the others queue.
//!
//! Queries are served in the order of receipt. When one leaves is therefore known as soon as it
//! comes: it begins when the first of the servers is free, and takes its time. Nothing is
//! simulated, and what the process is late with one answer it does not add to the next.

use super::number::Asked;
use super::pace::ServiceTime;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// See the module's words.
#[derive(Clone, Debug)]
pub struct Station {
    service: ServiceTime,
    seed: u64,
    turnaround_ns: u64,
    /// When each server is free, the first one on top.
    free_ns: BinaryHeap<Reverse<u64>>,
    /// Events that carried no number.
    received: u64,
}

impl Station {
    /// `servers` of them. Each service is cut short by `turnaround_ns`: the way from a server to
    /// the client and back, during which a client that asks again at once cannot be served, then
    /// takes no capacity away.
    pub fn new(servers: u32, service: ServiceTime, seed: u64, turnaround_ns: u64) -> Self {
        Self {
            service,
            seed,
            turnaround_ns,
            free_ns: (0..servers).map(|_| Reverse(0)).collect(),
            received: 0,
        }
    }

    /// When the answer to what came at `now_ns` leaves. Must be asked in the order of receipt.
    pub fn leaves_ns(&mut self, now_ns: u64, asked: Asked) -> u64 {
        let Asked::Event(number) = asked else {
            return now_ns;
        };
        let number = number.unwrap_or_else(|| {
            self.received += 1;
            self.received - 1
        });
        let drawn_ns = self.service.of_event(self.seed, number);
        let service_ns = drawn_ns.saturating_sub(self.turnaround_ns);
        let Some(mut first) = self.free_ns.peek_mut() else {
            return now_ns;
        };
        let leaves_ns = first.0.max(now_ns).saturating_add(service_ns);
        *first = Reverse(leaves_ns);
        leaves_ns
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
            .map(|at_ns| station.leaves_ns(at_ns, UNNUMBERED))
            .to_vec();
        assert_eq!(leave, [100, 110, 200, 210, 600]);
    }

    #[test]
    fn settling_in_takes_no_server_and_no_number() {
        let mut station = Station::new(1, EXPONENTIAL, 1, 0);
        assert_eq!(station.leaves_ns(7, Asked::Settings), 7);
        let first_ns = EXPONENTIAL.of_event(1, 0);
        assert_eq!(station.leaves_ns(7, UNNUMBERED), 7 + first_ns);
    }

    #[test]
    fn a_number_draws_its_own_time_and_the_order_of_receipt_stands_in_for_none() {
        let alone = |number| Station::new(1, EXPONENTIAL, 3, 0).leaves_ns(0, Asked::Event(number));
        let drawn: Vec<u64> = (0..50).map(|n| alone(Some(n))).collect();
        let mut station = Station::new(50, EXPONENTIAL, 3, 0);
        for (number, expected) in drawn.iter().enumerate() {
            // What carries a number does not move the count of the others.
            assert_eq!(station.leaves_ns(0, Asked::Event(Some(7))), drawn[7]);
            let mut fresh = station.clone();
            fresh.free_ns.push(Reverse(0));
            assert_eq!(fresh.leaves_ns(0, UNNUMBERED), *expected, "{number}");
            station.received += 1;
            station.free_ns.push(Reverse(0));
        }
        let mut distinct = drawn.clone();
        distinct.dedup();
        assert_eq!(distinct.len(), drawn.len());
    }

    #[test]
    fn the_way_there_and_back_is_taken_off_but_never_more_than_there_is() {
        let mut station = Station::new(1, CONSTANT, 1, 30);
        assert_eq!(station.leaves_ns(0, UNNUMBERED), 70);
        // Whoever asks again 30 later finds that one service has taken 100.
        assert_eq!(station.leaves_ns(100, UNNUMBERED), 170);
        let mut station = Station::new(1, CONSTANT, 1, 101);
        assert_eq!(station.leaves_ns(5, UNNUMBERED), 5);
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
                arrivals.iter().map(|at_ns| station.leaves_ns(*at_ns, UNNUMBERED)).collect();
            let service = |number| EXPONENTIAL.of_event(seed, number);
            prop_assert_eq!(&leave, &slowly(servers as usize, &arrivals, service));
            // Nobody begins before somebody who came earlier.
            let begins: Vec<u64> =
                leave.iter().zip(0..).map(|(at_ns, number)| at_ns - service(number)).collect();
            prop_assert!(begins.is_sorted());
        }
    }
}

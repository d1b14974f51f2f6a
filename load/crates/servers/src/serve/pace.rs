//! How long a server without work takes: the truth that a measurement is compared with.
//!
//! A service time is added to each answer, and all answers may stand still now and then, as when a
//! server stops. Both are known exactly, so a client's report of them can be checked. Or the number
//! of servers is limited, and requests beyond it wait: [`Station`].

use super::number::Demand;
use super::station::{Granted, ServiceTime, Station};
use contend_random::Stream;

/// All answers stand still for `length_ns`, every `every_ns`, the first time after that long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stalls {
    pub every_ns: u64,
    pub length_ns: u64,
}

/// When answers leave.
#[derive(Clone, Debug)]
pub struct ServicePace {
    service: ServiceTime,
    stalls: Option<Stalls>,
    begun_ns: u64,
    stream: Stream,
    station: Option<Station>,
}

impl ServicePace {
    /// Times count from `begun_ns`; `index` keeps the random times of workers apart.
    pub fn new(
        service: ServiceTime,
        stalls: Option<Stalls>,
        begun_ns: u64,
        seed: u64,
        index: u64,
    ) -> Self {
        Self {
            service,
            stalls: stalls.filter(|stalls| stalls.every_ns > 0 && stalls.length_ns > 0),
            begun_ns,
            stream: Stream::new(seed, index),
            station: None,
        }
    }

    /// Answers leave when the servers of a station complete them.
    pub fn of_station(station: Station) -> Self {
        Self {
            station: Some(station),
            ..Self::new(ServiceTime::None, None, 0, 0, 0)
        }
    }

    /// Nothing is ever held back, so the clock need not be read.
    pub fn is_none(&self) -> bool {
        self.service == ServiceTime::None && self.stalls.is_none() && self.station.is_none()
    }

    /// When the answer to a request that came at `now_ns` leaves, if the last answer on the same
    /// connection was due at `last_ns`; none if there was no answer yet. What the request `asked`
    /// is only looked at where it matters.
    pub fn leaves_ns(
        &mut self,
        now_ns: u64,
        last_ns: Option<u64>,
        asked: impl FnOnce() -> Demand,
    ) -> u64 {
        if let Some(station) = &mut self.station {
            return station.leaves_ns(now_ns, last_ns, asked());
        }
        let service_ns = self.service.drawn(&mut self.stream);
        self.after_stall(now_ns.saturating_add(service_ns))
    }

    /// The turnarounds that were granted; none without a station.
    pub fn granted(&self) -> Option<Granted> {
        self.station.as_ref().map(Station::granted)
    }

    /// The end of the stall that a time falls into, or the time.
    fn after_stall(&self, at_ns: u64) -> u64 {
        let Some(stalls) = self.stalls else {
            return at_ns;
        };
        let since = at_ns.saturating_sub(self.begun_ns);
        let into = since % stalls.every_ns;
        if since >= stalls.every_ns && into < stalls.length_ns {
            at_ns.saturating_add(stalls.length_ns - into)
        } else {
            at_ns
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const STALLS: Stalls = Stalls {
        every_ns: 1_000,
        length_ns: 200,
    };

    fn nothing() -> Demand {
        Demand::Event(None)
    }

    #[test]
    fn fixed_time_is_added_and_a_stall_holds_back() {
        let mut pace = ServicePace::new(ServiceTime::Fixed { ns: 50 }, Some(STALLS), 10_000, 1, 0);
        assert_eq!(pace.leaves_ns(10_000, None, nothing), 10_050);
        assert_eq!(pace.leaves_ns(10_949, None, nothing), 10_999);
        assert_eq!(pace.leaves_ns(10_950, None, nothing), 11_200);
        assert_eq!(pace.leaves_ns(11_149, None, nothing), 11_200);
        assert_eq!(pace.leaves_ns(11_150, None, nothing), 11_200);
        assert_eq!(pace.leaves_ns(11_151, None, nothing), 11_201);
        assert_eq!(pace.leaves_ns(12_000, None, nothing), 12_200);
    }

    #[test]
    fn random_time_has_the_mean_asked_for() {
        let mut pace = ServicePace::new(ServiceTime::Random { mean_ns: 1_000 }, None, 0, 1, 0);
        let sum: u64 = (0..100_000).map(|_| pace.leaves_ns(0, None, nothing)).sum();
        assert!((98_000_000..=102_000_000).contains(&sum), "{sum}");
    }

    #[test]
    fn an_event_of_a_seed_always_takes_the_same() {
        let service = ServiceTime::Random { mean_ns: 10_000 };
        let of_seed =
            |seed| -> Vec<u64> { (0..20_000).map(|n| service.of_event(seed, n)).collect() };
        let (drawn, other) = (of_seed(4), of_seed(5));
        assert_eq!(drawn, of_seed(4));
        assert_ne!(drawn, other);
        let mean = drawn.iter().sum::<u64>() as f64 / drawn.len() as f64;
        // The mean of 20,000 exponential times scatters by 0.7 %: four deviations.
        assert!((mean - 10_000.0).abs() < 283.0, "{mean}");
        assert_eq!(ServiceTime::Fixed { ns: 7 }.of_event(4, 9), 7);
    }

    #[test]
    fn a_station_decides_alone() {
        let fixed = ServiceTime::Fixed { ns: 50 };
        let mut pace = ServicePace::of_station(Station::new(1, fixed, 1, 0));
        assert!(!pace.is_none());
        assert_eq!(pace.leaves_ns(0, None, nothing), 50);
        assert_eq!(pace.leaves_ns(0, None, nothing), 100);
        assert_eq!(pace.leaves_ns(0, None, || Demand::Settings), 0);
    }

    #[test]
    fn no_pace_is_no_pace() {
        assert!(ServicePace::new(ServiceTime::None, None, 0, 1, 0).is_none());
        let empty = Stalls {
            every_ns: 5,
            length_ns: 0,
        };
        assert!(ServicePace::new(ServiceTime::None, Some(empty), 0, 1, 0).is_none());
        assert!(!ServicePace::new(ServiceTime::None, Some(STALLS), 0, 1, 0).is_none());
    }
}

//! How long a server without work takes: the truth that a measurement is compared with.
//!
//! A service time is added to each answer, and all answers may stand still now and then, as when a
//! server stops. Both are known exactly, so what a client reports of them can be checked.

use crate::random::Stream;

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

/// All answers stand still for `length_ns`, every `every_ns`, the first time after that long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stalls {
    pub every_ns: u64,
    pub length_ns: u64,
}

/// When answers leave.
#[derive(Clone, Debug)]
pub struct Pace {
    service: ServiceTime,
    stalls: Option<Stalls>,
    begun_ns: u64,
    stream: Stream,
}

impl Pace {
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
        }
    }

    /// Nothing is ever held back, so nobody needs to look at the clock.
    pub fn is_none(&self) -> bool {
        self.service == ServiceTime::None && self.stalls.is_none()
    }

    /// When the answer to a request that came at `now_ns` leaves.
    pub fn leaves_ns(&mut self, now_ns: u64) -> u64 {
        let service_ns = match self.service {
            ServiceTime::None => 0,
            ServiceTime::Fixed { ns } => ns,
            // A cast from floating point saturates.
            ServiceTime::Random { mean_ns } => (self.stream.exponential() * mean_ns as f64) as u64,
        };
        self.after_stall(now_ns.saturating_add(service_ns))
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

    #[test]
    fn fixed_time_is_added_and_a_stall_holds_back() {
        let mut pace = Pace::new(ServiceTime::Fixed { ns: 50 }, Some(STALLS), 10_000, 1, 0);
        assert_eq!(pace.leaves_ns(10_000), 10_050);
        assert_eq!(pace.leaves_ns(10_949), 10_999);
        assert_eq!(pace.leaves_ns(10_950), 11_200);
        assert_eq!(pace.leaves_ns(11_149), 11_200);
        assert_eq!(pace.leaves_ns(11_150), 11_200);
        assert_eq!(pace.leaves_ns(11_151), 11_201);
        assert_eq!(pace.leaves_ns(12_000), 12_200);
    }

    #[test]
    fn random_time_has_the_mean_asked_for() {
        let mut pace = Pace::new(ServiceTime::Random { mean_ns: 1_000 }, None, 0, 1, 0);
        let sum: u64 = (0..100_000).map(|_| pace.leaves_ns(0)).sum();
        assert!((98_000_000..=102_000_000).contains(&sum), "{sum}");
    }

    #[test]
    fn no_pace_is_no_pace() {
        assert!(Pace::new(ServiceTime::None, None, 0, 1, 0).is_none());
        let empty = Stalls {
            every_ns: 5,
            length_ns: 0,
        };
        assert!(Pace::new(ServiceTime::None, Some(empty), 0, 1, 0).is_none());
        assert!(!Pace::new(ServiceTime::None, Some(STALLS), 0, 1, 0).is_none());
    }
}

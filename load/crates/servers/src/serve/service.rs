//! How long the work for a query takes.

use contend_random::Stream;

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

//! Lines of cache that go from CPU to CPU.

use super::agenda::Ps;
use super::costs::{HostCosts, ps};

/// How long a line takes from one CPU to another, and how often lines went.
#[derive(Clone, Debug)]
pub struct Distances {
    near_ps: Ps,
    far_ps: Ps,
    near_cpus: u16,
    pub near: u64,
    pub far: u64,
}

impl Distances {
    pub fn new(costs: &HostCosts) -> Self {
        Self {
            near_ps: ps(costs.handover_near_ns),
            far_ps: ps(costs.handover_far_ns),
            near_cpus: costs.near_cpus.min(u32::from(u16::MAX)) as u16,
            near: 0,
            far: 0,
        }
    }

    pub fn are_near(&self, one: u16, other: u16) -> bool {
        self.near_cpus == 0 || one / self.near_cpus == other / self.near_cpus
    }

    /// A line goes over: how long that takes.
    fn go(&mut self, from: u16, to: u16) -> Ps {
        if self.are_near(from, to) {
            self.near += 1;
            self.near_ps
        } else {
            self.far += 1;
            self.far_ps
        }
    }
}

/// A line that is written to, so that only one CPU has it.
#[derive(Clone, Copy, Debug)]
pub struct SharedLine {
    /// The CPU that has it, or will have it when it has arrived; [`Self::NOBODY`] at first.
    at: u16,
    arrives_ps: Ps,
}

impl SharedLine {
    const NOBODY: u16 = u16::MAX;

    pub const fn new() -> Self {
        Self {
            at: Self::NOBODY,
            arrives_ps: 0,
        }
    }

    /// A CPU wants to write to it: how long until it can. CPUs that want it get it in turn.
    #[inline]
    pub fn take(&mut self, cpu: u16, now_ps: Ps, distances: &mut Distances) -> Ps {
        if self.at == cpu {
            return self.arrives_ps.saturating_sub(now_ps);
        }
        let goes_ps = match self.at {
            Self::NOBODY => 0,
            from => distances.go(from, cpu),
        };
        self.at = cpu;
        self.arrives_ps = self.arrives_ps.max(now_ps) + goes_ps;
        self.arrives_ps - now_ps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn distances() -> Distances {
        Distances::new(&HostCosts {
            handover_near_ns: 0.04,
            handover_far_ns: 0.3,
            near_cpus: 2,
            ..HostCosts::default()
        })
    }

    #[test]
    fn a_line_costs_what_its_way_costs_and_nothing_where_it_is() {
        let (mut line, mut distances) = (SharedLine::new(), distances());
        assert_eq!(line.take(0, 1_000, &mut distances), 0);
        assert_eq!(line.take(0, 2_000, &mut distances), 0);
        assert_eq!(line.take(1, 3_000, &mut distances), 40);
        assert_eq!(line.take(2, 4_000, &mut distances), 300);
        assert_eq!((distances.near, distances.far), (1, 1));
    }

    #[test]
    fn who_wants_a_line_that_is_under_way_gets_it_afterwards() {
        let (mut line, mut distances) = (SharedLine::new(), distances());
        line.take(0, 0, &mut distances);
        assert_eq!(line.take(1, 100, &mut distances), 40);
        assert_eq!(line.take(0, 110, &mut distances), 70);
        assert_eq!(line.take(0, 120, &mut distances), 60);
    }
}

//! The processes of a run: our own, and those of the servers that run on this host. What they have
//! used is read at the edges of the window, or of each slice.

use super::job::Setup;
use crate::counters::ProcessSnapshot;
use contend_figures::Sum;
use contend_figures::outcome::ProcessDelta;
use contend_reactor::clock;

/// Which processes are looked at: for each arm that of all its nodes together, and that of each
/// node with figures of its own.
#[derive(Clone, Debug)]
pub(super) struct Processes {
    arms: Vec<Of<Vec<u32>>>,
}

/// Something of one arm.
#[derive(Clone, Debug)]
pub(super) struct Of<T> {
    pub(super) server: T,
    pub(super) nodes: Vec<T>,
}

/// The usage of processes at one moment.
#[derive(Debug)]
pub(super) struct Look<T> {
    pub(super) at_ns: u64,
    client: Option<T>,
    /// One for each process; none if one of them is not there.
    arms: Vec<Of<Option<Vec<T>>>>,
}

/// All counters of a process.
pub(super) type Counters = Look<ProcessSnapshot>;
/// Its CPU time alone in ns, which is read while the load goes on.
pub(super) type Cpu = Look<u64>;

/// The usage of processes between two readings.
#[derive(Debug)]
pub(super) struct Used<D> {
    pub(super) client: Option<D>,
    pub(super) arms: Vec<Of<Option<D>>>,
}

impl Processes {
    pub(super) fn of(setup: &Setup) -> Self {
        let arms = setup.arms.iter().map(|arm| Of {
            server: arm.watch_pids.clone(),
            nodes: arm
                .named_nodes()
                .map(|node| node.watch_pids.clone())
                .collect(),
        });
        Self {
            arms: arms.collect(),
        }
    }

    pub(super) fn read(&self) -> Counters {
        self.look(ProcessSnapshot::take)
    }

    pub(super) fn read_cpu(&self) -> Cpu {
        self.look(clock::process_cpu_ns)
    }

    fn look<T>(&self, take: impl Fn(u32) -> Option<T>) -> Look<T> {
        let of_pids = |pids: &Vec<u32>| match pids.as_slice() {
            [] => None,
            pids => pids.iter().copied().map(&take).collect(),
        };
        Look {
            at_ns: clock::now_ns(),
            client: take(std::process::id()),
            arms: self.arms.iter().map(|arm| arm.map(of_pids)).collect(),
        }
    }
}

impl<T> Of<T> {
    fn map<U>(&self, change: impl Fn(&T) -> U) -> Of<U> {
        Of {
            server: change(&self.server),
            nodes: self.nodes.iter().map(change).collect(),
        }
    }
}

impl<T> Look<T> {
    fn since<D>(
        &self,
        before: &Self,
        used: impl Fn(&T, &T) -> D,
        sum: impl Fn(D, D) -> D,
    ) -> Used<D> {
        let pair = |before: &Option<Vec<T>>, after: &Option<Vec<T>>| {
            let both = before.as_ref()?.iter().zip(after.as_ref()?);
            both.map(|(before, after)| used(before, after)).reduce(&sum)
        };
        let client = self.client.as_ref().zip(before.client.as_ref());
        let arms = before.arms.iter().zip(&self.arms);
        Used {
            client: client.map(|(after, before)| used(before, after)),
            arms: arms
                .map(|(before, after)| Of {
                    server: pair(&before.server, &after.server),
                    nodes: {
                        let nodes = before.nodes.iter().zip(&after.nodes);
                        nodes.map(|(before, after)| pair(before, after)).collect()
                    },
                })
                .collect(),
        }
    }
}

impl Counters {
    pub(super) fn used_since(&self, before: &Self) -> Used<ProcessDelta> {
        self.since(before, ProcessSnapshot::until, |mut sum, one| {
            sum.merge(&one);
            sum
        })
    }
}

impl Cpu {
    /// In microseconds.
    pub(super) fn us_since(&self, before: &Self) -> Used<f64> {
        let used = |before: &u64, after: &u64| after.saturating_sub(*before) as f64 / 1e3;
        self.since(before, used, |sum, one| sum + one)
    }
}

impl<D: Clone + Default> Used<D> {
    /// By ourselves; by the server and the nodes of a run without arms.
    pub(super) fn alone(self) -> (D, Option<D>, Vec<Option<D>>) {
        let arm = self.arms.into_iter().next();
        let (server, nodes) = arm.map_or((None, Vec::new()), |arm| (arm.server, arm.nodes));
        (self.client.unwrap_or_default(), server, nodes)
    }

    /// The nodes of an arm that have figures of their own.
    pub(super) fn nodes_of(&self, arm: u16) -> Vec<Option<D>> {
        let arm = self.arms.get(usize::from(arm));
        arm.map_or(Vec::new(), |arm| arm.nodes.clone())
    }

    /// Each arm's server.
    pub(super) fn servers(self) -> Vec<Option<D>> {
        self.arms.into_iter().map(|arm| arm.server).collect()
    }
}

//! What a virtual run counted.

use super::agenda::Ps;
use super::lock::LockVisits;
use super::machine::Happened;
use super::server::QUERY;
use crate::SegmentCounts;
use serde_json::{Value, json};

/// Counts since the beginning, or between two readings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VirtualFigures {
    pub time_ps: Ps,
    /// The CPUs of the server; of the client too, if it has none of its own.
    pub cpus: u64,
    /// The sum for them.
    pub busy_ps: Ps,
    pub begun: u64,
    pub answered: u64,
    pub batches: u64,
    /// Points of a query.
    pub points: u32,
    /// How far all queries came, in units of [`QUERY`] for one.
    pub progress: u64,
    /// Answers that were sent on each connection.
    pub answers: Vec<u64>,
    pub server_ps: Ps,
    pub client_ps: Ps,
    pub happened: Happened,
    pub handovers_near: u64,
    pub handovers_far: u64,
    pub segments: Vec<SegmentFigures>,
}

/// The figures of one segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentFigures {
    pub lock: LockVisits,
    pub read_requests: u64,
    pub reads: u64,
}

impl SegmentFigures {
    pub fn new(lock: LockVisits, counters: SegmentCounts) -> Self {
        Self {
            lock,
            read_requests: counters.read_requests,
            reads: counters.reads,
        }
    }
}

impl VirtualFigures {
    /// The counts since an earlier reading.
    pub fn since(&self, before: &Self) -> Self {
        let (now, then) = (&self.happened, &before.happened);
        Self {
            time_ps: self.time_ps - before.time_ps,
            cpus: self.cpus,
            busy_ps: self.busy_ps - before.busy_ps,
            begun: self.begun - before.begun,
            answered: self.answered - before.answered,
            batches: self.batches - before.batches,
            points: self.points,
            progress: self.progress - before.progress,
            answers: (self.answers.iter().zip(&before.answers))
                .map(|(now, then)| now - then)
                .collect(),
            server_ps: self.server_ps - before.server_ps,
            client_ps: self.client_ps - before.client_ps,
            happened: Happened {
                wakes_idle: now.wakes_idle - then.wakes_idle,
                wakes_busy: now.wakes_busy - then.wakes_busy,
                switches: now.switches - then.switches,
                preemptions: now.preemptions - then.preemptions,
                steals: now.steals - then.steals,
            },
            handovers_near: self.handovers_near - before.handovers_near,
            handovers_far: self.handovers_far - before.handovers_far,
            segments: (self.segments.iter().zip(&before.segments))
                .map(|(now, then)| SegmentFigures {
                    lock: LockVisits {
                        visits: now.lock.visits - then.lock.visits,
                        waits: now.lock.waits - then.lock.waits,
                        sleeps: now.lock.sleeps - then.lock.sleeps,
                        wait_ps: now.lock.wait_ps - then.lock.wait_ps,
                        held_ps: now.lock.held_ps - then.lock.held_ps,
                    },
                    read_requests: now.read_requests - then.read_requests,
                    reads: now.reads - then.reads,
                })
                .collect(),
        }
    }

    pub fn seconds(&self) -> f64 {
        self.time_ps as f64 / 1e12
    }

    /// Queries answered a second.
    pub fn qps(&self) -> f64 {
        self.answered as f64 / self.seconds()
    }

    /// Points begun a second: `points` for a query, in equal parts as its keys are estimated and
    /// looked for.
    pub fn points_per_s(&self) -> f64 {
        self.progress as f64 / QUERY as f64 * f64::from(self.points) / self.seconds()
    }

    /// Visits to locks of segments.
    pub fn visits(&self) -> u64 {
        self.segments.iter().map(|one| one.lock.visits).sum()
    }

    /// The share of one query, in microseconds of CPU time.
    pub fn cpu_us(&self, ps: Ps) -> f64 {
        ps as f64 / 1e6 / self.answered.max(1) as f64
    }

    /// CPUs that were busy, on an average.
    pub fn cpus_busy(&self) -> f64 {
        self.busy_ps as f64 / self.time_ps.max(1) as f64
    }

    pub fn to_json(&self) -> Value {
        let a_query = |count: u64| count as f64 / self.answered.max(1) as f64;
        let us = |ps: Ps| ps as f64 / 1e6;
        let segments = self.segments.iter().map(|one| {
            json!({
                "visits": one.lock.visits,
                "waits": one.lock.waits,
                "sleeps": one.lock.sleeps,
                "wait_us": us(one.lock.wait_ps),
                "held_us": us(one.lock.held_ps),
                "read_requests": one.read_requests,
                "reads": one.reads,
            })
        });
        json!({
            "seconds": self.seconds(),
            "qps": self.qps(),
            "points_per_s": self.points_per_s(),
            "queries": self.answered,
            "answers_of_a_connection": {
                "min": self.answers.iter().min(),
                "max": self.answers.iter().max(),
            },
            "server_cpu_us_per_query": self.cpu_us(self.server_ps),
            "client_cpu_us_per_query": self.cpu_us(self.client_ps),
            "cpu_idle_share": 1.0 - self.cpus_busy() / self.cpus as f64,
            "visits_per_query": a_query(self.visits()),
            "waits_per_query": a_query(self.segments.iter().map(|one| one.lock.waits).sum()),
            "handovers_near_per_query": a_query(self.handovers_near),
            "handovers_far_per_query": a_query(self.handovers_far),
            "wakes_idle_per_query": a_query(self.happened.wakes_idle),
            "wakes_busy_per_query": a_query(self.happened.wakes_busy),
            "switches_per_query": a_query(self.happened.switches),
            "preemptions_per_query": a_query(self.happened.preemptions),
            "steals_per_query": a_query(self.happened.steals),
            "answers_per_batch": self.answered as f64 / self.batches.max(1) as f64,
            "segments": segments.collect::<Vec<_>>(),
        })
    }
}

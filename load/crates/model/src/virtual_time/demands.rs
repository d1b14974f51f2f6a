//! What each act takes: nanoseconds of CPU time, as a file of costs has them.

use super::agenda::Ps;
use super::costs::{check_times, ps};
use contend_random::Stream;
use serde::{Deserialize, Serialize};

/// Demands of the server and of the client. A value left out has the default.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Demands {
    /// A query besides its points: its bytes, the calls of the kernel, the answer.
    pub query_ns: f64,
    /// A point besides its pages and its row.
    pub point_ns: f64,
    /// The read lock of the index, once per walk; how long it takes if its cache line is local.
    pub enter_ns: f64,
    pub leave_ns: f64,
    /// The lock of a segment, if it is free and its cache line is local.
    pub lock_ns: f64,
    pub unlock_ns: f64,
    /// With the lock: a page is looked for, and released.
    pub find_ns: f64,
    pub release_ns: f64,
    /// What a visit takes besides, under the lock, if the cache is divided.
    pub segment_ns: f64,
    /// A page is copied, and searched.
    pub copy_ns: f64,
    pub search_ns: f64,
    pub row_ns: f64,
    /// How long the thread sleeps for a row, on average over all of them, and for a row whose page
    /// of the data file is not in memory.
    pub row_wait_ns: f64,
    pub disk_ns: f64,
    /// A page that is not cached: CPU time of reading it, and how long the thread sleeps for it.
    pub read_ns: f64,
    pub miss_ns: f64,
    /// Cache lines that go to another CPU with the lock of a segment, and with a block of it.
    pub lock_lines: u32,
    pub block_lines: u32,
    /// The client: an answer is read, the next request is made and sent, the kernel is asked for
    /// answers.
    pub client_answer_ns: f64,
    pub client_ask_ns: f64,
    pub client_wait_ns: f64,
    /// Each stretch of work between two steps takes its time times 1 - `spread` to 1 + `spread`.
    /// Without any, threads fall into step and never meet at a lock.
    pub spread: f64,
}

impl Default for Demands {
    fn default() -> Self {
        Self {
            query_ns: 20_000.0,
            point_ns: 1_500.0,
            enter_ns: 15.0,
            leave_ns: 15.0,
            lock_ns: 12.0,
            unlock_ns: 8.0,
            find_ns: 60.0,
            release_ns: 40.0,
            segment_ns: 5.0,
            copy_ns: 30.0,
            search_ns: 80.0,
            row_ns: 700.0,
            row_wait_ns: 0.0,
            disk_ns: 8_000_000.0,
            read_ns: 1_500.0,
            miss_ns: 0.0,
            lock_lines: 2,
            block_lines: 1,
            client_answer_ns: 2_500.0,
            client_ask_ns: 2_500.0,
            client_wait_ns: 500.0,
            spread: 0.5,
        }
    }
}

impl Demands {
    /// # Errors
    /// The name of a figure that is impossible.
    pub fn check(&self) -> Result<(), String> {
        check_times("demands", self)?;
        if self.row_wait_ns > self.disk_ns {
            let Self {
                row_wait_ns,
                disk_ns,
                ..
            } = self;
            return Err(format!(
                "demands.row_wait_ns: {row_wait_ns} on average is more than disk_ns, {disk_ns}"
            ));
        }
        match (0.0..=1.0).contains(&self.spread) {
            true => Ok(()),
            false => Err(format!(
                "demands.spread: {} is not between 0 and 1",
                self.spread
            )),
        }
    }

    /// Those of the server with a cache that is divided, or is not.
    pub fn of_server(&self, is_divided: bool) -> ServerPs {
        let divided_ns = if is_divided { self.segment_ns } else { 0.0 };
        ServerPs {
            query_ps: ps(self.query_ns),
            point_ps: ps(self.point_ns),
            enter_ps: ps(self.enter_ns),
            leave_ps: ps(self.leave_ns),
            lock_ps: ps(self.lock_ns),
            unlock_ps: ps(self.unlock_ns),
            find_ps: ps(self.find_ns + divided_ns),
            release_ps: ps(self.release_ns + divided_ns),
            copy_ps: ps(self.copy_ns),
            search_ps: ps(self.search_ns),
            row_ps: ps(self.row_ns),
            row_away_share: (self.row_wait_ns / self.disk_ns.max(1.0)).min(1.0),
            disk_ps: ps(self.disk_ns),
            read_ps: ps(self.read_ns),
            miss_ps: ps(self.miss_ns),
            lock_lines: self.lock_lines,
            block_lines: self.block_lines,
        }
    }

    pub fn of_client(&self) -> ClientPs {
        ClientPs {
            answer_ps: ps(self.client_answer_ns),
            ask_ps: ps(self.client_ask_ns),
            wait_ps: ps(self.client_wait_ns),
        }
    }
}

/// Those of the server, as the simulation counts.
#[derive(Clone, Debug)]
pub struct ServerPs {
    pub query_ps: Ps,
    pub point_ps: Ps,
    pub enter_ps: Ps,
    pub leave_ps: Ps,
    pub lock_ps: Ps,
    pub unlock_ps: Ps,
    pub find_ps: Ps,
    pub release_ps: Ps,
    pub copy_ps: Ps,
    pub search_ps: Ps,
    pub row_ps: Ps,
    /// The share of rows whose page is not in memory.
    pub row_away_share: f64,
    pub disk_ps: Ps,
    pub read_ps: Ps,
    pub miss_ps: Ps,
    pub lock_lines: u32,
    pub block_lines: u32,
}

/// Those of the client, as the simulation counts.
#[derive(Clone, Copy, Debug)]
pub struct ClientPs {
    pub answer_ps: Ps,
    pub ask_ps: Ps,
    pub wait_ps: Ps,
}

/// Varies how long things take.
#[derive(Debug)]
pub struct Variation {
    stream: Stream,
    least: u64,
    span: u64,
}

/// One, in the arithmetic of [`Variation`].
const ONE: f64 = 65_536.0;

impl Variation {
    pub fn new(spread: f64, stream: Stream) -> Self {
        Self {
            stream,
            least: ((1.0 - spread) * ONE) as u64,
            span: (2.0 * spread * ONE) as u64,
        }
    }

    #[inline]
    pub fn vary(&mut self, ps: Ps) -> Ps {
        if self.span == 0 {
            return ps;
        }
        let drawn = self.stream.next_u64() >> 48;
        (ps * (self.least + ((drawn * self.span) >> 16))) >> 16
    }

    /// Whether something happens that does so in this share of cases.
    #[inline]
    pub fn happens(&mut self, share: f64) -> bool {
        share > 0.0 && ((self.stream.next_u64() >> 32) as f64) < share * 4_294_967_296.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_varies_keeps_its_mean_and_its_bounds() {
        let mut spread = Variation::new(0.5, Stream::new(1, 0));
        let drawn: Vec<Ps> = (0..100_000).map(|_| spread.vary(1_000_000)).collect();
        assert!(drawn.iter().all(|ps| (500_000..=1_500_000).contains(ps)));
        let mean = drawn.iter().sum::<Ps>() as f64 / drawn.len() as f64;
        assert!((mean / 1e6 - 1.0).abs() < 0.005, "{mean}");
        assert_eq!(Variation::new(0.0, Stream::new(1, 0)).vary(17), 17);
    }

    #[test]
    fn the_defaults_can_be_meant_and_others_are_refused_by_name() {
        assert_eq!(Demands::default().check(), Ok(()));
        let wrong = Demands {
            copy_ns: -1.0,
            ..Demands::default()
        };
        assert!(
            wrong
                .check()
                .is_err_and(|words| words.contains("demands.copy_ns"))
        );
        let wrong = Demands {
            spread: 1.1,
            ..Demands::default()
        };
        assert!(
            wrong
                .check()
                .is_err_and(|words| words.contains("demands.spread"))
        );
    }
}

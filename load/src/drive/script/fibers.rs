//! Threads of a script on the event loop: a thousand of them need no thousand threads.

use super::{Job, Ran, Stage};
use crate::drive::clock::{nanoseconds, seconds_ns};
use crate::drive::job::{Codes, ErrorPolicy, Pacing, Setup, Watched};
use crate::drive::measured::Progress;
use crate::drive::{job, run};
use crate::lua::workload::ScriptWorkload;
use crate::outcome::Failure;
use crate::plan::Engine;
use std::sync::Arc;

/// Longest wait for one answer while threads begin.
const SETUP_ANSWER_S: f64 = 3600.0;

/// Runs events until the time is over or there are no more.
///
/// # Errors
/// A thread could not begin; or the loop cannot be had.
pub fn run(job: Job, tell: &mut dyn FnMut(Stage)) -> Result<Ran, Failure> {
    let script = Arc::clone(&job.run);
    let warmup = job.warmup;
    let measured = run::run(driver_job(job), &mut |progress| match progress {
        Progress::Ready { .. } => tell(Stage::Ready),
        Progress::Phase {
            name: "measure",
            at,
            ..
        } => tell(Stage::Measuring(at)),
        Progress::Phase { name: "end", .. } => {
            script.stop.end();
            tell(Stage::Over);
        }
        Progress::Phase { .. } | Progress::Interval { .. } | Progress::Slice(_) => {}
    })?;
    debug_assert!(warmup.is_zero() || measured.measured_ns > 0);
    Ok(Ran {
        unfinished: measured.unanswered,
        busiest_cpu_ns: measured.busiest_worker_cpu_ns,
    })
}

fn driver_job(job: Job) -> job::Job {
    let (server, more_servers) = job.servers.targets();
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get() as u32);
    job::Job {
        setup: Setup {
            server,
            more_servers,
            arms: Vec::new(),
            nodes: Vec::new(),
            workload: Arc::new(ScriptWorkload::new(Arc::clone(&job.run))),
            seats: job.threads,
            workers: cores.min(job.threads).max(1),
            seed: job.run.draws.seed,
            errors: ErrorPolicy {
                retry: Vec::new(),
                ignore: Codes::All,
                reconnect: true,
            },
            setup_timeout_ns: seconds_ns(SETUP_ANSWER_S),
            drain_ns: nanoseconds(job.drain),
            events_each: None,
            pacing: match job.run.dispenser.schedule() {
                Some(_) => Pacing::Open,
                None => Pacing::Closed {
                    think_ns: 0,
                    scatters: false,
                },
            },
            dispenser: Arc::clone(&job.run.dispenser),
            reconnect_every: None,
            idle_seats: 0,
            storm: false,
            answer_timeout_ns: None,
            // A script may connect to nothing at all, and says itself where it cannot.
            looks_first: false,
        },
        engine: Engine::Auto,
        warmup_ns: nanoseconds(job.warmup),
        measure_ns: job.time.map_or(u64::MAX, nanoseconds),
        interval_ns: 0,
        watched: Watched::default(),
        arms: None,
    }
}

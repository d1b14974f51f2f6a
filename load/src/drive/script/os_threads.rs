//! Threads of a script on threads of the operating system, as sysbench runs all of them.

use super::gate::Gate;
use super::ground::BlockingGround;
use super::{Job, Ran, Servers, Stage};
use crate::drive::clock;
use crate::drive::failure;
use crate::lua::fiber::NOT_READY;
use crate::lua::run::Run;
use crate::lua::thread::{self, Duty, End};
use crate::outcome::Failure;
use std::sync::Arc;
use std::time::Instant;

/// Runs events until the time is over or there are no more.
///
/// # Errors
/// A thread could not begin.
pub fn run(job: Job, tell: &mut dyn FnMut(Stage)) -> Result<Ran, Failure> {
    let gate = start(&job.run, &job.servers, job.threads, Duty::Events)?;
    if !gate.wait_until_ready(job.threads) {
        return Err(failure::plain(NOT_READY));
    }
    tell(Stage::Ready);
    let begun = Instant::now();
    job.run.dispenser.begin(clock::now_ns());
    let opened = begun + job.warmup;
    let deadline = job.time.map(|time| opened + time);
    gate.open(deadline);
    if !job.warmup.is_zero() {
        gate.wait_until_ended(job.threads, Some(opened));
    }
    tell(Stage::Measuring(opened));
    let mut unfinished = gate.wait_until_ended(job.threads, deadline);
    job.run.stop.end();
    tell(Stage::Over);
    if unfinished > 0 {
        unfinished = gate.wait_until_ended(job.threads, Some(Instant::now() + job.drain));
    }
    Ok(Ran { unfinished })
}

/// Runs the run's command on all of `threads`; true where all did it.
///
/// # Errors
/// The threads cannot be had.
pub fn run_command(run: &Arc<Run>, servers: &Servers, threads: u32) -> Result<bool, Failure> {
    let gate = start(run, servers, threads, Duty::Command)?;
    let ready = gate.wait_until_ready(threads);
    gate.open(None);
    gate.wait_until_ended(threads, None);
    Ok(ready && !run.stop.has_failed())
}

fn start(
    run: &Arc<Run>,
    servers: &Servers,
    threads: u32,
    duty: Duty,
) -> Result<Arc<Gate>, Failure> {
    let gate = Arc::new(Gate::default());
    let servers = Arc::new(servers.clone());
    for number in 0..threads {
        let (run, servers, gate) = (Arc::clone(run), Arc::clone(&servers), Arc::clone(&gate));
        let body = move || {
            let ground = BlockingGround::new(Arc::clone(&run), servers, Some(Arc::clone(&gate)));
            let end = thread::live(&run, number, number as usize, duty, Box::new(ground));
            gate.leave(end == End::NotReady);
        };
        std::thread::Builder::new()
            .name(format!("script-{number}"))
            .spawn(body)
            .map_err(|error| failure::plain(format!("starting a thread: {error}")))?;
    }
    Ok(gate)
}

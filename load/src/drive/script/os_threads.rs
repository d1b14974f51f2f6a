//! Threads of a script on threads of the operating system, as sysbench runs all of them.

use super::blocking_io::BlockingIo;
use super::cpu::CpuClocks;
use super::gate::Gate;
use super::{Job, Ran, Servers, Stage};
use crate::drive::clock;
use crate::drive::failure;
use crate::lua::fiber::NOT_READY;
use crate::lua::run::Run;
use crate::lua::thread::{self, Duty, End};
use crate::outcome::Failure;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

/// Runs events until the time is over or there are no more.
///
/// # Errors
/// A thread could not begin.
pub fn run(job: Job, tell: &mut dyn FnMut(Stage)) -> Result<Ran, Failure> {
    let cpu = Arc::new(CpuClocks::new(job.threads));
    let gate = start(&job.run, &job.servers, job.threads, Duty::Events, &cpu)?;
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
    let opened_ns = cpu.read_ns();
    let mut unfinished = gate.wait_until_ended(job.threads, deadline);
    let busiest_cpu_ns = cpu.busiest_since_ns(&opened_ns);
    job.run.stop.end();
    tell(Stage::Over);
    if unfinished > 0 {
        unfinished = gate.wait_until_ended(job.threads, Some(Instant::now() + job.drain));
    }
    Ok(Ran {
        unfinished,
        busiest_cpu_ns,
    })
}

/// Runs the run's command on all of `threads`; true where all did it.
///
/// # Errors
/// The threads cannot be had.
pub fn run_command(run: &Arc<Run>, servers: &Servers, threads: u32) -> Result<bool, Failure> {
    let cpu = Arc::new(CpuClocks::new(threads));
    let gate = start(run, servers, threads, Duty::Command, &cpu)?;
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
    cpu: &Arc<CpuClocks>,
) -> Result<Arc<Gate>, Failure> {
    let gate = Arc::new(Gate::default());
    let servers = Arc::new(servers.clone());
    for number in 0..threads {
        let (run, servers, gate) = (Arc::clone(run), Arc::clone(&servers), Arc::clone(&gate));
        let cpu = Arc::clone(cpu);
        let body = move || {
            cpu.begin(number);
            let io = BlockingIo::new(Arc::clone(&run), servers, Some(Arc::clone(&gate)));
            let live = || thread::live(&run, number, number as usize, duty, Box::new(io));
            let failed = has_failed(&run, number, live);
            cpu.end(number);
            gate.leave(failed);
        };
        std::thread::Builder::new()
            .name(format!("script-{number}"))
            .spawn(body)
            .map_err(|error| failure::plain(format!("starting a thread: {error}")))?;
    }
    Ok(gate)
}

/// Lives a thread's life; true where it never got ready, or panicked. The others wait at the gate,
/// so it must leave whatever its life comes to.
fn has_failed(run: &Run, number: u32, live: impl FnOnce() -> End) -> bool {
    let panic = match catch_unwind(AssertUnwindSafe(live)) {
        Ok(end) => return end == End::NotReady,
        Err(panic) => panic,
    };
    let who = format!("thread {number} of the script");
    run.log.fatal(&failure::of_panic(&who, &*panic).message);
    run.stop.fail();
    true
}

#[cfg(test)]
mod tests {
    #![allow(clippy::panic)]
    use super::*;
    use crate::lua::testing::run_of;

    #[test]
    fn a_panic_is_said_and_ends_the_run() {
        let run = run_of("", 1);
        assert!(!has_failed(&run, 0, || End::Done));
        assert!(has_failed(&run, 0, || End::NotReady));
        assert!(!run.stop.has_failed());
        assert!(has_failed(&run, 0, || panic!("as the test wants")));
        assert!(run.stop.has_failed());
        let said = run.log.fatal_messages();
        assert_eq!(said, ["thread 0 of the script panicked: as the test wants"]);
    }
}

//! Threads of a script on threads of the operating system, as sysbench runs all of them.

use super::Servers;
use super::blocking_io::{BlockingIo, Gang};
use super::cpu::CpuClocks;
use super::recorder::Recorder;
use crate::lua::run::Run;
use crate::lua::thread::{self, Duty, End};
use crate::outcome::Failure;
use crate::record::{Tally, TallyShape};
use crate::talk::failure;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// Runs the run's command on all of `threads`; true if all did it.
///
/// # Errors
/// The threads cannot be had.
pub fn run_command(run: &Arc<Run>, servers: &Servers, threads: u32) -> Result<bool, Failure> {
    let cpu = Arc::new(CpuClocks::new(threads));
    let nothing = Tally::new(TallyShape::default());
    let gate = start(run, servers, threads, Duty::Command, &cpu, &nothing)?.gate;
    let ready = gate.wait_until_ready(threads);
    gate.open(None);
    gate.wait_until_ended(threads, None);
    Ok(ready && !run.stop.has_failed())
}

/// Starts the threads of a run; each records in a tally like `empty`.
///
/// # Errors
/// The threads cannot be had.
pub fn start(
    run: &Arc<Run>,
    servers: &Servers,
    threads: u32,
    duty: Duty,
    cpu: &Arc<CpuClocks>,
    empty: &Tally,
) -> Result<Gang, Failure> {
    let gang = Gang {
        gate: Arc::default(),
        recorder: Arc::new(Recorder::new(threads, empty)),
    };
    let servers = Arc::new(servers.clone());
    for number in 0..threads {
        let (run, servers, gang) = (Arc::clone(run), Arc::clone(&servers), gang.clone());
        let (cpu, gate) = (Arc::clone(cpu), Arc::clone(&gang.gate));
        let body = move || {
            cpu.begin(number);
            let io = BlockingIo::new(Arc::clone(&run), servers, Some((number, gang)));
            let live = || thread::live(&run, number, duty, Box::new(io));
            let failed = has_failed(&run, number, live);
            cpu.end(number);
            gate.leave(failed);
        };
        std::thread::Builder::new()
            .name(format!("script-{number}"))
            .spawn(body)
            .map_err(|error| Failure::plain(format!("starting a thread: {error}")))?;
    }
    Ok(gang)
}

/// Lives a thread's life; true if it never got ready, or panicked. The others wait at the gate,
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

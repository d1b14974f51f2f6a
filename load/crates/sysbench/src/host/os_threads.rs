//! Threads of a script on threads of the operating system, as sysbench runs all of them.

use super::Servers;
use super::blocking_io::{BlockingIo, Gang};
use super::cpu::CpuClocks;
use super::gate::Gate;
use super::recorder::Recorder;
use crate::lua::native_stack::STACK_BYTES;
use crate::lua::run::Run;
use crate::lua::thread;
use crate::lua::thread::{Duty, End};
use contend_client::failure;
use contend_engine::messages::Mailbox;
use contend_figures::TallyShape;
use contend_figures::outcome::Failure;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// Runs the run's command on all of `threads`; true if all did it.
///
/// # Errors
/// The threads cannot be created.
pub fn run_command(run: &Arc<Run>, servers: &Servers, threads: u32) -> Result<bool, Failure> {
    let mailbox = Mailbox::new().map(Arc::new).map_err(not_started)?;
    let nothing = TallyShape::default();
    let gang = start(run, servers, threads, Duty::Command, mailbox, nothing);
    let gate = &gang.map_err(not_started)?.gate;
    let mut seen = gate.watch(0);
    while !seen.is_settled(threads) {
        seen = gate.watch(u64::MAX);
    }
    let failed = seen.failed;
    gate.open(u64::MAX);
    while seen.ended < threads {
        seen = gate.watch(u64::MAX);
    }
    Ok(!failed && !run.stop.has_failed())
}

fn not_started(error: io::Error) -> Failure {
    Failure::plain(format!("starting a thread: {error}"))
}

/// Starts the threads of a run, which record in tallies of this shape. The bell of the mailbox is
/// rung when one gets ready or ends.
///
/// # Errors
/// The threads cannot be created.
pub fn start(
    run: &Arc<Run>,
    servers: &Servers,
    threads: u32,
    duty: Duty,
    mailbox: Arc<Mailbox>,
    shape: TallyShape,
) -> io::Result<Arc<Gang>> {
    let gang = Arc::new(Gang {
        gate: Gate::new(mailbox)?,
        recorder: Recorder::new(threads, shape),
        cpu: CpuClocks::new(threads),
    });
    let servers = Arc::new(servers.clone());
    for number in 0..threads {
        let (run, servers, gang) = (Arc::clone(run), Arc::clone(&servers), Arc::clone(&gang));
        let body = move || {
            gang.cpu.begin(number);
            let told = Some((number, Arc::clone(&gang)));
            let io = BlockingIo::new(Arc::clone(&run), servers, told);
            let live = || thread::live(&run, number, duty, Box::new(io));
            let failed = has_failed(&run, number, live);
            gang.cpu.end(number);
            gang.gate.leave(failed);
        };
        std::thread::Builder::new()
            .name(format!("script-{number}"))
            .stack_size(STACK_BYTES)
            .spawn(body)?;
    }
    Ok(gang)
}

/// Runs a thread from start to end; true if it never got ready, or panicked. The others wait at the
/// gate, so it must leave however it ends.
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

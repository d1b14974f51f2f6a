//! Commands of a script that all its threads share, on threads of the operating system.

use super::Servers;
use super::blocking_io::BlockingIo;
use crate::lua::native_stack::STACK_BYTES;
use crate::lua::run::Run;
use crate::lua::thread;
use contend_client::failure;
use contend_figures::outcome::Failure;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// Runs the run's command on all of `threads`; true if all did it.
///
/// # Errors
/// The threads cannot be created.
pub fn run_command(run: &Arc<Run>, servers: &Servers, threads: u32) -> Result<bool, Failure> {
    let servers = Arc::new(servers.clone());
    let start = |number| {
        let (run, servers) = (Arc::clone(run), Arc::clone(&servers));
        let body = move || {
            let io = BlockingIo::new(Arc::clone(&run), servers);
            did(&run, number, || {
                thread::run_command(&run, number, Box::new(io))
            })
        };
        let thread = std::thread::Builder::new().name(format!("script-{number}"));
        thread.stack_size(STACK_BYTES).spawn(body)
    };
    let started: Result<Vec<_>, _> = (0..threads).map(start).collect();
    let started = started.map_err(|error| Failure::plain(format!("starting a thread: {error}")))?;
    // All are waited for, whichever fails.
    let done = started
        .into_iter()
        .map(|thread| thread.join().unwrap_or(false));
    Ok(done.filter(|did| !did).count() == 0)
}

/// Runs a thread from start to end; true if it did the command.
fn did(run: &Run, number: u32, work: impl FnOnce() -> bool) -> bool {
    let panic = match catch_unwind(AssertUnwindSafe(work)) {
        Ok(done) => return done,
        Err(panic) => panic,
    };
    let who = format!("thread {number} of the script");
    run.log.fatal(&failure::of_panic(&who, &*panic).message);
    false
}

#[cfg(test)]
mod tests {
    #![allow(clippy::panic)]
    use super::*;
    use crate::lua::testing::run_of;

    #[test]
    fn a_panic_is_said_and_the_command_not_done() {
        let run = run_of("", 1);
        assert!(did(&run, 0, || true));
        assert!(!did(&run, 0, || false));
        assert!(!did(&run, 0, || panic!("as the test wants")));
        let said = run.log.fatal_messages();
        assert_eq!(said, ["thread 0 of the script panicked: as the test wants"]);
    }
}

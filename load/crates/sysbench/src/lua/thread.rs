//! The life of one thread of a script, wherever it runs.

use super::error::ScriptError;
use super::log::Level;
use super::run::Run;
use super::state::{Called, State};
use super::thread_io::ThreadIo;
use std::sync::Arc;

/// Runs the run's command on one of its threads; false, with a message, if that failed.
pub fn run_command(run: &Arc<Run>, thread: u32, io: Box<dyn ThreadIo>) -> bool {
    let Some(state) = set_up(run, thread, io, |_| Some(())) else {
        return false;
    };
    let did = call_command(&state, run);
    if let Err(error) = &did {
        say_failed(run, "sysbench.cmdline.call_command", error);
        run.stop.fail();
    }
    did.is_ok()
}

/// Begins the life of a thread that has events, up to where it waits for the others; none, with a
/// message, if it failed.
pub fn begin_events(run: &Arc<Run>, thread: u32, io: Box<dyn ThreadIo>) -> Option<State> {
    set_up(run, thread, io, |state| {
        let said = |error| say_failed(run, "thread_init", &error);
        state.call("thread_init", &[thread]).map_err(said).ok()?;
        run.figures.of(thread).set_running(true);
        let words = format!("Worker thread (#{thread}) initialized");
        run.log.say(Level::Debug, &words);
        Some(())
    })
}

fn set_up(
    run: &Arc<Run>,
    thread: u32,
    io: Box<dyn ThreadIo>,
    init: impl FnOnce(&State) -> Option<()>,
) -> Option<State> {
    run.log
        .say(Level::Debug, &format!("Worker thread (#{thread}) started"));
    let said = |error: ScriptError| run.log.fatal(&error.0);
    let begun = || {
        let state = State::new(Arc::clone(run), thread, io).map_err(said).ok()?;
        run.states.enter(thread, state.raw());
        begin(&state, run).map_err(said).ok()?;
        init(&state).map(|()| state)
    };
    let state = begun();
    if state.is_none() {
        let words = format!("Worker thread (#{thread}) failed to initialize!");
        run.log.say(Level::Debug, &words);
    }
    state
}

/// Waits for the others, and runs the rest of the life of a thread that has events.
pub fn go_on(mut state: State, run: &Run, thread: u32) {
    state.context().io.ready();
    run_events(&state, run, thread);
    run.figures.of(thread).set_running(false);
}

/// Runs the body of the script and shows it the options.
pub fn begin(state: &State, run: &Run) -> Result<(), ScriptError> {
    state.run_script()?;
    show_options(state, run)
}

/// Shows the options to a script whose body was run.
pub fn show_options(state: &State, run: &Run) -> Result<(), ScriptError> {
    state.show_options()?;
    match run.late.get().is_some_and(|late| late.exports_options) {
        true => state.export_options(),
        false => Ok(()),
    }
}

fn run_events(state: &State, run: &Run, thread: u32) {
    if let Err(error) = state.call("thread_run", &[thread]) {
        say_failed(run, "thread_run", &error);
        return run.stop.fail();
    }
    if let Err(error) = state.call("thread_done", &[thread]) {
        say_failed(run, "thread_done", &error);
    }
}

/// Calls the run's command as the script declares it.
pub fn call_command(state: &State, run: &Run) -> Result<(), ScriptError> {
    state.call_command(run.command.as_deref().unwrap_or_default())
}

/// Says that a function of the script failed, in the words that logs of sysbench have.
pub fn say_failed(run: &Run, function: &str, error: &ScriptError) {
    run.log
        .fatal(&format!("`{function}' function failed: {error}"));
}

/// Calls a function that the script may or may not have; a failure is reported.
pub fn call_if_there(state: &State, run: &Run, function: &str) -> Result<Called, ScriptError> {
    state
        .call(function, &[])
        .inspect_err(|error| say_failed(run, function, error))
}

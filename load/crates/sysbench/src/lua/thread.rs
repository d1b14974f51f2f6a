//! The life of one thread of a script, wherever it runs.

use super::error::ScriptError;
use super::log::Level;
use super::run::Run;
use super::state::{Called, State};
use super::thread_io::ThreadIo;
use std::sync::Arc;

/// The work of a run's threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Duty {
    /// Events, between thread_init and thread_done.
    Events,
    /// A command of the script that all threads share.
    Command,
}

/// The end of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Done,
    /// It failed before the load began, with a message.
    NotReady,
    /// It failed later, with a message, and the others end too.
    Failed,
}

/// Runs a thread's whole life: to be called where it may wait.
pub fn live(run: &Arc<Run>, thread: u32, duty: Duty, io: Box<dyn ThreadIo>) -> End {
    match set_up(run, thread, duty, io) {
        Some(state) => go_on(state, run, thread, duty),
        None => End::NotReady,
    }
}

/// Begins a thread's life, up to where it waits for the others; none, with a message, if it failed.
pub fn set_up(run: &Arc<Run>, thread: u32, duty: Duty, io: Box<dyn ThreadIo>) -> Option<State> {
    run.log
        .say(Level::Debug, &format!("Worker thread (#{thread}) started"));
    let state = set_up_quietly(run, thread, duty, io);
    if state.is_none() {
        let words = format!("Worker thread (#{thread}) failed to initialize!");
        run.log.say(Level::Debug, &words);
    }
    state
}

fn set_up_quietly(run: &Arc<Run>, thread: u32, duty: Duty, io: Box<dyn ThreadIo>) -> Option<State> {
    let said = |error: ScriptError| run.log.fatal(&error.0);
    let state = State::new(Arc::clone(run), thread, io).map_err(said).ok()?;
    run.states.enter(thread, state.raw());
    begin(&state, run).map_err(said).ok()?;
    if duty == Duty::Events {
        let said = |error| say_failed(run, "thread_init", &error);
        state.call("thread_init", &[thread]).map_err(said).ok()?;
        run.figures.of(thread).set_running(true);
        let words = format!("Worker thread (#{thread}) initialized");
        run.log.say(Level::Debug, &words);
    }
    Some(state)
}

/// Waits for the others, and runs the rest of a thread's life.
pub fn go_on(mut state: State, run: &Run, thread: u32, duty: Duty) -> End {
    state.context().io.ready();
    let end = match duty {
        Duty::Events => live_by_events(&state, run, thread),
        Duty::Command => live_by_command(&state, run),
    };
    run.figures.of(thread).set_running(false);
    end
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

fn live_by_events(state: &State, run: &Run, thread: u32) -> End {
    let ran = state.call("thread_run", &[thread]);
    if let Err(error) = ran {
        say_failed(run, "thread_run", &error);
        run.stop.fail();
        return End::Failed;
    }
    if let Err(error) = state.call("thread_done", &[thread]) {
        say_failed(run, "thread_done", &error);
    }
    End::Done
}

fn live_by_command(state: &State, run: &Run) -> End {
    if let Err(error) = call_command(state, run) {
        say_failed(run, "sysbench.cmdline.call_command", &error);
        run.stop.fail();
        return End::Failed;
    }
    End::Done
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

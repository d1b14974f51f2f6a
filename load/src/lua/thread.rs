//! The life of one thread of a script, wherever it runs.

use super::context::Context;
use super::ground::Ground;
use super::log::Level;
use super::run::Run;
use super::state::{Called, ScriptError, State};
use std::sync::Arc;
use std::time::Instant;

/// What the threads of a run do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Duty {
    /// Events, between thread_init and thread_done.
    Events,
    /// A command of the script that all threads share.
    Command,
}

/// How a thread ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Done,
    /// It failed before the load began, which was said.
    NotReady,
    /// It failed later, which was said, and the others end too.
    Failed,
}

/// Lives a thread's life: to be called where it may wait.
pub fn live(run: &Arc<Run>, thread: u32, lane: usize, duty: Duty, ground: Box<dyn Ground>) -> End {
    run.log
        .say(Level::Debug, &format!("Worker thread (#{thread}) started"));
    let end = live_quietly(run, thread, lane, duty, ground);
    if end == End::NotReady {
        let words = format!("Worker thread (#{thread}) failed to initialize!");
        run.log.say(Level::Debug, &words);
    }
    end
}

fn live_quietly(
    run: &Arc<Run>,
    thread: u32,
    lane: usize,
    duty: Duty,
    ground: Box<dyn Ground>,
) -> End {
    let mut state = match State::new(Arc::clone(run), thread, ground) {
        Ok(state) => state,
        Err(error) => {
            run.log.fatal(&error.0);
            return End::NotReady;
        }
    };
    state.context().lane = lane;
    if let Err(error) = begin(&state, run) {
        run.log.fatal(&error.0);
        return End::NotReady;
    }
    let end = match duty {
        Duty::Events => live_by_events(&mut state, run, thread),
        Duty::Command => live_by_command(&mut state, run),
    };
    run.figures.of(thread).set_running(false);
    end
}

/// Runs the body of the script and shows it the options.
///
/// # Errors
/// What the body raised.
pub fn begin(state: &State, run: &Run) -> Result<(), ScriptError> {
    state.run_script()?;
    show_options(state, run);
    Ok(())
}

/// Shows the options to a script whose body was run.
pub fn show_options(state: &State, run: &Run) {
    state.show_options();
    if run.late.get().is_some_and(|late| late.exports_options) {
        state.export_options();
    }
}

fn live_by_events(state: &mut State, run: &Run, thread: u32) -> End {
    if let Err(error) = state.call("thread_init", &[thread]) {
        say_failed(run, "thread_init", &error);
        return End::NotReady;
    }
    run.figures.of(thread).set_running(true);
    run.log.say(
        Level::Debug,
        &format!("Worker thread (#{thread}) initialized"),
    );
    wait_for_others(state.context());
    run.window.begin(Instant::now());
    let ran = state.call("thread_run", &[thread]);
    run.window.end(Instant::now());
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

fn live_by_command(state: &mut State, run: &Run) -> End {
    wait_for_others(state.context());
    if let Err(error) = call_command(state, run) {
        say_failed(run, "sysbench.cmdline.call_command", &error);
        run.stop.fail();
        return End::Failed;
    }
    End::Done
}

/// Calls the run's command as the script declares it.
///
/// # Errors
/// What the command raised.
pub fn call_command(state: &State, run: &Run) -> Result<(), ScriptError> {
    state.call_command(run.command.as_deref().unwrap_or_default())
}

fn wait_for_others(context: &mut Context) {
    context.ground.ready();
}

/// Says that a function of the script failed, in the words that logs of sysbench have.
pub fn say_failed(run: &Run, function: &str, error: &ScriptError) {
    run.log
        .fatal(&format!("`{function}' function failed: {error}"));
}

/// Calls a function of the script that it may have or not.
///
/// # Errors
/// The same error again, which was said.
pub fn call_if_there(state: &State, run: &Run, function: &str) -> Result<Called, ScriptError> {
    state
        .call(function, &[])
        .inspect_err(|error| say_failed(run, function, error))
}

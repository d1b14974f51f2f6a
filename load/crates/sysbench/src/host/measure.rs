//! Scripts as the workload of a plan, from `init` to `done`.

use crate::lua::run::Run;
use crate::lua::sql::CONNECTING;
use crate::lua::{State, thread};
use contend_client::failure::hint;
use contend_engine::job::Job;
use contend_engine::measured::{Measured, Progress};
use contend_figures::outcome::{Failure, one_line};
use contend_figures::{Counter, Reading};
use std::sync::{Arc, PoisonError};

/// A script of a plan, with the state of the functions that are called once.
pub type Hosted<'s> = (&'s State, &'s Arc<Run>);

/// Runs the scripts of a plan, one for each arm that has one: the `init` of each, the events on all
/// threads, the `done` of each.
///
/// # Errors
/// A script failed, or the run could not be set up.
pub fn measure(
    scripts: &[Hosted<'_>],
    job: Job,
    tell: &mut dyn FnMut(Progress<'_>),
) -> Result<Measured, Failure> {
    for (main, run) in scripts {
        if thread::call_if_there(main, run, "init").is_err() {
            return Err(failure_of(run));
        }
    }
    let mut before = 0;
    let mut tell = |progress: Progress<'_>| {
        if let Progress::Opened { counts, .. } = &progress {
            before = reconnects(counts);
        }
        tell(progress);
    };
    let measured = match scripts {
        [(_, run)] => self::run(run, job, &mut tell),
        _ => contend_engine::run(job, &mut tell),
    };
    let stopped = scripts.iter().find(|(_, run)| run.stop.has_failed());
    let fatal = |(_, run): &&Hosted<'_>| !run.log.fatal_messages().is_empty();
    let mut measured = match (measured, stopped) {
        (_, Some((_, run))) => return Err(failure_of(run)),
        (Err(failure), None) => {
            let said = scripts.iter().find(fatal);
            return Err(said.map_or(failure, |(_, run)| failure_of(run)));
        }
        (Ok(measured), None) => measured,
    };
    // Connections that a script lost it opens again itself.
    measured.tally.links.reconnects += reconnects(&measured.counts).saturating_sub(before);
    for (main, run) in scripts {
        // The figures are final: a failure at the end is reported, and changes nothing.
        let _ = thread::call_if_there(main, run, "done");
    }
    Ok(measured)
}

/// Runs the events of a script.
///
/// # Errors
/// A thread could not begin, which it reported; or the run could not be set up.
pub fn run(run: &Run, job: Job, tell: &mut dyn FnMut(Progress<'_>)) -> Result<Measured, Failure> {
    let tell = &mut |progress: Progress<'_>| {
        if let Progress::Phase { name: "end", .. } = &progress {
            run.stop.end();
        }
        tell(progress);
    };
    contend_engine::run(job, tell)
}

fn reconnects(counts: &[(u32, Reading)]) -> u64 {
    let counts = counts.iter();
    counts
        .map(|(_, thread)| thread.of(Counter::Reconnects))
        .sum()
}

/// The text scripts get for an error whose message only a fatal error has, and for a refused login.
const WITHOUT_WORDS: [&str; 2] = ["SQL API error", "connection creation failed"];

/// Why the script failed: its own message, and the server's error behind it.
pub fn failure_of(run: &Run) -> Failure {
    let said = run.log.fatal_messages();
    // The message of a failed function names file and line; those before it, the cause.
    let place = said.iter().position(|words| words.starts_with('`'));
    let message = place
        .and_then(|place| said.get(place))
        .or_else(|| said.first());
    let before = said.get(..place.unwrap_or(0)).unwrap_or_default();
    let errors = run.errors.lock();
    let errors = errors.unwrap_or_else(PoisonError::into_inner).counts();
    let ignored = |code: u16| run.database.ignore.has(code);
    let error = errors.into_iter().find(|error| !ignored(error.code));
    let name = run.script.name.as_deref().unwrap_or_default();
    let mut words = message.map_or("no reason was reported", |words| words.trim_end());
    let mut cause = String::new();
    if let Some(error) = &error
        && let Some(front) = WITHOUT_WORDS
            .iter()
            .find_map(|unsaid| words.strip_suffix(unsaid))
    {
        words = front;
        let of_server = one_line(&error.message);
        cause = format!("error {} ({}): {of_server}", error.code, error.sqlstate);
    }
    let known = error.as_ref().and_then(|error| hint(error.code));
    let is_said = error
        .as_ref()
        .is_some_and(|error| error.statement != CONNECTING);
    Failure {
        message: format!("the script {name} failed: {words}{cause}"),
        hint: match known {
            Some(hint) => Some(hint.to_owned()),
            None if is_said => None,
            None => once_each(before),
        },
        code: error.as_ref().map(|error| error.code),
        sqlstate: error.as_ref().map(|error| error.sqlstate.clone()),
        statement: error.map(|error| error.statement),
    }
}

/// The messages as one: all threads may report the same.
fn once_each(messages: &[String]) -> Option<String> {
    let mut once: Vec<&str> = Vec::new();
    for message in messages {
        if !once.contains(&message.as_str()) {
            once.push(message);
        }
    }
    (!once.is_empty()).then(|| once.join("; "))
}

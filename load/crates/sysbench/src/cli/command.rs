//! Commands of a script: its own, those that most scripts have, and `run`.

use super::arguments::{Given, Wrong};
use super::settings::Settings;
use super::{EXIT_DONE, EXIT_FAILED, Halt, events, fatal, hints, settle_options};
use crate::host::{Servers, run_command};
use crate::lua::options::Declared;
use crate::lua::run::Run;
use crate::lua::{Called, Sharing, State, thread};
use contend_console::secrets;
use contend_figures::outcome::one_line;
use std::sync::Arc;

/// Commands that a script may define as a function of the same name.
const COMMON: [&str; 4] = ["prepare", "cleanup", "help", "run"];

/// Runs the script's body, then the command.
pub fn serve(
    run: &Arc<Run>,
    settings: &Settings,
    servers: Result<Servers, Wrong>,
    unknown: &[Given],
) -> Result<u8, Halt> {
    let servers = servers.map_err(Halt::Fatal)?;
    let main = super::state(run, 0, &servers).map_err(|error| Halt::Fatal(error.0))?;
    let hint = || hints::of_script(&run.script);
    main.run_script()
        .map_err(|error| Halt::Fatal(error.0).with_hint(hint()))?;
    let declared = settle_options(run, &main, unknown)?;
    let Some(command) = run.command.clone() else {
        return Ok(EXIT_DONE);
    };
    let raised = |error| fatal(run, "sysbench.cmdline.command_defined", &error);
    thread::show_options(&main, run).map_err(|error| Halt::Fatal(error.0))?;
    match main.command(&command).map_err(raised)? {
        Some(Sharing::Parallel) if settings.threads > 1 => in_parallel(run, &servers, settings),
        Some(_) => {
            thread::call_command(&main, run)
                .map_err(|error| fatal(run, "sysbench.cmdline.call_command", &error))?;
            Ok(EXIT_DONE)
        }
        None if command == "run" => events::serve(main, run, settings, servers),
        None if COMMON.contains(&command.as_str()) => {
            common(&main, run, &command, declared.as_deref())
        }
        None => {
            let shown = secrets::hidden(&command);
            let hint = hints::of_words(run.arguments.get(1..).unwrap_or_default());
            Err(Halt::Usage(format!("Unknown command: {shown}")).with_hint(hint))
        }
    }
}

/// All threads do the command together. Unlike under sysbench, one that fails makes the whole
/// command fail.
fn in_parallel(run: &Arc<Run>, servers: &Servers, settings: &Settings) -> Result<u8, Halt> {
    run.log.notice("Initializing worker threads...\n");
    match run_command(run, servers, settings.threads) {
        Ok(true) => Ok(EXIT_DONE),
        Ok(false) => Ok(EXIT_FAILED),
        Err(failure) => Err(Halt::Fatal(one_line(&failure.message).into_owned())),
    }
}

fn common(
    main: &State,
    run: &Run,
    command: &str,
    declared: Option<&[Declared]>,
) -> Result<u8, Halt> {
    let name = run.script.short_name();
    match thread::call_if_there(main, run, command) {
        Err(_) => Err(Halt::Reported),
        Ok(Called::Done) => Ok(EXIT_DONE),
        Ok(Called::Missing) if command == "help" && declared.is_some() => {
            let help = run.late.get().map(|late| late.options_help.as_str());
            run.log
                .notice(&format!("{name} options:\n{}", help.unwrap_or_default()));
            Ok(EXIT_DONE)
        }
        Ok(Called::Missing) => Err(Halt::Usage(format!(
            "'{name}' test does not implement the '{command}' command."
        ))
        .with_hint(hints::of_script(&run.script))),
    }
}

//! The script of a plan: runs it as a workload, describes it, or lets it prepare its tables.

use super::plan_file;
use contend_console::output;
use contend_console::output::CommandError;
use contend_data::filling::make_database;
use contend_plan::Plan;
use contend_reactor::threads;
use contend_sysbench::cli::planned;
use contend_sysbench::cli::planned::{Planned, in_script};
use contend_sysbench::host;
use contend_sysbench::lua::options::{OptionType, normal_name};
use contend_sysbench::lua::{Called, ScriptError, Sharing, thread};
use serde::Serialize;
use std::process::ExitCode;

/// Describe the script of a plan, or run its `prepare`.
///
/// No server is contacted unless `--prepare` is set. Errors in the script or its options are
/// reported like in `run`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// A plan whose workload is a script, a JSON file; - for standard input.
    plan: String,
    /// Run the script's own prepare command, or function.
    #[arg(long)]
    prepare: bool,
    /// Create the database first if it does not exist.
    #[arg(long, requires = "prepare")]
    create_database: bool,
}

#[derive(Debug, Serialize)]
struct Description {
    script: String,
    bundled: bool,
    /// The other files that its body loads: modules, and what `dofile` and `loadfile` name.
    files: Vec<String>,
    /// It has a command or a function of that name.
    prepare: bool,
    /// It gets an operating-system thread for each of its own.
    os_threads: bool,
    /// Absent if it declares none: then it takes any.
    options: Option<Vec<Described>>,
}

#[derive(Debug, Serialize)]
struct Described {
    name: String,
    kind: &'static str,
    default: Option<String>,
    help: String,
}

pub fn main(arguments: &Arguments) -> Result<ExitCode, CommandError> {
    let (plan, script) = read(plan_file::read(&arguments.plan)?, arguments.prepare)?;
    if !arguments.prepare {
        return output::whole_json(&describe(&script).map_err(in_script)?);
    }
    planned::arm_last_words(script.name(), true)?;
    prepare(&plan, &script, arguments.create_database)
}

fn read(mut plan: Plan, prepares: bool) -> Result<(Plan, Planned), String> {
    let told = plan_file::read_workload(&plan.workload)?;
    let Some(spec) = told.script() else {
        return Err("workload.kind: the plan's workload is not a script".to_owned());
    };
    output::keep_from_scripts().map_err(|error| format!("standard output: {error}"))?;
    let command = if prepares { "prepare" } else { "run" };
    if prepares {
        // A command that all threads share has as many as the load generator gets of this host.
        plan.load.connections = threads::half_of_host();
    }
    plan.make_paths_absolute()
        .map_err(|error| error.to_string())?;
    let script = planned::read(&plan, spec, command)?;
    Ok((plan, script))
}

fn describe(script: &Planned) -> Result<Description, ScriptError> {
    let main = &script.main;
    let declared = script.declared.as_ref().map(|declared| {
        let own = declared.iter().map(|option| Described {
            name: normal_name(&option.name),
            kind: kind_name(option.kind),
            default: option.default.clone(),
            help: option.help.clone(),
        });
        let open = planned::open_options(script.run.compat).map(|(name, known)| Described {
            name,
            kind: kind_name(known.kind),
            default: known.default.map(str::to_owned),
            help: known.help.to_owned(),
        });
        own.chain(open).collect()
    });
    Ok(Description {
        script: script.run.script.name.clone().unwrap_or_default(),
        bundled: script.run.script.bundled,
        files: script.run.loaded.by_body(),
        prepare: main.command("prepare")?.is_some() || main.has_function("prepare")?,
        os_threads: script.wants_os_threads(),
        options: declared,
    })
}

fn kind_name(kind: OptionType) -> &'static str {
    match kind {
        OptionType::Bool => "bool",
        OptionType::Int => "int",
        OptionType::Size => "size",
        OptionType::Double => "number",
        OptionType::Str => "text",
        OptionType::List => "list",
        OptionType::File => "file",
    }
}

fn prepare(
    plan: &Plan,
    script: &Planned,
    creates_database: bool,
) -> Result<ExitCode, CommandError> {
    let (main, run) = (&script.main, &script.run);
    if creates_database
        && let Err(failure) = make_database(&contend_sysbench::host::targets(&script.servers).first)
    {
        return output::run_failed(failure);
    }
    let done = match main.command("prepare").map_err(in_script)? {
        Some(Sharing::Parallel) => host::run_command(run, &script.servers, plan.load.connections),
        Some(Sharing::Alone) => match thread::call_command(main, run) {
            Ok(()) => Ok(true),
            Err(error) => {
                thread::say_failed(run, "prepare", &error);
                Ok(false)
            }
        },
        None => match thread::call_if_there(main, run, "prepare") {
            Ok(Called::Done) => Ok(true),
            Ok(Called::Missing) => {
                let name = run.script.name.as_deref().unwrap_or_default();
                return Err(format!("workload.script: {name} has no prepare command").into());
            }
            Err(_) => Ok(false),
        },
    };
    match done {
        Ok(true) => output::whole(r#"{"type":"prepared"}"#),
        Ok(false) => output::run_failed(host::failure_of(run)),
        Err(failure) => output::run_failed(failure),
    }
}

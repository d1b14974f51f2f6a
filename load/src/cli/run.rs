//! `contend-load run PLAN`: one plan in, outcomes out as JSON lines; `contend-load engine PLAN`: which
//! engine that run gets on this host.

use super::new_file::NewFile;
use super::outcome_lines::OutcomeWriter;
use super::plan_file;
use contend_console::output;
use contend_console::output::CommandError;
use contend_engine::arrival::Share;
use contend_engine::choice::{Choice, choose};
use contend_engine::job::Job;
use contend_engine::measured::Progress;
use contend_engine::of_plan::{ArmAsks, job_of, workers_of};
use contend_engine::run;
use contend_figures::outcome::Outcome;
use contend_plan;
use contend_plan::{Plan, Protocol};
use contend_sysbench::cli::planned;
use contend_sysbench::cli::planned::{Planned, in_script};
use contend_sysbench::host;
use contend_sysbench::lua::run::Run;
use contend_sysbench::lua::workload::ScriptWorkload;
use serde::Serialize;
use std::io::BufWriter;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

/// Run one plan and write its measurements as JSON lines.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The plan, a JSON file; - for standard input.
    plan: String,
    /// Write every interval's histograms to this file, in HdrHistogram's log format.
    #[arg(long, value_name = "FILE")]
    hdr_log: Option<PathBuf>,
    /// Only check the plan, as far as possible without a server. Prints nothing if it is valid.
    #[arg(long, conflicts_with = "hdr_log")]
    check: bool,
}

pub fn main(arguments: &Arguments) -> Result<ExitCode, CommandError> {
    let (job, log, scripts) = prepare(arguments)?;
    if arguments.check {
        return Ok(ExitCode::SUCCESS);
    }
    if !scripts.read.is_empty() {
        planned::arm_last_words(&scripts.names(), true)?;
    }
    measure(job, log, &scripts)
}

type LogFile = Option<BufWriter<NewFile>>;

fn prepare(arguments: &Arguments) -> Result<(Job, LogFile, Scripts), String> {
    let mut plan = plan_file::read(&arguments.plan)?;
    if !arguments.check && plan.load.hosts > 1 {
        return Err(format!(
            "load.hosts: the plan is shared by {} hosts; run each part with `contend-load part`",
            plan.load.hosts
        ));
    }
    let absolute = |error: std::io::Error| error.to_string();
    // Make paths absolute before a script's folder becomes the current one.
    let log = arguments.hdr_log.as_ref().map(std::path::absolute);
    let log = log.transpose().map_err(absolute)?;
    plan.make_paths_absolute().map_err(absolute)?;
    let mut scripts = Scripts::default();
    let mut job = job_of(&plan, Share::WHOLE, &mut |plan| asked(plan, &mut scripts))?;
    if scripts.read.iter().any(Planned::wants_os_threads) {
        job.setup.block();
    }
    let log = log.map(|path| NewFile::create(&path)).transpose()?;
    Ok((job, log.map(BufWriter::new), scripts))
}

/// The workload of an arm's plan, and the dispenser of its events.
fn asked(plan: &mut Plan, scripts: &mut Scripts) -> Result<ArmAsks, String> {
    let told = plan_file::read_workload(&plan.workload)?;
    if plan.load.slices.is_some() {
        told.fit(&mut plan.load)?;
    }
    if let Some(spec) = told.script() {
        if plan.load.protocol == Protocol::HandlerSocket {
            return Err(
                "load.protocol: \"handler_socket\" cannot be used by a script, which needs SQL"
                    .to_owned(),
            );
        }
        let run = scripts.read(plan, spec)?;
        let dispenser = Arc::clone(&run.dispenser);
        return Ok((Arc::new(ScriptWorkload::new(run)), dispenser));
    }
    plan_file::native_arm(plan, &*told, Share::WHOLE)
}

/// The scripts of a plan, one for each arm that has one.
#[derive(Default)]
struct Scripts {
    read: Vec<Planned>,
    /// The folder that relative paths of the plan start from, and the folder of all scripts.
    folders: Option<(PathBuf, PathBuf)>,
}

impl Scripts {
    fn read(&mut self, plan: &Plan, spec: &contend_plan::Script) -> Result<Arc<Run>, String> {
        match &self.folders {
            None => {
                output::keep_from_scripts().map_err(|error| format!("standard output: {error}"))?;
            }
            Some((begin, _)) => std::env::set_current_dir(begin).map_err(in_script)?,
        }
        let begin = std::env::current_dir().map_err(in_script)?;
        let script = planned::read(plan, spec, "run")?;
        let folder = std::env::current_dir().map_err(in_script)?;
        match &self.folders {
            Some((_, first)) if *first != folder => {
                return Err(format!(
                    "workload.script: {} is not in the folder of the previous arms' script; a \
                     script finds its modules in the current folder, so put both in one folder",
                    spec.script
                ));
            }
            _ => self.folders = Some((begin, folder)),
        }
        let run = Arc::clone(&script.run);
        self.read.push(script);
        Ok(run)
    }

    fn names(&self) -> String {
        let names: Vec<_> = self.read.iter().map(Planned::name).collect();
        names.join(", ")
    }

    fn loaded_later(&self) -> Vec<String> {
        let files = self
            .read
            .iter()
            .flat_map(|script| script.run.loaded.later());
        files.collect()
    }
}

fn measure(job: Job, log: LogFile, scripts: &Scripts) -> Result<ExitCode, CommandError> {
    let mut writer = OutcomeWriter::new(&job.setup, log);
    let take = &mut |progress: Progress<'_>| writer.take(progress);
    let hosted: Vec<_> = scripts.read.iter().map(Planned::hosted).collect();
    let measured = match hosted.is_empty() {
        true => run(job, take),
        false => host::measure(&hosted, job, take),
    };
    let outcome = match measured {
        Ok(measured) => {
            let mut done = writer.done(&measured);
            done.files = scripts.loaded_later();
            Outcome::Done(Box::new(done))
        }
        Err(failure) => Outcome::Error(failure),
    };
    writer.write(&outcome);
    match (writer.broken(), outcome) {
        (Some(error), _) => Err(error.into()),
        (None, Outcome::Error(failure)) => Err(failure.into()),
        (None, _) => Ok(ExitCode::SUCCESS),
    }
}

/// Print the engine that a run of a plan gets on this host as one line of JSON.
///
/// No server is contacted. To compare runs with different numbers of connections, query the engine
/// once, for the largest number, and set it in all plans.
#[derive(Debug, clap::Args)]
pub struct EngineArguments {
    /// The plan, a JSON file; - for standard input.
    plan: String,
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename = "engine")]
struct EngineAnswer {
    engine: &'static str,
    /// Why it is not io_uring, if the kernel refused that.
    refused: Option<String>,
}

pub fn main_of_engine(arguments: &EngineArguments) -> Result<ExitCode, CommandError> {
    let plan = plan_file::read(&arguments.plan)?;
    match choose(plan.load.engine, sockets_of(&plan)) {
        Ok(choice) => output::whole_json(&answer(choice)),
        Err(failure) => output::run_failed(failure),
    }
}

fn answer(choice: Choice) -> EngineAnswer {
    EngineAnswer {
        engine: choice.name,
        refused: choice.refused.map(|error| error.to_string()),
    }
}

/// The sockets of one worker, as the run itself will count them.
fn sockets_of(plan: &Plan) -> usize {
    let load = &plan.load;
    let workers = workers_of(load, Share::WHOLE);
    let most = load.connections.div_ceil(workers) + load.idle_connections.div_ceil(workers);
    most as usize * plan.arms.len().max(1)
}

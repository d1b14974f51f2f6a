//! `contend-load recording ask`: statements of a recording, sent to several servers.

use super::failure;
use crate::cli::plan_file::ask::read_ask;
use contend_console::output::{self, CommandError};
use contend_figures::outcome::{AskDone, AskOutcome, Failure};
use contend_plan::AskPlan;
use contend_reactor::signals::Signals;
use contend_recording::RecordingFile;
use contend_twins::AskSample;
use std::io;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Send a sample of a recording's statements to several servers, one statement at a time and each to
/// all servers in turn. Prints the results by template, as JSON lines. Sends only statements that
/// read, unless the plan has "writes".
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The plan, a JSON file; - for standard input.
    plan: String,
}

pub fn main(arguments: &Arguments) -> Result<ExitCode, CommandError> {
    let plan = read_ask(&arguments.plan)?;
    let stop = Arc::new(AtomicBool::new(false));
    let signals = Signals::raise(&stop)?;
    let mut broken = None;
    let asked = ask(&plan, &stop, &mut |outcome| {
        if broken.is_none() {
            broken = write(&outcome).err();
            // Without a reader nothing more is worth sending.
            stop.fetch_or(broken.is_some(), Ordering::Relaxed);
        }
    });
    drop(signals);
    if let Some(error) = broken {
        return Err(error.into());
    }
    match asked {
        Ok(done) => {
            write(&AskOutcome::AskDone(Box::new(done)))?;
            Ok(ExitCode::SUCCESS)
        }
        Err(failure) => output::run_failed(failure),
    }
}

fn ask(
    plan: &AskPlan,
    stop: &AtomicBool,
    take: &mut dyn FnMut(AskOutcome),
) -> Result<AskDone, Failure> {
    let mut recording = RecordingFile::open(&plan.recording).map_err(failure)?;
    let sample = AskSample::draw(&mut recording, plan).map_err(failure)?;
    contend_twins::run(plan, &sample, stop, take)
}

fn write(outcome: &AskOutcome) -> io::Result<()> {
    output::line(&serde_json::to_string(outcome)?)
}

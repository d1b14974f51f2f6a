//! `contend-load cpus`: how much the CPUs of this host do at once.

use super::output;
use crate::drive::cpus::{allowed, speeds};
use serde::Serialize;
use std::io;
use std::process::ExitCode;
use std::time::Duration;

/// Say how much all CPUs do at once, in what one of them does alone, as one line of JSON.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// So often, each time first one CPU alone and then all of them.
    #[arg(long, value_name = "N", default_value_t = 15, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,
    /// Each of the two for so long.
    #[arg(long, value_name = "MS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    milliseconds: u64,
}

/// Each is the best round: whatever else runs on the host can only make one slower.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename = "cpus")]
struct Answer {
    /// That this process may use.
    cpus: usize,
    /// Steps a second of one of them.
    alone: f64,
    /// Of all of them at once.
    together: f64,
}

pub fn main(arguments: &Arguments) -> ExitCode {
    match measure(arguments) {
        Ok(answer) => match serde_json::to_string(&answer) {
            Ok(text) => output::whole(&text),
            Err(error) => output::failed(&error.into()),
        },
        Err(error) => {
            eprintln!("contend-load: cpus: {error}");
            ExitCode::FAILURE
        }
    }
}

fn measure(arguments: &Arguments) -> io::Result<Answer> {
    let cpus = allowed()?;
    let time = Duration::from_millis(arguments.milliseconds);
    let (mut alone, mut together) = (0.0_f64, 0.0_f64);
    for &one in cpus.iter().cycle().take(arguments.rounds as usize) {
        alone = alone.max(speeds(&[one], time)?.iter().sum());
        together = together.max(speeds(&cpus, time)?.iter().sum());
    }
    Ok(Answer {
        cpus: cpus.len(),
        alone,
        together,
    })
}

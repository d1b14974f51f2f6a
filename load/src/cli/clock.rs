//! `contend-load clock`: the difference between the clocks of a second host and those of this one.

use super::output::Undone;
use crate::cli::output;
use contend_figures::outcome::{ClockOffset, Failure, Outcome};
use contend_servers::clock;
use serde::Serialize;
use serde_json::json;
use std::net::SocketAddr;
use std::process::ExitCode;

/// Print the offset between this host's clocks and those of a second host as one line of JSON, or
/// answer such queries.
///
/// The offset is taken from the shortest of all round trips; half of its duration is the maximum
/// error.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// HOST:PORT where another contend-load answers (--answer).
    #[arg(required_unless_present = "answer")]
    address: Option<String>,
    /// Answer queries at ADDRESS:PORT until the process ends. Port 0 selects a free port and prints
    /// it.
    #[arg(long, value_name = "ADDRESS:PORT", conflicts_with = "address")]
    answer: Option<SocketAddr>,
    /// Round trips.
    #[arg(
        long,
        value_name = "TIMES",
        default_value_t = 200,
        conflicts_with = "answer"
    )]
    times: u32,
}

#[derive(Serialize)]
struct ClockLine {
    r#type: &'static str,
    #[serde(flatten)]
    offset: ClockOffset,
}

pub fn main(arguments: &Arguments) -> Result<ExitCode, Undone> {
    let (Some(address), times) = (&arguments.address, arguments.times) else {
        return answer(arguments.answer.unwrap_or(([127, 0, 0, 1], 0).into()));
    };
    let offset = match clock::ask(address, times) {
        Ok(offset) => offset,
        Err(error) => {
            let failure = Failure::with_hint(
                format!("the clock at {address} does not answer: {error}"),
                "check for a firewall between the two hosts",
            );
            output::outcome(&Outcome::Error(failure.clone()))?;
            return Err(failure.into());
        }
    };
    output::whole_json(&ClockLine {
        r#type: "clock",
        offset,
    })
}

fn answer(address: SocketAddr) -> Result<ExitCode, Undone> {
    let listener = clock::listen(address)?;
    let port = listener.local_addr()?.port();
    output::line(&json!({"type": "listening", "port": port}).to_string())?;
    clock::answer(&listener)?;
    Ok(ExitCode::SUCCESS)
}

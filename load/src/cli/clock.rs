//! `contend-load clock`: the difference between the clocks of a second host and those of this one.

use super::output::{self, Undone};
use crate::outcome::{ClockOffset, Failure, Outcome};
use crate::stand::clock;
use serde::Serialize;
use serde_json::json;
use std::net::SocketAddr;
use std::process::ExitCode;

/// Say how far the clocks of the host at ADDRESS are from ours, as one line of JSON; or be asked.
///
/// The offset is that of the shortest of all round trips, and half of what that took is the most
/// that it can be wrong.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Where another contend-load answers, HOST:PORT.
    #[arg(required_unless_present = "answer")]
    address: Option<String>,
    /// Answer whoever asks here, ADDRESS:PORT, until the end of the process. Port 0 takes a free
    /// one, which is printed.
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
                "a firewall may stand between the two hosts",
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

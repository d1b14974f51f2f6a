//! `contend-load model-server`: a server with known true effects.

use contend_console::output;
use contend_console::output::CommandError;
use contend_model::Knobs;
use contend_model::server::{ModelService, serve};
use contend_model::variables::ServerVariables;
use contend_reactor::signals::Signals;
use serde_json::json;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Serve the table of the segmented key cache study with real threads and locks until a signal
/// arrives. Any user may log in.
///
/// The server computes the rows of `sbtest` from a seed, walks an index of 1 KiB pages like MyISAM,
/// and reads its pages through a key cache with one lock or with 1 to 64 segments. It understands
/// the statements of the study and refuses all others with an explanation. Prints {"type":
/// "listening", …} when clients can connect and {"type": "served", …} at the end.
#[derive(Debug, clap::Args)]
#[command(after_long_help = TRUTH)]
pub struct Arguments {
    /// Listen on this Unix socket.
    #[arg(long, value_name = "PATH", required_unless_present = "port")]
    socket: Option<PathBuf>,
    /// Listen on this port of 127.0.0.1; 0 selects a free port and prints it.
    #[arg(long)]
    port: Option<u16>,
    /// Rows of the table.
    #[arg(
        long,
        default_value_t = 1_000_000,
        value_parser = clap::value_parser!(u32).range(1..=ROWS_MAX)
    )]
    rows: u32,
    /// Seed of the rows: they are those that `contend-load fill` makes from it.
    #[arg(long, default_value_t = 303)]
    seed: u64,
    /// Where rows are read from: `memory` computes each one; a folder has them in a file, which is
    /// written if it does not exist and kept.
    #[arg(long, value_name = "memory|FOLDER", default_value = "memory")]
    rows_in: PathBuf,
    /// Initial value of a server variable, such as key_buffer_size=512M.
    #[arg(long = "variable", value_name = "NAME=VALUE", value_parser = pair)]
    variables: Vec<(String, String)>,
    /// Set a knob: see below.
    #[arg(long = "knob", value_name = "NAME=VALUE", value_parser = pair)]
    knobs: Vec<(String, String)>,
    /// Append the counts to this file: a line of JSON at the end, at each SIGUSR1, and before the
    /// key cache is rebuilt.
    #[arg(long, value_name = "FILE")]
    truth: Option<PathBuf>,
}

const ROWS_MAX: i64 = 1_000_000_000;

const TRUTH: &str = include_str!("model_server/truth.txt");

pub fn main(arguments: &Arguments) -> Result<ExitCode, CommandError> {
    let service = service_of(arguments)?;
    let stop = Arc::new(AtomicBool::new(false));
    let signals = Signals::raise(&stop);
    let served = serve(&service, &mut super::listening, &stop);
    drop(signals);
    let served = served?;
    output::whole_json(&json!({
        "type": "served",
        "connections": served.connections,
        "queries": served.queries,
    }))
}

fn pair(text: &str) -> Result<(String, String), String> {
    let (name, value) = text
        .split_once('=')
        .ok_or_else(|| "use NAME=VALUE".to_owned())?;
    Ok((name.to_owned(), value.to_owned()))
}

fn service_of(arguments: &Arguments) -> Result<ModelService, String> {
    let mut variables = ServerVariables::default();
    for (name, value) in &arguments.variables {
        variables
            .begin_with(name, value)
            .map_err(|refusal| format!("--variable {name}={value}: {}", refusal.message))?;
    }
    variables
        .sizes()
        .blocks_each()
        .map_err(|error| format!("--variable: {error}"))?;
    let mut knobs = Knobs::default();
    for (name, value) in &arguments.knobs {
        knobs
            .set(name, value)
            .map_err(|words| format!("--knob: {words}"))?;
    }
    let in_memory = arguments.rows_in.as_os_str() == "memory";
    Ok(ModelService {
        socket: arguments.socket.clone(),
        port: arguments.port,
        rows: arguments.rows,
        seed: arguments.seed,
        rows_in: (!in_memory).then(|| arguments.rows_in.clone()),
        variables,
        knobs,
        truth: arguments.truth.clone(),
    })
}

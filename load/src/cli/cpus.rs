//! `contend-load cpus`: the speed of this host's CPUs together, and how far apart they are.

use crate::cpus::calls::{Calls, calls};
use crate::cpus::chain::latency_ns;
use crate::cpus::matrix::{NodeMatrix, matrix, measured};
use crate::cpus::nodes::HostNodes;
use crate::cpus::pairs::{Distance, Sample, distance};
use crate::cpus::{allowed, speeds};
use contend_console::output;
use contend_console::output::CommandError;
use contend_figures::outcome::Failure;
use serde::Serialize;
use std::io;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

/// Measure the combined speed of all CPUs as a multiple of one CPU's, and print one line of JSON.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Rounds: in each, first one CPU alone, then all of them.
    #[arg(long, value_name = "N", default_value_t = 15, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,
    /// Duration of each of the two.
    #[arg(long, value_name = "MS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    milliseconds: u64,
    /// Measure instead the distance between CPUs. For each pair: the round trip of a cache line,
    /// and the time until a woken thread runs. A pair takes less than 10 ms.
    #[arg(long, conflicts_with_all = ["rounds", "milliseconds"])]
    state: bool,
    /// Measure instead the cost of kernel calls: a call, waking a thread of a busy CPU and of an
    /// idle one, and switching between two threads of a CPU. Takes some tenths of a second.
    #[arg(long, conflicts_with_all = ["rounds", "milliseconds", "state"])]
    calls: bool,
    /// Measure instead the distance of memory. For each pair of nodes: a load by a CPU of one from
    /// the memory of the other, and the bytes read per second by all its CPUs. A host with two
    /// nodes takes about a second; at most 1 GiB of memory is used at a time.
    #[arg(long, conflicts_with_all = ["rounds", "milliseconds", "state", "calls"])]
    nodes: bool,
    /// Maximum number of pairs, always the same ones.
    #[arg(long, value_name = "N", default_value_t = 15, requires = "state", value_parser = clap::value_parser!(u32).range(1..))]
    pairs: u32,
    /// Measure also the time of a load from memory. This empties the caches.
    #[arg(long, requires = "state")]
    memory: bool,
}

/// The printed lines.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum CpusAnswer {
    /// Each is the best round: other load on the host can only make a round slower.
    Cpus {
        /// That this process may use.
        cpus: usize,
        /// Steps per second of one of them.
        alone: f64,
        /// Steps per second of all of them at once.
        together: f64,
    },
    CpuState {
        /// That this process may use.
        cpus: usize,
        pairs: Vec<Distance>,
        /// Number of all pairs.
        of_pairs: u64,
        /// Nanoseconds for one load from memory, if asked for.
        memory_ns: Option<f64>,
    },
    CpuCalls(Calls),
    MemoryNodes(NodeMatrix),
}

pub fn main(arguments: &Arguments) -> Result<ExitCode, CommandError> {
    let answer = if arguments.calls {
        kernel()
    } else if arguments.nodes {
        nodes()
    } else if arguments.state {
        look(arguments)
    } else {
        measure(arguments)
    };
    let answer = answer.map_err(|error| Failure::plain(format!("cpus: {error}")))?;
    output::whole_json(&answer)
}

fn measure(arguments: &Arguments) -> io::Result<CpusAnswer> {
    let cpus = allowed()?;
    let time = Duration::from_millis(arguments.milliseconds);
    let (mut alone, mut together) = (0.0_f64, 0.0_f64);
    for &one in cpus.iter().cycle().take(arguments.rounds as usize) {
        alone = alone.max(speeds(&[one], time)?.iter().sum());
        together = together.max(speeds(&cpus, time)?.iter().sum());
    }
    Ok(CpusAnswer::Cpus {
        cpus: cpus.len(),
        alone,
        together,
    })
}

fn kernel() -> io::Result<CpusAnswer> {
    let cpus = allowed()?;
    let first = cpus.first().copied().unwrap_or_default();
    Ok(CpusAnswer::CpuCalls(calls(first, cpus.get(1).copied())?))
}

fn nodes() -> io::Result<CpusAnswer> {
    let host = HostNodes::read(Path::new("/"), &allowed()?);
    Ok(CpusAnswer::MemoryNodes(matrix(&host, measured)))
}

fn look(arguments: &Arguments) -> io::Result<CpusAnswer> {
    let cpus = allowed()?;
    let sample = Sample::new(&cpus, arguments.pairs as usize);
    if sample.of == 0 {
        output::remark("contend-load: cpus: two CPUs are needed; this process may use only one");
    }
    let mut pairs = Vec::with_capacity(sample.pairs.len());
    for pair in sample.pairs {
        pairs.extend(distance(pair)?);
    }
    // Last, because it replaces the contents of the caches.
    let memory_ns = arguments.memory.then(latency_ns).transpose()?;
    Ok(CpusAnswer::CpuState {
        cpus: cpus.len(),
        pairs,
        of_pairs: sample.of,
        memory_ns,
    })
}

//! `contend-load cpus`: the speed of this host's CPUs together, and how far apart they are.

use super::output::{self, Undone};
use crate::cpus::calls::{Calls, calls};
use crate::cpus::chain::latency_ns;
use crate::cpus::matrix::{NodeMatrix, matrix, measured};
use crate::cpus::nodes::HostNodes;
use crate::cpus::pairs::{Distance, Sample, distance};
use crate::cpus::{allowed, speeds};
use crate::outcome::Failure;
use serde::Serialize;
use std::io;
use std::path::Path;
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
    /// Say instead how far apart they are: for each pair, the time for a line of cache to go over
    /// and to come back, and the time until a thread that is woken runs. A pair takes less than
    /// 10 ms.
    #[arg(long, conflicts_with_all = ["rounds", "milliseconds"])]
    state: bool,
    /// Say instead what the kernel's calls cost: a call, waking a thread of a busy CPU and of one
    /// that has been idle, passing a CPU from a thread to another. It takes some tenths of a second.
    #[arg(long, conflicts_with_all = ["rounds", "milliseconds", "state"])]
    calls: bool,
    /// Say instead how far the memory of each node is: for each pair of nodes, what a load takes
    /// by a CPU of one from the memory of the other, and what all its CPUs read in a second. A host
    /// of two nodes takes about a second; at most 1 GiB of memory is used at a time.
    #[arg(long, conflicts_with_all = ["rounds", "milliseconds", "state", "calls"])]
    nodes: bool,
    /// At most so many pairs, always the same ones.
    #[arg(long, value_name = "N", default_value_t = 15, requires = "state", value_parser = clap::value_parser!(u32).range(1..))]
    pairs: u32,
    /// Measure too what a load from memory takes. This empties the caches.
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

pub fn main(arguments: &Arguments) -> Result<ExitCode, Undone> {
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
        output::remark("contend-load: cpus: this process may use one CPU, which is no pair");
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

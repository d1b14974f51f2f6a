//! The floor: what asking costs when nothing is measured and nothing can go wrong.
//!
//! Bare loops, as many threads as contend-load has workers, that send the same bytes as
//! `contend-load run` does (prepared statements, parameter types sent once; with `--text` the
//! statement as text) and only look for the end of the answer. What contend-load costs above the
//! best of them is the price of recording, checking and timing.
//!
//! ```text
//! floor --loop epoll|uring|uring-single|runtime --socket PATH | --host HOST --port PORT
//!       --user NAME --database NAME --table NAME --rows N --points N (0: point_select)
//!       --connections N --seconds S [--threads N] [--text]
//! ```
//! Prints one JSON line: the loop, queries, seconds, and the CPU that the process used.

mod connect;
mod epoll;
mod question;
mod runtime;
mod uring;

use clap::{Parser, ValueEnum};
use connect::Stream;
use contend_reactor::threads;
use question::Question;
use std::time::{Duration, Instant};

#[derive(Debug, Parser)]
pub struct Arguments {
    #[arg(long = "loop")]
    kind: Loop,
    #[arg(long)]
    socket: Option<std::path::PathBuf>,
    #[arg(long, default_value = "127.0.0.1")]
    host: String,
    #[arg(long, default_value_t = 3306)]
    port: u16,
    #[arg(long, default_value = "root")]
    user: String,
    #[arg(long)]
    database: String,
    #[arg(long, default_value = "sbtest1")]
    table: String,
    #[arg(long)]
    rows: u64,
    #[arg(long, default_value_t = 0)]
    points: u32,
    #[arg(long)]
    connections: usize,
    #[arg(long)]
    seconds: f64,
    /// As many as contend-load has workers, unless given.
    #[arg(long)]
    threads: Option<u32>,
    /// Statements as text instead of prepared ones.
    #[arg(long)]
    text: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Loop {
    /// epoll_wait, recv, send.
    Epoll,
    /// io_uring: batched sends, one multishot receive a socket, a shared ring of buffers.
    Uring,
    /// io_uring: batched sends, each with a receive of its own.
    UringSingle,
    /// A common async runtime (tokio), one task a connection.
    Runtime,
}

/// What all loops are given.
pub struct Work {
    pub streams: Vec<Stream>,
    pub questions: Vec<Question>,
    pub until: Instant,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments = Arguments::parse();
    let threads = arguments
        .threads
        .unwrap_or_else(|| threads::for_connections(arguments.connections as u32));
    let mut open = Vec::new();
    for index in 0..arguments.connections {
        let (stream, prepared) = connect::open(&arguments)?;
        open.push((stream, Question::new(prepared, &arguments, index as u64)));
    }
    let begin = Instant::now();
    let cpu_before = cpu();
    let until = begin + Duration::from_secs_f64(arguments.seconds);
    let mut loops = Vec::new();
    for number in 0..threads {
        let left = (threads - number) as usize;
        let (streams, questions) = open.drain(..open.len() / left).unzip();
        let work = Work {
            streams,
            questions,
            until,
        };
        let kind = arguments.kind;
        loops.push(std::thread::spawn(move || {
            threads::keep_apart(number, threads);
            run(kind, work).map_err(|error| error.to_string())
        }));
    }
    let mut queries = 0;
    for one in loops {
        queries += one.join().map_err(|_| "a loop panicked")??;
    }
    let seconds = begin.elapsed().as_secs_f64();
    let cpu_us = (cpu() - cpu_before).as_secs_f64() * 1e6;
    println!(
        "{}",
        serde_json::json!({
            "loop": arguments.kind.to_possible_value().map(|value| value.get_name().to_owned()),
            "connections": arguments.connections,
            "queries": queries,
            "seconds": seconds,
            "qps": queries as f64 / seconds,
            "cpu_us_per_query": cpu_us / queries as f64,
        })
    );
    Ok(())
}

fn run(kind: Loop, work: Work) -> Result<u64, Box<dyn std::error::Error>> {
    Ok(match kind {
        Loop::Epoll => epoll::run(work)?,
        Loop::Uring => uring::run_multishot(work)?,
        Loop::UringSingle => uring::run_single(work)?,
        Loop::Runtime => runtime::run(work)?,
    })
}

/// CPU time of this process so far.
fn cpu() -> Duration {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the pointer is to a live local.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

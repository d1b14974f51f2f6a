//! `contend-load null-server`: answers without a database, to measure the client.

use super::service_time::us_ns;
use crate::cli::service_time;
use contend_console::output;
use contend_console::output::CommandError;
use contend_reactor::clock::seconds_ns;
use contend_reactor::signals::Signals;
use contend_reactor::threads;
use contend_servers::null_server::{Served, Service, StationServers, serve};
use contend_servers::serve::{ServiceTime, Stalls};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Serve canned answers over the server's protocol until a signal arrives. Any user may log in.
///
/// Prints {"type": "listening", …} when clients can connect and {"type": "served", …} at the end.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Listen on this Unix socket.
    #[arg(long, value_name = "PATH", required_unless_present = "port")]
    socket: Option<PathBuf>,
    /// Listen on this port of 127.0.0.1; 0 selects a free port and prints it.
    #[arg(long)]
    port: Option<u16>,
    /// Worker threads. Default: one for every second CPU, because the client uses the others.
    #[arg(long, value_name = "N")]
    threads: Option<u32>,
    #[command(flatten)]
    time: service_time::ServiceArguments,
    /// Maximum number of queries served at a time, in the order of receipt; the rest queue. A
    /// query's time is then drawn from the seed and the query's number: the first value of its
    /// statement if that is a whole number, else the number of queries before it.
    #[arg(
        long,
        value_name = "N",
        value_parser = clap::value_parser!(u32).range(1..=SERVERS_MAX),
        requires = "service_us",
        conflicts_with_all = ["threads", "stall_every_s"]
    )]
    servers: Option<u32>,
    /// If a query arrives at most this much later than the previous answer on its connection was
    /// due, serve it as if it had arrived then. The way to the client and back then costs no
    /// throughput.
    #[arg(
        long,
        value_name = "MICROSECONDS",
        value_parser = service_time::time_us,
        requires = "servers"
    )]
    turnaround_us: Option<f64>,
    /// Stall all answers at this interval.
    #[arg(long, value_name = "SECONDS", requires = "stall_ms")]
    stall_every_s: Option<f64>,
    /// Length of a stall.
    #[arg(long, value_name = "MILLISECONDS", requires = "stall_every_s")]
    stall_ms: Option<f64>,
}

const SERVERS_MAX: i64 = 1_000_000;

pub fn main(arguments: &Arguments) -> Result<ExitCode, CommandError> {
    let service = service_of(arguments)?;
    let stop = Arc::new(AtomicBool::new(false));
    let signals = Signals::raise(&stop);
    let served = serve(&service, &mut super::listening, &stop);
    drop(signals);
    output::whole_json(&in_json(&served?))
}

fn in_json(served: &Served) -> Value {
    let mut line = json!({
        "type": "served",
        "connections": served.connections,
        "queries": served.queries,
    });
    if let Some(late) = &served.late {
        let late = late.percentiles_us();
        line["late_us"] = json!({"mean": late.mean, "p99": late.p99, "max": late.max});
    }
    if let Some(granted) = &served.granted {
        let mean_us = granted.sum_ns as f64 / granted.queries.max(1) as f64 / 1e3;
        line["turnarounds"] = json!({"queries": granted.queries, "mean_us": mean_us});
    }
    line
}

fn service_of(arguments: &Arguments) -> Result<Service, String> {
    let is_time = |time: f64| (0.0..1e9).contains(&time);
    let times = [
        ("--stall-every-s", arguments.stall_every_s),
        ("--stall-ms", arguments.stall_ms),
    ];
    for (name, time) in times {
        if !time.is_none_or(is_time) {
            return Err(format!("{name}: use a time of 0 or more"));
        }
    }
    if arguments.servers.is_some() && arguments.time.time() == ServiceTime::None {
        return Err("--service-us: with --servers it must be above 0".to_owned());
    }
    let stalls = arguments.stall_every_s.zip(arguments.stall_ms);
    Ok(Service {
        socket: arguments.socket.clone(),
        port: arguments.port,
        threads: arguments.threads.unwrap_or_else(threads::half_of_host),
        time: arguments.time.time(),
        stalls: stalls.map(|(every_s, length_ms)| Stalls {
            every_ns: seconds_ns(every_s),
            length_ns: seconds_ns(length_ms / 1e3),
        }),
        seed: arguments.time.seed,
        servers: arguments.servers.map(|count| StationServers {
            count,
            turnaround_ns: us_ns(arguments.turnaround_us),
        }),
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        arguments: Arguments,
    }

    fn parse(words: &str) -> Result<Arguments, clap::Error> {
        Line::try_parse_from(std::iter::once("null-server").chain(words.split_whitespace()))
            .map(|line| line.arguments)
    }

    #[test]
    fn a_place_to_listen_is_needed_and_stalls_have_two_sides() {
        assert!(parse("").is_err());
        assert!(parse("--port 0").is_ok());
        assert!(parse("--socket /s --stall-ms 5").is_err());
    }

    #[test]
    fn stalls_and_times_become_nanoseconds() {
        let words = "--port 0 --service-us 1.5 --stall-every-s 10 --stall-ms 200 --threads 3";
        let service = service_of(&parse(words).unwrap()).unwrap();
        assert_eq!(service.time, ServiceTime::Fixed { ns: 1_500 });
        let stalls = service.stalls.unwrap();
        assert_eq!(
            (stalls.every_ns, stalls.length_ns),
            (10_000_000_000, 200_000_000)
        );
        assert_eq!((service.threads, service.servers), (3, None));
        let negative = "--port 0 --stall-every-s 1 --stall-ms=-1";
        assert!(service_of(&parse(negative).unwrap()).is_err());
    }

    #[test]
    fn servers_need_a_service_time_and_their_own_thread() {
        let words = "--port 0 --servers 8 --service-us 1000 --turnaround-us 90";
        let service = service_of(&parse(words).unwrap()).unwrap();
        let servers = StationServers {
            count: 8,
            turnaround_ns: 90_000,
        };
        assert_eq!(service.servers, Some(servers));
        let timeless = parse("--port 0 --servers 8 --service-us 0").unwrap();
        assert!(service_of(&timeless).is_err());
        for words in [
            "--servers 0 --service-us 1",
            "--servers -1 --service-us 1",
            "--servers 1000001 --service-us 1",
            "--servers 8",
            "--servers 8 --service exponential",
            "--servers 8 --service-us 1 --threads 2",
            "--servers 8 --service-us 1 --stall-every-s 1 --stall-ms 1",
            "--turnaround-us 5 --service-us 9",
            "--servers 8 --service-us 1 --turnaround-us=-1",
        ] {
            assert!(parse(&format!("--port 0 {words}")).is_err(), "{words}");
        }
    }
}

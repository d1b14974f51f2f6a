//! `contend-load far`: a delay line before a server, as if the client stood elsewhere.

use contend_console::output;
use contend_console::output::CommandError;
use contend_reactor::signals::Signals;
use contend_reactor::socket::Address;
use contend_reactor::threads;
use contend_servers::far::{DelayLine, LineReport, Tell, stand};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Delay traffic to a server like a network: half of the round trip each way.
///
/// Order and bytes are unchanged. Prints {"type": "listening", …} when clients can connect, and
/// {"type": "passed", …} at the end: connections, bytes, CPU time, and the lateness of bytes that
/// left after they were due.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Simulated round trip, with its unit, such as 200us or 1.5ms; 0 adds no delay.
    #[arg(long, value_name = "TIME", value_parser = round_trip_ns)]
    round_trip: u64,
    /// Where clients connect: the path of a Unix socket, or a port of 127.0.0.1 (0 selects a free
    /// port and prints it).
    #[arg(long, value_name = "PATH|PORT", value_parser = listen)]
    listen: Listen,
    /// Threads that forward bytes. Default: one for every second CPU. A thread without traffic uses
    /// no CPU time.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=256))]
    threads: Option<u32>,
    /// Print the traffic since the last report for each line of standard input; exit when standard
    /// input ends.
    #[arg(long)]
    on_request: bool,
    /// The server: the path of its Unix socket, or HOST:PORT.
    #[arg(value_name = "ADDRESS", value_parser = address)]
    address: Address,
}

/// A longer round trip is probably a mistaken unit.
const ROUND_TRIP_S_MAX: f64 = 60.0;

#[derive(Clone, Debug, PartialEq, Eq)]
enum Listen {
    Socket(PathBuf),
    Port(u16),
}

pub fn main(arguments: &Arguments) -> Result<ExitCode, CommandError> {
    let (socket, port) = match &arguments.listen {
        Listen::Socket(path) => (Some(path.clone()), None),
        Listen::Port(port) => (None, Some(*port)),
    };
    let line = DelayLine {
        target: arguments.address.clone(),
        socket,
        port,
        round_trip_ns: arguments.round_trip,
        threads: arguments.threads.unwrap_or_else(threads::half_of_host),
    };
    let stop = Arc::new(AtomicBool::new(false));
    let signals = Signals::raise(&stop);
    let requests: Option<Tell> = arguments.on_request.then(|| {
        let tell = |report: LineReport| {
            // A program that does not read it will not ask again either.
            let _ = output::line(&in_json(&report).to_string());
        };
        Box::new(tell) as Tell
    });
    let stood = stand(&line, &mut super::listening, requests, &stop);
    drop(signals);
    output::whole_json(&in_json(&stood?))
}

fn in_json(report: &LineReport) -> Value {
    json!({
        "type": "passed",
        "connections": report.connections,
        "refused": report.refused,
        "refusal": report.refusal,
        "bytes_to_server": report.bytes_to_server,
        "bytes_to_client": report.bytes_to_client,
        "late_us": report.late.percentiles_us(),
        "late_hdr_ns": report.late.encode(),
        "cpu_us": report.cpu_ns / 1_000,
    })
}

/// A time with its unit, in nanoseconds; 0 needs none.
fn round_trip_ns(text: &str) -> Result<u64, String> {
    let refused = || "use a time with its unit, 0 to 60s, such as 200us or 1.5ms".to_owned();
    let text = text.trim();
    let unit_at = text.find(|c: char| !c.is_ascii_digit() && c != '.');
    let (number, unit) = text.split_at(unit_at.unwrap_or(text.len()));
    let unit_s = match unit.trim() {
        "us" | "µs" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        "" if number == "0" => 1.0,
        _ => return Err(refused()),
    };
    match number.parse::<f64>() {
        Ok(number) if (0.0..=ROUND_TRIP_S_MAX).contains(&(number * unit_s)) => {
            Ok((number * unit_s * 1e9).round() as u64)
        }
        _ => Err(refused()),
    }
}

fn listen(text: &str) -> Result<Listen, String> {
    if text.contains('/') {
        return Ok(Listen::Socket(text.into()));
    }
    let port = text.strip_prefix("127.0.0.1:").unwrap_or(text);
    port.parse().map(Listen::Port).map_err(|_| {
        "use the path of a socket, with a slash in it, or a port of 127.0.0.1".to_owned()
    })
}

fn address(text: &str) -> Result<Address, String> {
    if text.contains('/') {
        return Ok(Address::Unix(text.into()));
    }
    let parts = text.rsplit_once(':');
    let Some((host, Ok(port))) = parts.map(|(host, port)| (host, port.parse())) else {
        return Err("use the path of a socket, with a slash in it, or HOST:PORT".to_owned());
    };
    Address::of_host(host, port).map_err(|error| format!("unknown host {host}: {error}"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn times_have_units() {
        for (text, ns) in [
            ("0", 0),
            ("0us", 0),
            ("200us", 200_000),
            ("1.5 ms", 1_500_000),
            ("0.1µs", 100),
            ("60s", 60_000_000_000),
        ] {
            assert_eq!(round_trip_ns(text), Ok(ns), "{text}");
        }
        for text in ["-1", "200", "61s", "1h", "us", "", "1.2.3ms", "nan"] {
            assert!(round_trip_ns(text).unwrap_err().contains("200us"), "{text}");
        }
    }

    #[test]
    fn places_are_paths_or_ports() {
        assert_eq!(
            listen("/tmp/x.sock"),
            Ok(Listen::Socket("/tmp/x.sock".into()))
        );
        assert_eq!(listen("3307"), Ok(Listen::Port(3307)));
        assert_eq!(listen("127.0.0.1:0"), Ok(Listen::Port(0)));
        assert!(listen("0.0.0.0:3307").is_err() && listen("x.sock").is_err());
        assert_eq!(address("./x"), Ok(Address::Unix("./x".into())));
        let tcp = Address::Tcp(([127, 0, 0, 1], 3306).into());
        assert_eq!(address("127.0.0.1:3306"), Ok(tcp));
        assert!(address("db1").is_err() && address("db1:x").is_err());
        assert!(
            address("no.such.host.invalid:1")
                .unwrap_err()
                .contains("not known")
        );
    }
}

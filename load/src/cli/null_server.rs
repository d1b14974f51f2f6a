//! `contend-load null-server`: answers without a database behind them, to measure the client.

use super::{output, run};
use crate::drive::clock::seconds_ns;
use crate::drive::null_server::{Listening, Served, Service, serve};
use crate::drive::signals::Signals;
use crate::drive::threads;
use crate::serve::{ServiceTime, Stalls};
use serde_json::json;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Serve canned answers over the server's protocol until a signal comes. Anybody is let in.
///
/// Prints {"type": "listening", …} when clients can come and {"type": "served", …} at the end.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Listen on this Unix socket.
    #[arg(long, value_name = "PATH", required_unless_present = "port")]
    socket: Option<PathBuf>,
    /// Listen on this port of 127.0.0.1; 0 takes a free one, which is printed.
    #[arg(long)]
    port: Option<u16>,
    /// Worker threads; otherwise one for every second CPU, as the client has the others.
    #[arg(long, value_name = "N")]
    threads: Option<u32>,
    /// Let each answer take so long.
    #[arg(long, value_name = "MICROSECONDS", default_value_t = 0.0)]
    service_us: f64,
    /// How the time of an answer is spread: always the same, or exponential.
    #[arg(long, value_enum, default_value_t = Spread::Fixed)]
    service: Spread,
    /// Let all answers stand still every so often.
    #[arg(long, value_name = "SECONDS", requires = "stall_ms")]
    stall_every_s: Option<f64>,
    /// Let them stand still for so long.
    #[arg(long, value_name = "MILLISECONDS", requires = "stall_every_s")]
    stall_ms: Option<f64>,
    /// Seed of random times.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Spread {
    Fixed,
    Random,
}

pub fn main(arguments: &Arguments) -> ExitCode {
    let service = match service_of(arguments) {
        Ok(service) => service,
        Err(message) => {
            eprintln!("contend-load: {message}");
            return ExitCode::from(2);
        }
    };
    let stop = Arc::new(AtomicBool::new(false));
    let raised = Arc::clone(&stop);
    let signals = Signals::listen(move || {
        raised.store(true, Ordering::Relaxed);
        true
    });
    let served = serve(&service, &mut listening, &stop);
    drop(signals);
    match served {
        Ok(Served {
            connections,
            queries,
        }) => output::whole(
            &json!({"type": "served", "connections": connections, "queries": queries}).to_string(),
        ),
        Err(failure) => {
            eprintln!("contend-load: {}", run::in_words(&failure));
            ExitCode::FAILURE
        }
    }
}

fn listening(listening: &Listening) {
    let line = json!({
        "type": "listening",
        "pid": std::process::id(),
        "socket": listening.socket,
        "port": listening.port,
    });
    // Who does not read it waits for the socket instead.
    let _ = output::line(&line.to_string());
}

fn service_of(arguments: &Arguments) -> Result<Service, String> {
    let is_time = |time: f64| (0.0..1e9).contains(&time);
    let times = [
        ("--service-us", Some(arguments.service_us)),
        ("--stall-every-s", arguments.stall_every_s),
        ("--stall-ms", arguments.stall_ms),
    ];
    for (name, time) in times {
        if !time.is_none_or(is_time) {
            return Err(format!("{name}: give a time, 0 or more"));
        }
    }
    let service_ns = seconds_ns(arguments.service_us / 1e6);
    let stalls = arguments.stall_every_s.zip(arguments.stall_ms);
    Ok(Service {
        socket: arguments.socket.clone(),
        port: arguments.port,
        threads: arguments.threads.unwrap_or_else(threads::half_of_host),
        time: match arguments.service {
            _ if service_ns == 0 => ServiceTime::None,
            Spread::Fixed => ServiceTime::Fixed { ns: service_ns },
            Spread::Random => ServiceTime::Random {
                mean_ns: service_ns,
            },
        },
        stalls: stalls.map(|(every_s, length_ms)| Stalls {
            every_ns: seconds_ns(every_s),
            length_ns: seconds_ns(length_ms / 1e3),
        }),
        seed: arguments.seed,
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
    fn times_become_nanoseconds() {
        let words = "--port 0 --service-us 1.5 --stall-every-s 10 --stall-ms 200 --threads 3";
        let service = service_of(&parse(words).unwrap()).unwrap();
        assert_eq!(service.time, ServiceTime::Fixed { ns: 1_500 });
        let stalls = service.stalls.unwrap();
        assert_eq!(
            (stalls.every_ns, stalls.length_ns),
            (10_000_000_000, 200_000_000)
        );
        assert_eq!(service.threads, 3);
        assert!(service_of(&parse("--port 0 --service-us=-1").unwrap()).is_err());
        let random = parse("--port 0 --service random --service-us 2").unwrap();
        let mean = ServiceTime::Random { mean_ns: 2_000 };
        assert_eq!(service_of(&random).unwrap().time, mean);
    }
}

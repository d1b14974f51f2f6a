//! `contend-load run PLAN`: one plan in, outcomes out as JSON lines.

use super::{output, plan_file};
use crate::drive::clock::seconds_ns;
use crate::drive::run::{Ended, EngineChoice, Job, Measured, Progress, run};
use crate::drive::setup::{Codes, DRAIN_NS, ErrorPolicy, Setup};
use crate::drive::socket::Address;
use crate::drive::threads;
use crate::outcome::{
    ClassFigures, Done, Failure, Hello, Interval, OUTCOME_VERSION, Outcome, Phase,
};
use crate::plan::{Engine, Errors, Plan, Server};
use crate::record::{HdrLog, Tally};
use crate::wire::{Credentials, Options};
use crate::workload::{self, Workload};
use std::fs::File;
use std::io::{self, BufWriter};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

/// Run one plan and write what it measured as JSON lines.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The plan, a JSON file; - for standard input.
    plan: String,
    /// Write every interval's histograms to this file, in HdrHistogram's log format.
    #[arg(long, value_name = "FILE")]
    hdr_log: Option<PathBuf>,
}

/// Answers before the load begins come within this, where connecting is allowed less.
const SETUP_TIMEOUT_S_MIN: f64 = 30.0;

pub fn main(arguments: &Arguments) -> ExitCode {
    let prepared = plan_file::read(&arguments.plan).and_then(|plan| {
        let job = job_of(&plan)?;
        let log = arguments.hdr_log.as_ref().map(create).transpose()?;
        Ok((job, log))
    });
    match prepared {
        Ok((job, log)) => measure(job, log),
        Err(message) => {
            eprintln!("contend-load: {message}");
            ExitCode::from(2)
        }
    }
}

fn create(path: &PathBuf) -> Result<BufWriter<File>, String> {
    File::create(path)
        .map(BufWriter::new)
        .map_err(|error| format!("cannot write {}: {error}", path.display()))
}

/// What the drive room is to do. Everything that can be refused without a server is.
fn job_of(plan: &Plan) -> Result<Job, String> {
    let server = &plan.server;
    let password = password_of(server)?;
    let load = &plan.load;
    let address = address_of(server)?;
    let workers = load
        .threads
        .unwrap_or_else(|| threads::for_connections(load.connections));
    Ok(Job {
        setup: Setup {
            options: Options {
                database: server.database.clone(),
                unix_socket: matches!(address, Address::Unix(_)),
                ..Options::default()
            },
            address,
            more_addresses: Vec::new(),
            credentials: Credentials {
                user: server.user.clone(),
                password,
            },
            workload: workload::from_plan(&plan.workload, load.protocol),
            seats: load.connections,
            workers: workers.min(load.connections),
            seed: plan.seed,
            errors: policy_of(&load.errors),
            connect_timeout_ns: seconds_ns(server.connect_timeout_s),
            setup_timeout_ns: seconds_ns(server.connect_timeout_s.max(SETUP_TIMEOUT_S_MIN)),
            drain_ns: DRAIN_NS,
            events_max: None,
        },
        engine: match load.engine {
            Engine::Auto => EngineChoice::Auto,
            Engine::Epoll => EngineChoice::Epoll,
            Engine::IoUring => EngineChoice::Uring,
        },
        warmup_ns: seconds_ns(load.warmup_s),
        measure_ns: seconds_ns(load.measure_s),
        interval_ns: seconds_ns(load.interval_s),
        watch_pid: plan.watch.as_ref().map(|watch| watch.pid),
    })
}

pub(super) fn password_of(server: &Server) -> Result<String, String> {
    match &server.password_env {
        None => Ok(String::new()),
        Some(name) => std::env::var(name).map_err(|_| {
            format!("server.password_env: the environment variable {name} is not set")
        }),
    }
}

pub(super) fn address_of(server: &Server) -> Result<Address, String> {
    if let Some(socket) = &server.socket {
        return Ok(Address::Unix(socket.clone()));
    }
    let host = server.host.as_deref().unwrap_or_default();
    Address::of_host(host, server.port)
        .map_err(|error| format!("server.host: {host} cannot be looked up: {error}"))
}

fn policy_of(errors: &Errors) -> ErrorPolicy {
    ErrorPolicy {
        retry: errors.retry.clone(),
        ignore: if errors.ignore_all {
            Codes::All
        } else {
            Codes::Only(errors.ignore.clone())
        },
        reconnect: errors.reconnect,
    }
}

fn measure(job: Job, log: Option<BufWriter<File>>) -> ExitCode {
    let mut teller = Teller {
        workload: Arc::clone(&job.setup.workload),
        log: Log::of(log),
        broken: None,
    };
    let outcome = match run(job, &mut |progress| teller.tell(progress)) {
        Ok(measured) => Outcome::Done(Box::new(teller.done(&measured))),
        Err(failure) => Outcome::Error(failure),
    };
    teller.write(&outcome);
    match (teller.broken, outcome) {
        (Some(error), _) => output::failed(&error),
        (None, Outcome::Error(failure)) => {
            eprintln!("contend-load: {}", in_words(&failure));
            ExitCode::FAILURE
        }
        (None, _) => ExitCode::SUCCESS,
    }
}

pub(super) fn in_words(failure: &Failure) -> String {
    let mut words = failure.message.clone();
    if let Some(statement) = &failure.statement {
        words.push_str(&format!("\n  statement: {statement}"));
    }
    if let Some(hint) = &failure.hint {
        words.push_str(&format!("\n  hint: {hint}"));
    }
    words
}

/// Turns progress into lines.
struct Teller {
    workload: Arc<dyn Workload>,
    log: Log,
    /// Why a line or the log could not be written. The run goes on to its end without.
    broken: Option<io::Error>,
}

/// The histogram log, which can begin when the load does.
enum Log {
    None,
    Waiting(BufWriter<File>),
    Open(HdrLog<BufWriter<File>>),
}

impl Log {
    fn of(file: Option<BufWriter<File>>) -> Self {
        file.map_or(Self::None, Self::Waiting)
    }
}

impl Teller {
    fn write(&mut self, outcome: &Outcome) {
        if self.broken.is_some() {
            return;
        }
        let written = serde_json::to_string(outcome)
            .map_err(io::Error::from)
            .and_then(|text| output::line(&text));
        self.broken = written.err();
    }

    fn tell(&mut self, progress: Progress<'_>) {
        match progress {
            Progress::Ready {
                server_version,
                engine,
                workers,
                start,
            } => {
                self.log = match std::mem::replace(&mut self.log, Log::None) {
                    Log::Waiting(file) => match HdrLog::begin(file, start) {
                        Ok(log) => Log::Open(log),
                        Err(error) => {
                            self.broken = Some(error);
                            Log::None
                        }
                    },
                    other => other,
                };
                self.write(&Outcome::Hello(Hello {
                    version: OUTCOME_VERSION,
                    program_version: env!("CARGO_PKG_VERSION").to_owned(),
                    pid: std::process::id(),
                    threads: workers,
                    engine: engine.to_owned(),
                    server_version: server_version.to_owned(),
                }));
            }
            Progress::Phase { name, at_s } => {
                self.write(&Outcome::Phase(Phase {
                    phase: name.to_owned(),
                    at_s,
                }));
            }
            Progress::Interval {
                index,
                start_s,
                duration_s,
                tally,
            } => {
                self.log_interval(start_s, duration_s, tally);
                self.write(&Outcome::Interval(Interval {
                    index,
                    start_s,
                    duration_s,
                    queries: tally.queries,
                    errors: tally.errors.total(),
                    qps: rate(tally.queries, duration_s),
                    latency_us: tally.response.percentiles_us(),
                }));
            }
        }
    }

    fn log_interval(&mut self, start_s: f64, duration_s: f64, tally: &Tally) {
        let Log::Open(log) = &mut self.log else {
            return;
        };
        let mut written = log.write(None, start_s, duration_s, &tally.response);
        for (name, class) in self.workload.classes().iter().zip(&tally.classes) {
            if let Some(latency) = &class.latency {
                written =
                    written.and_then(|()| log.write(Some(name), start_s, duration_s, latency));
            }
        }
        if let Err(error) = written {
            self.broken = Some(error);
            self.log = Log::None;
        }
    }

    fn done(&self, measured: &Measured) -> Done {
        let tally = &measured.tally;
        let measured_s = measured.measured_ns as f64 / 1e9;
        Done {
            ended: match measured.ended {
                Ended::Time => "time",
                Ended::Events => "events",
                Ended::Signal => "signal",
            }
            .to_owned(),
            measured_s,
            events: tally.events,
            queries: tally.queries,
            rows: tally.rows,
            bytes_sent: tally.bytes_sent,
            bytes_received: tally.bytes_received,
            qps: rate(tally.queries, measured_s),
            arrival: "closed-loop".to_owned(),
            latency_us: tally.response.percentiles_us(),
            latency_hdr_ns: tally.response.encode(),
            classes: self.classes(tally),
            errors: tally.errors.counts(),
            reconnects: tally.reconnects,
            outage_s: tally.outage_ns as f64 / 1e9,
            unanswered: measured.unanswered,
            longest_wait_s: measured.longest_wait_ns as f64 / 1e9,
            client: measured.client.clone(),
            server: measured.server.clone(),
            client_busiest_thread_share: share(
                measured.busiest_worker_cpu_ns,
                measured.measured_ns,
            ),
            fairness: jain(&measured.queries_by_seat),
        }
    }

    fn classes(&self, tally: &Tally) -> Vec<ClassFigures> {
        self.workload
            .classes()
            .iter()
            .zip(&tally.classes)
            .map(|(name, class)| ClassFigures {
                name: name.clone(),
                queries: class.queries,
                rows: class.rows,
                errors: class.errors,
                // Where every query is an event, the times of events are those of queries.
                latency_us: class
                    .latency
                    .as_deref()
                    .unwrap_or(&tally.response)
                    .percentiles_us(),
            })
            .collect()
    }
}

fn rate(count: u64, seconds: f64) -> f64 {
    if seconds > 0.0 {
        count as f64 / seconds
    } else {
        0.0
    }
}

fn share(part: u64, whole: u64) -> f64 {
    if whole > 0 {
        part as f64 / whole as f64
    } else {
        0.0
    }
}

/// Jain's index: 1 where all have the same, 1/n where one has everything.
fn jain(counts: &[u64]) -> f64 {
    let sum: f64 = counts.iter().map(|count| *count as f64).sum();
    let squares: f64 = counts.iter().map(|count| (*count as f64).powi(2)).sum();
    // Nobody got anything: nobody got less than another.
    if squares == 0.0 {
        1.0
    } else {
        sum * sum / (counts.len() as f64 * squares)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn fairness_is_one_when_even_and_falls_to_one_of_n() {
        assert!((jain(&[5, 5, 5, 5]) - 1.0).abs() < 1e-12);
        assert!((jain(&[0, 0, 0, 8]) - 0.25).abs() < 1e-12);
        assert!((jain(&[0, 0]) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn no_time_means_no_rate() {
        assert_eq!(rate(5, 0.0), 0.0);
        assert_eq!(share(5, 0), 0.0);
    }
}

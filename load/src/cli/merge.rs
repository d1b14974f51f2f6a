//! `contend-load merge`: the outcome of a run of several hosts, from the lines of its parts.

use super::outcome_lines::{OutcomeWriter, host_figures};
use super::part::job_of_share;
use super::plan_file;
use contend_console::output::CommandError;
use contend_engine::arrival::Share;
use contend_engine::measured::{Measured, Progress};
use contend_engine::merge::{HostParts, PartInterval};
use contend_figures::outcome::{ClockOffset, Failure, Hello, HostFigures, Outcome, Phase};
use contend_plan::{HostLost, Plan};
use contend_reactor::limits;
use serde::Deserialize;
use serde_json::Value;
use std::io::{self, BufRead};
use std::process::ExitCode;

/// Combine the parts of a run shared by several hosts, and write its outcome.
///
/// The first line of standard input is {"plan": PLAN, "hosts": [NAME, ...]}. Each further line has
/// the number of a host, a tab, and a line that `part` wrote there, or {"type": "lost", "why":
/// TEXT}, or {"type": "clock", "before": OFFSET, "after": OFFSET} with OFFSETs printed by `clock`.
#[derive(Debug, clap::Args)]
pub struct Arguments {}

#[derive(Deserialize)]
struct Head {
    plan: Value,
    hosts: Vec<String>,
}

#[derive(Deserialize)]
struct LineKind {
    r#type: String,
}

#[derive(Deserialize)]
struct Lost {
    why: String,
}

#[derive(Deserialize)]
struct Clock {
    before: ClockOffset,
    after: Option<ClockOffset>,
}

/// The reports of one host.
#[derive(Default)]
struct HostTold {
    name: String,
    hello: Option<Hello>,
    /// Figures of what it measured, which is in the sum.
    figures: Option<HostFigures>,
    failure: Option<Failure>,
    lost: Option<String>,
    clock: Option<Clock>,
}

impl HostTold {
    /// Whether its figures count, as far as is known. A host that is lost after its result has lost
    /// nothing.
    fn is_there(&self) -> bool {
        self.figures.is_some() || self.lost.is_none() && self.failure.is_none()
    }
}

/// The histograms of a host take some 20 MB, and those of the next host as much again.
const GIVEN_BACK_FROM: i32 = 32 << 20;

pub fn main(_: &Arguments) -> Result<ExitCode, CommandError> {
    limits::give_back_from(GIVEN_BACK_FROM);
    let mut lines = io::stdin().lock().lines();
    let head = lines.next().transpose()?.unwrap_or_default();
    let head: Head = serde_json::from_str(&head).map_err(|error| error.to_string())?;
    let plan = plan_file::parse(&head.plan.to_string())?;
    let mut merge = Merge::new(plan, head.hosts)?;
    for line in lines {
        let line = line?;
        let (host, told) = line
            .split_once('\t')
            .and_then(|(host, told)| Some((host.parse().ok()?, told)))
            .ok_or_else(|| "a line does not begin with the number of a host".to_owned())?;
        merge.take(host, told)?;
    }
    merge.end()
}

struct Merge {
    plan: Plan,
    hosts: Vec<HostTold>,
    parts: HostParts,
    /// Sum of the hosts that have reported.
    sum: Option<Measured>,
    writer: OutcomeWriter,
    /// Phases that some host has entered, and the number of them that are reported.
    phases: Vec<Phase>,
    phases_told: usize,
    is_begun: bool,
}

impl Merge {
    fn new(plan: Plan, names: Vec<String>) -> Result<Self, String> {
        let job = job_of_share(&plan, Share::WHOLE)?;
        let hosts = names.into_iter().map(|name| HostTold {
            name,
            ..HostTold::default()
        });
        let hosts: Vec<_> = hosts.collect();
        if hosts.len() != plan.load.hosts as usize {
            return Err(format!(
                "{} hosts are listed, but load.hosts is {}",
                hosts.len(),
                plan.load.hosts
            ));
        }
        Ok(Self {
            parts: HostParts::new(hosts.len(), job.setup.arms.first.shape()),
            sum: None,
            writer: OutcomeWriter::new(&job.setup, None),
            plan,
            hosts,
            phases: Vec::new(),
            phases_told: 0,
            is_begun: false,
        })
    }

    fn take(&mut self, host: usize, line: &str) -> Result<(), String> {
        let wrong = |error: serde_json::Error| format!("line of host {host}: {error}");
        let LineKind { r#type } = serde_json::from_str(line).map_err(wrong)?;
        let hosts = self.hosts.len();
        let told = self.hosts.get_mut(host);
        let told = told.ok_or_else(|| format!("host {host} does not exist; there are {hosts}"))?;
        match r#type.as_str() {
            "hello" => told.hello = Some(serde_json::from_str(line).map_err(wrong)?),
            "phase" => {
                let phase: Phase = serde_json::from_str(line).map_err(wrong)?;
                if self.phases.iter().all(|known| known.phase != phase.phase) {
                    self.phases.push(phase);
                }
            }
            "interval" => {
                let interval: PartInterval = serde_json::from_str(line).map_err(wrong)?;
                let writer = &mut self.writer;
                let tell = &mut |index, sum| tell_interval(writer, index, &sum);
                self.parts.take(host, interval, tell)?;
            }
            "part" => {
                let measured: Box<Measured> = serde_json::from_str(line).map_err(wrong)?;
                self.parts.check(&measured.tally)?;
                self.parts.check(&measured.drained)?;
                told.figures = Some(HostFigures {
                    connections: self.plan.load.connections / self.plan.load.hosts.max(1),
                    ..host_figures(&measured)
                });
                match &mut self.sum {
                    Some(sum) => sum.merge(*measured),
                    None => self.sum = Some(*measured),
                }
                self.end_intervals(host)?;
            }
            "error" => {
                told.failure = Some(serde_json::from_str(line).map_err(wrong)?);
                self.end_intervals(host)?;
            }
            "lost" => {
                let Lost { why } = serde_json::from_str(line).map_err(wrong)?;
                told.lost = Some(why);
                self.end_intervals(host)?;
            }
            "clock" => told.clock = Some(serde_json::from_str(line).map_err(wrong)?),
            other => {
                return Err(format!("line of host {host}: unknown type {other}"));
            }
        }
        self.tell_hello();
        if self.is_begun {
            let phases = self.phases.iter().skip(self.phases_told);
            phases.for_each(|phase| self.writer.write(&Outcome::Phase(phase.clone())));
            self.phases_told = self.phases.len();
        }
        Ok(())
    }

    fn end_intervals(&mut self, host: usize) -> Result<(), String> {
        let writer = &mut self.writer;
        self.parts
            .end(host, &mut |index, sum| tell_interval(writer, index, &sum))
    }

    /// Prints one hello for all hosts when every host has sent its own.
    fn tell_hello(&mut self) {
        let there = || self.hosts.iter().filter(|host| host.is_there());
        if self.is_begun || !there().all(|host| host.hello.is_some()) {
            return;
        }
        let mut hellos = there().filter_map(|host| host.hello.clone());
        if let Some(first) = hellos.next() {
            let threads = hellos.map(|hello| hello.threads).sum::<u32>() + first.threads;
            self.is_begun = true;
            self.writer
                .write(&Outcome::Hello(Hello { threads, ..first }));
        }
    }

    fn end(mut self) -> Result<ExitCode, CommandError> {
        let outcome = match self.failure() {
            Some(failure) => Outcome::Error(failure),
            None => self.sum(),
        };
        self.writer.write(&outcome);
        match (self.writer.broken(), outcome) {
            (Some(error), _) => Err(error.into()),
            (None, Outcome::Error(failure)) => Err(failure.into()),
            (None, _) => Ok(ExitCode::SUCCESS),
        }
    }

    /// Why there is no result: the failure of a host, or a host that was lost.
    fn failure(&self) -> Option<Failure> {
        let is_whole = |host: &HostTold| host.figures.is_some();
        let goes_on = self.plan.load.host_lost == HostLost::GoOn;
        if self.hosts.iter().all(is_whole) || goes_on && self.hosts.iter().any(is_whole) {
            return None;
        }
        // A server's refusal explains more than the stop of a host after it.
        let failed = self.hosts.iter().find_map(|host| {
            let failure = host.failure.clone()?;
            let message = format!("host {}: {}", host.name, failure.message);
            Some(Failure { message, ..failure })
        });
        let lost = |host: &HostTold| {
            let why = host.lost.as_ref()?;
            Some(format!("host {} was lost: {why}", host.name))
        };
        failed.or_else(|| {
            // The others were stopped then.
            let first = self.hosts.iter().find_map(lost);
            let words = first.unwrap_or_else(|| "not every host sent its result".to_owned());
            Some(Failure::with_hint(
                words,
                "set load.host_lost = \"go_on\" to continue with the others",
            ))
        })
    }

    fn sum(&mut self) -> Outcome {
        let mut figures = Vec::new();
        for host in &mut self.hosts {
            let own = host.figures.take().unwrap_or_else(|| {
                let failed = host.failure.as_ref().map(|failure| failure.message.clone());
                let why = host.lost.clone().or(failed);
                HostFigures {
                    lost: why.or_else(|| Some("it exited without a result".to_owned())),
                    ..host_figures(&Measured::default())
                }
            });
            let clock = host.clock.as_ref();
            figures.push(HostFigures {
                name: host.name.clone(),
                clock_before: clock.map(|clock| clock.before).unwrap_or_default(),
                clock_after: clock.and_then(|clock| clock.after),
                ..own
            });
        }
        let Some(sum) = self.sum.take() else {
            return Outcome::Error(Failure::plain("no host measured anything"));
        };
        let mut done = self.writer.done(&sum);
        done.connections = figures.iter().map(|host| host.connections).sum();
        done.hosts = figures;
        Outcome::Done(Box::new(done))
    }
}

fn tell_interval(writer: &mut OutcomeWriter, index: u32, sum: &PartInterval) {
    writer.take(Progress::Interval {
        index,
        start_s: sum.start_s,
        duration_s: sum.duration_s,
        tally: &sum.tally,
        counts: &[],
        backlog: sum.backlog,
    });
}

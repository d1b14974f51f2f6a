//! The figures of one number of clients: mysqlslap's report and CSV, and what it has not.

use super::SlapHalt;
use super::load::Iteration;
use super::print;
use super::settings::SlapSettings;
use contend_client::failure;
use contend_figures::outcome::{ErrorCount, QueryCounts};
use contend_figures::{ClassTally, Latency, Sum, Tally};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::Write as _;

/// Adds a line to a report. Writing to memory does not fail.
macro_rules! line {
    ($out:ident, $($words:tt)*) => {{
        let _ = writeln!($out, "\t{}", format_args!($($words)*));
    }};
}

/// All iterations of one engine and number of clients.
#[derive(Debug)]
pub struct Round {
    engine: Option<String>,
    clients: u32,
    /// Requested statements per client, if no time limit ends them.
    each: u64,
    times_ns: Vec<u64>,
    tally: Option<Tally>,
    connects: Latency,
    unfinished: u32,
}

impl Round {
    pub fn new(engine: Option<String>, clients: u32, each: u64) -> Self {
        Self {
            engine,
            clients,
            each,
            times_ns: Vec::new(),
            tally: None,
            connects: Latency::new(),
            unfinished: 0,
        }
    }

    pub fn add(&mut self, iteration: Iteration) {
        self.times_ns.push(iteration.seconds_ns);
        let Some(measured) = iteration.measured else {
            return;
        };
        self.connects.merge(&measured.setup_connects);
        if let Some(connects) = &measured.tally.connect {
            self.connects.merge(connects);
        }
        self.unfinished += measured.end.unfinished;
        match &mut self.tally {
            Some(tally) => tally.merge(&measured.tally),
            None => self.tally = Some(measured.tally),
        }
    }

    /// Average, least and most, in milliseconds.
    fn times_ms(&self) -> [u64; 3] {
        let times = || self.times_ns.iter().map(|ns| ns / 1_000_000);
        let count = (self.times_ns.len() as u64).max(1);
        [
            times().sum::<u64>() / count,
            times().min().unwrap_or(0),
            times().max().unwrap_or(0),
        ]
    }

    /// Queries per client and iteration. With a time limit, those that were answered.
    fn each(&self, settings: &SlapSettings) -> u64 {
        let answered = self.tally.as_ref().map(|tally| tally.events());
        let clients = u64::from(self.clients) * self.times_ns.len() as u64;
        match answered.filter(|_| settings.duration_s.is_some()) {
            Some(answered) => answered.checked_div(clients).unwrap_or(self.each),
            None => self.each,
        }
    }

    fn report(&self, settings: &SlapSettings) -> String {
        let mut out = String::from("Benchmark\n");
        if let Some(engine) = &self.engine {
            line!(out, "Running for engine {engine}");
        }
        let [average, least, most] = self.times_ms().map(seconds);
        line!(
            out,
            "Average number of seconds to run all queries: {average} seconds"
        );
        line!(
            out,
            "Minimum number of seconds to run all queries: {least} seconds"
        );
        line!(
            out,
            "Maximum number of seconds to run all queries: {most} seconds"
        );
        line!(out, "Number of clients running queries: {}", self.clients);
        let each = self.each(settings);
        line!(out, "Average number of queries per client: {each}");
        if let Some(tally) = &self.tally {
            self.more(tally, &mut out);
        }
        out.push('\n');
        out
    }

    /// Results that mysqlslap does not report.
    fn more(&self, tally: &Tally, out: &mut String) {
        let answered = tally.events();
        let per_second = self.per_second(answered);
        line!(
            out,
            "Queries answered: {answered}, {per_second:.1} per second"
        );
        line!(
            out,
            "Response time of a query: {}",
            in_ms(&tally.whole().response)
        );
        if let [kind] = tally.kinds.as_slice()
            && let Some(open) = &kind.open
        {
            line!(
                out,
                "Part of it waiting for a free client: {}",
                in_ms(&open.lag)
            );
        }
        if self.connects.count() > 0 {
            line!(
                out,
                "Connecting, before the clock starts: {}",
                in_ms(&self.connects)
            );
        }
        if tally.classes.len() > 1 {
            for (number, class) in (1..).zip(&tally.classes) {
                let queries = class.counts.queries;
                let times = class.times.as_deref().map(in_ms).unwrap_or_default();
                line!(out, "Statement {number}: {queries} queries, {times}");
            }
        }
        for error in tally.errors.counts() {
            let ErrorCount {
                code,
                sqlstate,
                count,
                message,
                ..
            } = error;
            line!(
                out,
                "Error {code} ({sqlstate}): {count} times, for example: {message}"
            );
        }
        if self.unfinished > 0 {
            line!(
                out,
                "Queries without an answer at the end: {}",
                self.unfinished
            );
        }
    }

    fn per_second(&self, queries: u64) -> f64 {
        let all_s = self.times_ns.iter().sum::<u64>() as f64 / 1e9;
        queries as f64 / all_s.max(f64::MIN_POSITIVE)
    }

    fn csv(&self, settings: &SlapSettings) -> String {
        let [average, least, most] = self.times_ms().map(seconds);
        let engine = self.engine.as_deref().unwrap_or_default();
        let (load, clients, each) = (&settings.load_type, self.clients, self.each(settings));
        format!("{engine},{load},{average},{least},{most},{clients},{each}\n")
    }

    fn json(&self, settings: &SlapSettings) -> Value {
        let seconds: Vec<f64> = self.times_ns.iter().map(|ns| *ns as f64 / 1e9).collect();
        let mut figures = json!({
            "engine": self.engine,
            "load_type": settings.load_type,
            "clients": self.clients,
            "queries_per_client": self.each(settings),
            "iterations": seconds.len(),
            "seconds": seconds,
        });
        let (Some(tally), Some(figures)) = (&self.tally, figures.as_object_mut()) else {
            return figures;
        };
        let mut put = |name: &str, value: Value| drop(figures.insert(name.to_owned(), value));
        let whole = tally.whole();
        put("queries", json!(tally.events()));
        put("queries_per_second", json!(self.per_second(tally.events())));
        put("queries_failed", json!(whole.counts.failed));
        put("unfinished", json!(self.unfinished));
        put("response_us", json!(whole.response.percentiles_us()));
        if let Some(open) = &whole.open {
            put("lag_us", json!(open.lag.percentiles_us()));
            put("service_us", json!(open.service.percentiles_us()));
        }
        put("connect_us", json!(self.connects.percentiles_us()));
        put("errors", json!(tally.errors.counts()));
        if tally.classes.len() > 1 {
            let statement = |class: &ClassTally| {
                let times = class.times.as_ref().map(|times| times.percentiles_us());
                let QueryCounts { queries, rows, .. } = class.counts;
                json!({"queries": queries, "rows": rows, "errors": class.errors,
                       "response_us": times})
            };
            put("statements", tally.classes.iter().map(statement).collect());
        }
        Value::Object(figures.clone())
    }
}

fn seconds(ms: u64) -> String {
    format!("{}.{:03}", ms / 1000, ms % 1000)
}

fn in_ms(times: &Latency) -> String {
    let times = times.percentiles_us();
    let [p50, p95, p99, max] = [times.p50, times.p95, times.p99, times.max].map(|us| us / 1000.0);
    format!("50 % {p50:.3} ms, 95 % {p95:.3} ms, 99 % {p99:.3} ms, longest {max:.3} ms")
}

/// The destinations of the figures.
#[derive(Debug, Default)]
pub struct Writers {
    csv: Option<Option<File>>,
    json: Option<Option<File>>,
}

impl Writers {
    /// Opens the files, before anything is measured.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn open(settings: &SlapSettings) -> Result<Self, SlapHalt> {
        let open = |target: &Option<Option<String>>, what: &str| -> Result<_, SlapHalt> {
            let Some(Some(path)) = target else {
                return Ok(target.as_ref().map(|_| None));
            };
            let file = OpenOptions::new().append(true).create(true).open(path);
            file.map(|file| Some(Some(file))).map_err(|error| {
                SlapHalt::Request(format!("--{what}={path}: {}", failure::words(&error)))
            })
        };
        Ok(Self {
            csv: open(&settings.says.csv, "csv")?,
            json: open(&settings.says.json, "json")?,
        })
    }

    /// Writes the figures of a round everywhere they are wanted.
    ///
    /// # Errors
    /// A file takes no more.
    pub fn write(&mut self, settings: &SlapSettings, round: &Round) -> Result<(), SlapHalt> {
        if settings.says.report {
            print(&round.report(settings));
        }
        if let Some(csv) = &mut self.csv {
            put(csv.as_mut(), &round.csv(settings))?;
        }
        if let Some(json) = &mut self.json {
            put(json.as_mut(), &format!("{}\n", round.json(settings)))?;
        }
        Ok(())
    }
}

fn put(file: Option<&mut File>, text: &str) -> Result<(), SlapHalt> {
    match file {
        Some(file) => file.write_all(text.as_bytes()).map_err(|error| {
            let why = failure::words(&error);
            SlapHalt::Failed(format!("cannot write the results: {why}"))
        }),
        None => {
            print(text);
            Ok(())
        }
    }
}

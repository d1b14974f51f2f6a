//! The figures of one number of clients: mysqlslap's report and CSV, and what it has not.

use super::SlapHalt;
use super::load::Iteration;
use super::print;
use super::settings::SlapSettings;
use crate::outcome::Percentiles;
use crate::record::{Latency, Tally};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::Write as _;

/// All iterations of one engine and number of clients.
#[derive(Debug)]
pub struct Round {
    engine: Option<String>,
    clients: u32,
    /// Statements of each client as they were asked for, where no time ends them.
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
        self.unfinished += measured.unfinished;
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

    /// Queries of a client in an iteration. Of those that a time ends as many as it answered.
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
        let mut line = |words: std::fmt::Arguments<'_>| {
            // Writing to memory does not fail.
            let _ = writeln!(out, "\t{words}");
        };
        if let Some(engine) = &self.engine {
            line(format_args!("Running for engine {engine}"));
        }
        for (name, ms) in ["Average", "Minimum", "Maximum"]
            .iter()
            .zip(self.times_ms())
        {
            line(format_args!(
                "{name} number of seconds to run all queries: {} seconds",
                seconds(ms)
            ));
        }
        line(format_args!(
            "Number of clients running queries: {}",
            self.clients
        ));
        line(format_args!(
            "Average number of queries per client: {}",
            self.each(settings)
        ));
        if let Some(tally) = self.tally.as_ref().filter(|_| !settings.strict) {
            self.more(tally, &mut line);
        }
        out.push('\n');
        out
    }

    /// What mysqlslap does not tell.
    fn more(&self, tally: &Tally, line: &mut dyn FnMut(std::fmt::Arguments<'_>)) {
        let answered = tally.events();
        line(format_args!(
            "Queries answered: {answered}, {:.1} a second",
            self.per_second(answered)
        ));
        let response = tally.whole().response.percentiles_us();
        line(format_args!(
            "Response time of a query: {}",
            in_ms(&response)
        ));
        if let [kind] = tally.kinds.as_slice()
            && let Some(open) = &kind.open
        {
            let lag = open.lag.percentiles_us();
            line(format_args!(
                "Of that it waited for a free client: {}",
                in_ms(&lag)
            ));
        }
        if self.connects.count() > 0 {
            let connects = self.connects.percentiles_us();
            line(format_args!(
                "Connecting, before the clock starts: {}",
                in_ms(&connects)
            ));
        }
        if tally.classes.len() > 1 {
            for (place, class) in tally.classes.iter().enumerate() {
                let times = class.latency.as_ref().map(|l| l.percentiles_us());
                line(format_args!(
                    "Statement {}: {} queries, {}",
                    place + 1,
                    class.queries,
                    in_ms(&times.unwrap_or_default())
                ));
            }
        }
        for error in tally.errors.counts() {
            line(format_args!(
                "Error {} ({}): {} times, for example: {}",
                error.code, error.sqlstate, error.count, error.message
            ));
        }
        if self.unfinished > 0 {
            line(format_args!(
                "Queries without an answer at the end: {}",
                self.unfinished
            ));
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
        put("queries_failed", json!(tally.failed()));
        put("unfinished", json!(self.unfinished));
        put("response_us", json!(whole.response.percentiles_us()));
        if let Some(open) = &whole.open {
            put("lag_us", json!(open.lag.percentiles_us()));
            put("service_us", json!(open.service.percentiles_us()));
        }
        put("connect_us", json!(self.connects.percentiles_us()));
        put("errors", json!(tally.errors.counts()));
        if tally.classes.len() > 1 {
            let statement = |class: &crate::record::ClassTally| {
                let times = class
                    .latency
                    .as_ref()
                    .map(|latency| latency.percentiles_us());
                json!({"queries": class.queries, "rows": class.rows, "errors": class.errors,
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

fn in_ms(times: &Percentiles) -> String {
    let ms = |us: f64| us / 1000.0;
    format!(
        "50 % {:.3} ms, 95 % {:.3} ms, 99 % {:.3} ms, longest {:.3} ms",
        ms(times.p50),
        ms(times.p95),
        ms(times.p99),
        ms(times.max)
    )
}

/// Where the figures go.
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
            match file {
                Ok(file) => Ok(Some(Some(file))),
                // The n at its end is mysqlslap's.
                Err(_) if settings.strict => Err(SlapHalt::Failed(format!(
                    "Could not open {what} file: {path}n"
                ))),
                Err(error) => Err(SlapHalt::Request(format!(
                    "--{what}={path}: {}",
                    super::plain_words(&error)
                ))),
            }
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
            SlapHalt::Failed(format!(
                "the figures cannot be written: {}",
                super::plain_words(&error)
            ))
        }),
        None => {
            print(text);
            Ok(())
        }
    }
}

//! contend's additions to a report, in files of its own: everything as JSON, histograms as a log.

use super::books::ReportFigures;
use super::settings::Settings;
use crate::cli::new_file::NewFile;
use crate::cli::output::remark;
use contend_figures::outcome::{ErrorCount, Percentiles};
use contend_figures::{Counter, HdrLog, Reading};
use contend_sysbench::lua::run::Run;
use serde::Serialize;
use std::io::{BufWriter, Write as _};
use std::sync::PoisonError;
use std::time::SystemTime;

/// Version of the JSON document.
const VERSION: u32 = 1;

/// The files that were asked for.
#[derive(Debug, Default)]
pub struct Extras {
    json: Option<NewFile>,
    log: Option<HdrLog<BufWriter<NewFile>>>,
    intervals: Vec<IntervalRecord>,
    broken: Option<String>,
}

#[derive(Debug, Serialize)]
struct Document<'a> {
    version: u32,
    program_version: &'a str,
    /// The script's name on the command line.
    script: Option<&'a str>,
    threads: u32,
    seed: u64,
    rate: u64,
    total_s: f64,
    /// `closed-loop`, or `open-loop` under a rate.
    arrival: &'a str,
    /// Events that were due and had not begun at the end.
    waiting: u64,
    totals: Totals,
    latency_us: Percentiles,
    /// HdrHistogram V2 with deflate, base64; nanoseconds.
    latency_hdr_ns: String,
    threads_figures: Vec<ThreadRecord>,
    intervals: &'a [IntervalRecord],
    errors: Vec<ErrorCount>,
}

#[derive(Debug, Serialize)]
struct Totals {
    events: u64,
    reads: u64,
    writes: u64,
    other: u64,
    ignored_errors: u64,
    reconnects: u64,
}

#[derive(Debug, Serialize)]
struct ThreadRecord {
    events: u64,
    time_s: f64,
}

#[derive(Debug, Serialize)]
struct IntervalRecord {
    end_s: f64,
    duration_s: f64,
    threads_running: u32,
    queue_length: u64,
    totals: Totals,
    latency_us: Percentiles,
}

impl Totals {
    fn of(figures: &ReportFigures) -> Self {
        let of = |counter: Counter| figures.sum.of(counter);
        Self {
            events: of(Counter::Events),
            reads: of(Counter::Read),
            writes: of(Counter::Write),
            other: of(Counter::Other),
            ignored_errors: of(Counter::Errors),
            reconnects: of(Counter::Reconnects),
        }
    }
}

impl Extras {
    /// # Errors
    /// A file that cannot be written.
    pub fn open(settings: &Settings) -> Result<Self, String> {
        let log = match &settings.hdr_log {
            Some(path) => {
                let log = HdrLog::begin(BufWriter::new(NewFile::create(path)?), SystemTime::now());
                Some(log.map_err(|error| format!("cannot write --hdr-log: {error}"))?)
            }
            None => None,
        };
        // Refused now rather than after the run.
        let json = settings.json.as_deref().map(NewFile::create).transpose()?;
        Ok(Self {
            json,
            log,
            ..Self::default()
        })
    }

    pub fn add_interval(&mut self, figures: &ReportFigures) {
        self.log_latency(figures);
        if self.json.is_some() {
            self.intervals.push(IntervalRecord {
                end_s: figures.total_s,
                duration_s: figures.interval_s,
                threads_running: figures.sum.running,
                queue_length: figures.queue_length,
                totals: Totals::of(figures),
                latency_us: figures.latency.percentiles_us(),
            });
        }
    }

    fn log_latency(&mut self, figures: &ReportFigures) {
        let Some(log) = &mut self.log else {
            return;
        };
        let start_s = (figures.total_s - figures.interval_s).max(0.0);
        let written = log
            .write(None, start_s, figures.interval_s, &figures.latency)
            .and_then(|()| log.to().get_mut().keep());
        if let Err(error) = written {
            self.broken = Some(format!("cannot write --hdr-log: {error}"));
        }
    }

    /// Writes what belongs to the whole run.
    pub fn conclude(&mut self, run: &Run, settings: &Settings, whole: &ReportFigures) {
        if settings.interval.is_zero() {
            self.log_latency(whole);
        }
        if let Some(file) = self.json.take()
            && let Err(error) = write_json(file, &self.document(run, settings, whole))
        {
            self.broken = Some(format!("cannot write --json: {error}"));
        }
        if let Some(words) = self.broken.take() {
            remark(&format!("WARNING: {words}"));
        }
    }

    fn document<'a>(
        &'a self,
        run: &'a Run,
        settings: &'a Settings,
        whole: &ReportFigures,
    ) -> Document<'a> {
        let errors = run.errors.lock().unwrap_or_else(PoisonError::into_inner);
        let thread = |reading: &Reading| ThreadRecord {
            events: reading.of(Counter::Events),
            time_s: reading.time_ns as f64 / 1e9,
        };
        Document {
            version: VERSION,
            program_version: env!("CARGO_PKG_VERSION"),
            script: run.script.name.as_deref(),
            threads: settings.threads,
            seed: run.draws.seed,
            rate: settings.rate,
            total_s: whole.total_s,
            arrival: if settings.rate > 0 {
                "open-loop"
            } else {
                "closed-loop"
            },
            waiting: whole.queue_length,
            totals: Totals::of(whole),
            latency_us: whole.latency.percentiles_us(),
            latency_hdr_ns: whole.latency.encode(),
            threads_figures: whole.threads.iter().map(thread).collect(),
            intervals: &self.intervals,
            errors: errors.counts(),
        }
    }
}

fn write_json(file: NewFile, document: &Document<'_>) -> std::io::Result<()> {
    let mut file = BufWriter::new(file);
    serde_json::to_writer_pretty(&mut file, document)?;
    file.write_all(b"\n")?;
    file.flush()?;
    file.get_mut().keep()
}

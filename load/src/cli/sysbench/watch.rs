//! Reports while a run goes on: each interval, and at checkpoints.

use super::books::{ReportBooks, ReportFigures};
use super::extras::Extras;
use super::report::{self, Form};
use super::settings::Settings;
use crate::lua::log::{Level, write_stdout};
use crate::lua::run::Run;
use crate::lua::{ScriptError, State, thread};
use crate::record::Counter;
use crate::run::script::Servers;
use std::collections::VecDeque;
use std::ffi::CStr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

const INTERMEDIATE: &CStr = c"report_intermediate";
pub const CUMULATIVE: &CStr = c"report_cumulative";

/// What reporters share.
#[derive(Debug)]
pub struct Reporter {
    run: Arc<Run>,
    form: Form,
    books: Mutex<ReportBooks>,
    extras: Mutex<Extras>,
}

impl Reporter {
    pub fn new(run: Arc<Run>, form: Form, extras: Extras) -> Self {
        Self {
            books: Mutex::new(ReportBooks::new(run.figures.threads.len())),
            run,
            form,
            extras: Mutex::new(extras),
        }
    }

    pub fn books(&self) -> MutexGuard<'_, ReportBooks> {
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn extras(&self) -> MutexGuard<'_, Extras> {
        self.extras.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The form of reports: whether there is SQL is known once somebody asked for a driver.
    pub fn form(&self) -> Form {
        Form {
            sql: self.run.database.is_used(),
            ..self.form.clone()
        }
    }

    fn say_interval(&self, state: Option<&State>, precise: bool) {
        let figures = self.books().interval();
        self.extras().add_interval(&figures);
        let form = self.form();
        if let Some(state) = state {
            let numbers = interval_numbers(&form, &figures);
            return call_hook(state, &self.run, INTERMEDIATE, &numbers);
        }
        let (log, second, digits) = (&self.run.log, figures.total_s, usize::from(precise));
        log.stamp(second, digits, &report::interval(&form, &figures));
        if form.rate {
            log.stamp(second, digits, &report::queue(&form, &figures));
        }
    }

    fn say_checkpoint(&self, state: Option<&State>) {
        let figures = self.books().checkpoint();
        self.run.log.stamp(figures.total_s, 0, "Checkpoint report:");
        self.say_cumulative(state, &figures);
    }

    /// The whole report, by the script's hook or in sysbench's form.
    pub fn say_cumulative(&self, state: Option<&State>, figures: &ReportFigures) {
        let form = self.form();
        if let Some(state) = state.filter(|state| has_hook(state, &self.run, CUMULATIVE)) {
            let numbers = cumulative_numbers(&form, figures);
            return call_hook(state, &self.run, CUMULATIVE, &numbers);
        }
        if self.run.log.shows(Level::Notice) {
            write_stdout(&format!("{}\n", report::cumulative(&form, figures)));
        }
    }
}

/// True where the script has set a hook. That it cannot be looked at any more is said.
fn has_hook(state: &State, run: &Run, hook: &CStr) -> bool {
    state.has_hook(hook).unwrap_or_else(|error| {
        thread::say_failed(run, &hook.to_string_lossy(), &error);
        false
    })
}

fn call_hook(state: &State, run: &Run, hook: &CStr, numbers: &[(&str, f64)]) {
    if let Err(error) = state.call_hook(hook, numbers) {
        let name = hook.to_string_lossy();
        thread::say_failed(run, &name, &error);
    }
}

fn common_numbers(form: &Form, figures: &ReportFigures) -> Vec<(&'static str, f64)> {
    let of = |counter: Counter| figures.sum.of(counter) as f64;
    vec![
        ("threads_running", figures.sum.running.into()),
        ("time_interval", figures.interval_s),
        ("time_total", figures.total_s),
        ("latency_pct", figures.percentile_s(form.percentile)),
        ("events", of(Counter::Events)),
        ("reads", of(Counter::Read)),
        ("writes", of(Counter::Write)),
        ("other", of(Counter::Other)),
        ("errors", of(Counter::Errors)),
        ("reconnects", of(Counter::Reconnects)),
    ]
}

fn interval_numbers(form: &Form, figures: &ReportFigures) -> Vec<(&'static str, f64)> {
    let mut numbers = common_numbers(form, figures);
    numbers.push(("queue_length", figures.queue_length as f64));
    // Without a rate nobody counts those, says sysbench.
    let concurrency = if form.rate { figures.sum.in_event } else { 0 };
    numbers.push(("concurrency", concurrency.into()));
    numbers
}

fn cumulative_numbers(form: &Form, figures: &ReportFigures) -> Vec<(&'static str, f64)> {
    let mut numbers = common_numbers(form, figures);
    numbers.push(("latency_min", figures.min_s()));
    numbers.push(("latency_max", figures.max_s()));
    numbers.push(("latency_avg", figures.mean_s()));
    numbers.push(("latency_sum", figures.sum.time_ns as f64 / 1e9));
    numbers
}

/// The reports that the settings ask for while the run goes on.
pub struct DueReports<'a> {
    reporter: &'a Reporter,
    /// Seconds; 0: no report of intervals. When the next ends.
    every_s: f64,
    next_s: f64,
    /// In seconds, those to come.
    checkpoints: VecDeque<u64>,
    /// States for the hooks that the script has set.
    intermediate: Option<State>,
    cumulative: Option<State>,
}

/// Two sums of the same times are as close.
const SAME_S: f64 = 1e-6;

impl<'a> DueReports<'a> {
    pub fn new(
        reporter: &'a Reporter,
        settings: &Settings,
        main: &State,
        servers: &Servers,
    ) -> Self {
        let every_s = settings.interval.as_secs_f64();
        let state = |is_due: bool, hook| {
            let is_wanted = is_due && has_hook(main, &reporter.run, hook);
            is_wanted.then(|| report_state(&reporter.run, servers))?
        };
        Self {
            reporter,
            every_s,
            next_s: every_s,
            checkpoints: settings.checkpoints.iter().copied().collect(),
            intermediate: state(every_s > 0.0, INTERMEDIATE),
            cumulative: state(!settings.checkpoints.is_empty(), CUMULATIVE),
        }
    }

    /// The run has told of an interval that ended now: says what is due.
    pub fn interval_ended(&mut self, now_s: f64) {
        let now_s = now_s + SAME_S;
        if self.every_s > 0.0 && self.next_s <= now_s {
            self.next_s += self.every_s;
            let precise = self.every_s.fract() != 0.0;
            self.reporter
                .say_interval(self.intermediate.as_ref(), precise);
        }
        let is_due = |checkpoint: &u64| *checkpoint as f64 <= now_s;
        while self.checkpoints.front().is_some_and(is_due) {
            self.checkpoints.pop_front();
            self.reporter.say_checkpoint(self.cumulative.as_ref());
        }
        if self.checkpoints.is_empty() {
            // As under sysbench: what its end has to say comes after the last checkpoint.
            self.cumulative = None;
        }
    }
}

/// A state for hooks: the script in it, its thread number behind those of the workers.
fn report_state(run: &Arc<Run>, servers: &Servers) -> Option<State> {
    let made = || -> Result<State, ScriptError> {
        let state = super::state(run, run.figures.threads.len() as u32, servers)?;
        thread::begin(&state, run)?;
        Ok(state)
    };
    made().inspect_err(|error| run.log.fatal(&error.0)).ok()
}

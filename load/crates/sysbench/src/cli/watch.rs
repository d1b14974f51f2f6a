//! Reports while a run goes on: each interval, and at checkpoints.

use super::hook_thread::HookThread;
use super::report::Form;
use super::report_sums::{ReportFigures, ReportSums};
use super::settings::Settings;
use crate::cli::report;
use crate::host::Servers;
use crate::lua::log::{Level, write_stdout};
use crate::lua::run::Run;
use crate::lua::{State, thread};
use contend_console::output::remark;
use contend_figures::Counter;
use std::collections::VecDeque;
use std::ffi::CStr;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

const INTERMEDIATE: &CStr = c"report_intermediate";
pub const CUMULATIVE: &CStr = c"report_cumulative";

/// Numbers that a hook is called with, by their names.
type HookNumbers = Vec<(&'static str, f64)>;

/// State that all reporters share.
#[derive(Debug)]
pub struct Reporter {
    run: Arc<Run>,
    form: Form,
    sums: Mutex<ReportSums>,
    /// A whole report could not be made.
    failed: AtomicBool,
}

impl Reporter {
    pub fn new(run: Arc<Run>, form: Form) -> Self {
        Self {
            sums: Mutex::new(ReportSums::new(run.figures.threads.len())),
            run,
            form,
            failed: AtomicBool::new(false),
        }
    }

    pub fn has_failed(&self) -> bool {
        self.failed.load(Relaxed)
    }

    pub fn sums(&self) -> MutexGuard<'_, ReportSums> {
        self.sums.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The form of reports: whether there is SQL is known once the script asked for a driver.
    pub fn form(&self) -> Form {
        Form {
            sql: self.run.database.is_used(),
            ..self.form.clone()
        }
    }

    /// To the hook, or if it cannot be called in sysbench's form.
    fn print_interval(&self, hook: Option<&HookThread>, precise: bool) {
        let figures = self.sums().interval();
        if hook.is_some_and(|hook| hook.send(figures.clone())) {
            return;
        }
        let form = self.form();
        let (log, second, digits) = (&self.run.log, figures.total_s, usize::from(precise));
        log.stamp(second, digits, &report::interval(&form, &figures));
        if form.rate {
            log.stamp(second, digits, &report::queue(&form, &figures));
        }
    }

    fn print_checkpoint(&self, hook: Option<&HookThread>) {
        let figures = self.sums().checkpoint();
        self.run.log.stamp(figures.total_s, 0, "Checkpoint report:");
        if !hook.is_some_and(|hook| hook.send(figures.clone())) {
            self.print_whole(&figures);
        }
    }

    /// The whole report, by the script's hook or in sysbench's form.
    pub fn print_cumulative(&self, state: &State, figures: &ReportFigures) {
        if has_hook(state, &self.run, CUMULATIVE) {
            let numbers = cumulative_numbers(&self.form(), figures);
            return self.call_hook(state, CUMULATIVE, &numbers);
        }
        self.print_whole(figures);
    }

    /// Calls the hook. A failure is reported, and noted if a whole report is missing then.
    fn call_hook(&self, state: &State, hook: &CStr, numbers: &HookNumbers) {
        if let Err(error) = state.call_hook(hook, numbers) {
            thread::say_failed(&self.run, &hook.to_string_lossy(), &error);
            self.note_missing(hook);
        }
    }

    fn note_missing(&self, hook: &CStr) {
        self.failed.fetch_or(hook == CUMULATIVE, Relaxed);
    }

    /// The whole report in sysbench's form.
    pub fn print_whole(&self, figures: &ReportFigures) {
        if self.run.log.shows(Level::Notice) {
            write_stdout(&format!("{}\n", report::cumulative(&self.form(), figures)));
        }
    }
}

/// True where the script has set a hook. A failed look-up is reported.
fn has_hook(state: &State, run: &Run, hook: &CStr) -> bool {
    state.has_hook(hook).unwrap_or_else(|error| {
        thread::say_failed(run, &hook.to_string_lossy(), &error);
        false
    })
}

fn common_numbers(form: &Form, figures: &ReportFigures) -> HookNumbers {
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

fn interval_numbers(form: &Form, figures: &ReportFigures) -> HookNumbers {
    let mut numbers = common_numbers(form, figures);
    numbers.push(("queue_length", figures.queue_length as f64));
    // Without a rate these are not counted, as under sysbench.
    let concurrency = if form.rate { figures.sum.in_event } else { 0 };
    numbers.push(("concurrency", concurrency.into()));
    numbers
}

fn cumulative_numbers(form: &Form, figures: &ReportFigures) -> HookNumbers {
    let mut numbers = common_numbers(form, figures);
    numbers.push(("latency_min", figures.min_s()));
    numbers.push(("latency_max", figures.max_s()));
    numbers.push(("latency_avg", figures.mean_s()));
    numbers.push(("latency_sum", figures.sum.time_ns as f64 / 1e9));
    numbers
}

/// The reports that the settings ask for while the run goes on.
pub struct DueReports<'a> {
    reporter: &'a Arc<Reporter>,
    /// Seconds; 0: no report of intervals. When the next ends.
    every_s: f64,
    next_s: f64,
    /// In seconds, those to come.
    checkpoints: VecDeque<u64>,
    /// The threads of the hooks that the script has set.
    intermediate: Option<HookThread>,
    cumulative: Option<HookThread>,
}

/// Two sums of the same times are as close.
const SAME_S: f64 = 1e-6;

impl<'a> DueReports<'a> {
    pub fn new(
        reporter: &'a Arc<Reporter>,
        settings: &Settings,
        main: &State,
        servers: &Servers,
    ) -> Self {
        let every_s = settings.interval.as_secs_f64();
        type Numbers = fn(&Form, &ReportFigures) -> HookNumbers;
        let started = |is_due: bool, hook: &'static CStr, merges, numbers: Numbers| {
            if !is_due || !has_hook(main, &reporter.run, hook) {
                return None;
            }
            let of = Arc::clone(reporter);
            HookThread::start(&reporter.run, servers, merges, move |state, figures| {
                of.call_hook(state, hook, &numbers(&of.form(), figures));
            })
        };
        let has_checkpoints = !settings.checkpoints.is_empty();
        Self {
            reporter,
            every_s,
            next_s: every_s,
            checkpoints: settings.checkpoints.iter().copied().collect(),
            intermediate: started(every_s > 0.0, INTERMEDIATE, true, interval_numbers),
            cumulative: started(has_checkpoints, CUMULATIVE, false, cumulative_numbers),
        }
    }

    /// Handles an interval of the run that ended now: prints the reports that are due.
    pub fn interval_ended(&mut self, now_s: f64) {
        let now_s = now_s + SAME_S;
        if self.every_s > 0.0 && self.next_s <= now_s {
            self.next_s += self.every_s;
            let precise = self.every_s.fract() != 0.0;
            self.reporter
                .print_interval(self.intermediate.as_ref(), precise);
        }
        let is_due = |checkpoint: &u64| *checkpoint as f64 <= now_s;
        while self.checkpoints.front().is_some_and(is_due) {
            self.checkpoints.pop_front();
            self.reporter.print_checkpoint(self.cumulative.as_ref());
        }
        if self.checkpoints.is_empty()
            && let Some(hook) = &mut self.cumulative
        {
            // As under sysbench: the output of its end comes after the last checkpoint.
            hook.close();
        }
    }

    /// Waits for the hooks that are being called; those that have not come back by `limit` are
    /// given up. The end of a hook's state may close what the hook has opened; further reports must
    /// wait until then.
    pub fn end(self, limit: Instant) {
        let hooks = [
            (INTERMEDIATE, self.intermediate),
            (CUMULATIVE, self.cumulative),
        ];
        for (name, hook) in hooks {
            if hook.is_none_or(|hook| hook.end(limit)) {
                continue;
            }
            self.reporter.note_missing(name);
            remark(&format!(
                "WARNING: {} had not returned after the time and the drain time; it is given up.",
                name.to_string_lossy()
            ));
        }
    }
}

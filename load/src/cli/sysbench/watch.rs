//! Reports while a run goes on: each interval, and at checkpoints.

use super::books::{Books, Figures};
use super::extras::Extras;
use super::report::{self, Form};
use super::settings::Settings;
use crate::drive::script::{BlockingIo, Servers, Ticker};
use crate::lua::figures::Counter;
use crate::lua::log::{Level, write_stdout};
use crate::lua::run::Run;
use crate::lua::{ScriptError, State, thread};
use std::ffi::CStr;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

const INTERMEDIATE: &CStr = c"report_intermediate";
const CUMULATIVE: &CStr = c"report_cumulative";

/// What reporters share.
#[derive(Debug)]
pub struct Reporter {
    run: Arc<Run>,
    form: Mutex<Form>,
    books: Mutex<Books>,
    extras: Mutex<Extras>,
}

impl Reporter {
    pub fn new(run: Arc<Run>, form: Form, extras: Extras) -> Self {
        let books = Mutex::new(Books::new(Arc::clone(&run)));
        Self {
            run,
            form: Mutex::new(form),
            books,
            extras: Mutex::new(extras),
        }
    }

    pub fn books(&self) -> MutexGuard<'_, Books> {
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn extras(&self) -> MutexGuard<'_, Extras> {
        self.extras.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The form of reports: whether there is SQL is known once somebody asked for a driver.
    pub fn form(&self) -> Form {
        let mut form = self.form.lock().unwrap_or_else(PoisonError::into_inner);
        form.sql = self.run.database.is_used();
        form.clone()
    }

    fn say_interval(&self, state: Option<&State>, precise: bool) {
        let figures = self.books().interval(Instant::now());
        self.extras().add_interval(&figures);
        let form = self.form();
        if let Some(state) = state {
            call_hook(
                state,
                &self.run,
                INTERMEDIATE,
                &interval_numbers(&form, &figures),
            );
            return;
        }
        self.stamp(figures.total_s, precise, &report::interval(&form, &figures));
        if form.rate {
            self.stamp(figures.total_s, precise, &report::queue(&form, &figures));
        }
    }

    fn stamp(&self, second: f64, precise: bool, text: &str) {
        self.run
            .log
            .stamp(second, if precise { 1 } else { 0 }, text);
    }

    fn say_checkpoint(&self, state: Option<&State>) {
        let figures = self.books().checkpoint(Instant::now());
        self.run.log.stamp(figures.total_s, 0, "Checkpoint report:");
        self.say_cumulative(state, &figures);
    }

    /// The whole report, by the script's hook or in sysbench's form.
    pub fn say_cumulative(&self, state: Option<&State>, figures: &Figures) {
        let form = self.form();
        if let Some(state) = state.filter(|state| state.has_hook(CUMULATIVE)) {
            call_hook(
                state,
                &self.run,
                CUMULATIVE,
                &cumulative_numbers(&form, figures),
            );
            return;
        }
        if self.run.log.shows(Level::Notice) {
            write_stdout(&format!("{}\n", report::cumulative(&form, figures)));
        }
    }
}

fn call_hook(state: &State, run: &Run, hook: &CStr, numbers: &[(&CStr, f64)]) {
    if let Err(error) = state.call_hook(hook, numbers) {
        let name = hook.to_string_lossy();
        thread::say_failed(run, &name, &error);
    }
}

fn common_numbers(form: &Form, figures: &Figures) -> Vec<(&'static CStr, f64)> {
    let of = |counter: Counter| figures.sum.of(counter) as f64;
    vec![
        (c"threads_running", figures.threads_running as f64),
        (c"time_interval", figures.interval_s),
        (c"time_total", figures.total_s),
        (c"latency_pct", figures.percentile_s(form.percentile)),
        (c"events", of(Counter::Events)),
        (c"reads", of(Counter::Read)),
        (c"writes", of(Counter::Write)),
        (c"other", of(Counter::Other)),
        (c"errors", of(Counter::Errors)),
        (c"reconnects", of(Counter::Reconnects)),
    ]
}

fn interval_numbers(form: &Form, figures: &Figures) -> Vec<(&'static CStr, f64)> {
    let mut numbers = common_numbers(form, figures);
    numbers.push((c"queue_length", figures.queue_length as f64));
    numbers.push((c"concurrency", figures.concurrency as f64));
    numbers
}

fn cumulative_numbers(form: &Form, figures: &Figures) -> Vec<(&'static CStr, f64)> {
    let mut numbers = common_numbers(form, figures);
    numbers.push((c"latency_min", figures.min_s()));
    numbers.push((c"latency_max", figures.max_s()));
    numbers.push((c"latency_avg", figures.mean_s()));
    numbers.push((c"latency_sum", figures.sum.time_ns as f64 / 1e9));
    numbers
}

/// Begins the reports that the settings ask for, counted from `begun`.
///
/// # Errors
/// A thread cannot be had.
pub fn start(
    reporter: &Arc<Reporter>,
    settings: &Settings,
    hooks: Hooks,
    servers: &Servers,
    begun: Instant,
) -> io::Result<Vec<Ticker>> {
    let mut tickers = Vec::new();
    let every = settings.interval;
    if !every.is_zero() {
        let precise = every.subsec_nanos() != 0;
        let state = hooks
            .intermediate
            .then(|| (Arc::clone(&reporter.run), servers.clone()));
        let reporter = Arc::clone(reporter);
        tickers.push(Ticker::start("report", move || {
            let state = state.and_then(|(run, servers)| report_state(&run, servers));
            let work = move |due: Instant| {
                reporter.say_interval(state.as_ref(), precise);
                Some(next_due(due, every, Instant::now()))
            };
            (work, Some(begun + every))
        })?);
    }
    if !settings.checkpoints.is_empty() {
        let mut moments = settings
            .checkpoints
            .clone()
            .into_iter()
            .map(move |second| begun + Duration::from_secs(second));
        let state = hooks
            .cumulative
            .then(|| (Arc::clone(&reporter.run), servers.clone()));
        let reporter = Arc::clone(reporter);
        tickers.push(Ticker::start("checkpoint", move || {
            let state = state.and_then(|(run, servers)| report_state(&run, servers));
            let first = moments.next();
            let work = move |_: Instant| {
                reporter.say_checkpoint(state.as_ref());
                moments.next()
            };
            (work, first)
        })?);
    }
    Ok(tickers)
}

/// When the interval ends that is in progress at `now`. If this thread was delayed, missed
/// intervals are merged into the last report.
fn next_due(due: Instant, every: Duration, now: Instant) -> Instant {
    let mut next = due + every;
    while next <= now {
        next += every;
    }
    next
}

/// Which hooks the script has set.
#[derive(Clone, Copy, Debug)]
pub struct Hooks {
    pub intermediate: bool,
    pub cumulative: bool,
}

impl Hooks {
    pub fn of(state: &State) -> Self {
        Self {
            intermediate: state.has_hook(INTERMEDIATE),
            cumulative: state.has_hook(CUMULATIVE),
        }
    }
}

/// A state for hooks: the script in it, its thread number behind those of the workers.
fn report_state(run: &Arc<Run>, servers: Servers) -> Option<State> {
    let made = || -> Result<State, ScriptError> {
        let io = BlockingIo::new(Arc::clone(run), Arc::new(servers), None);
        let number = run.figures.threads.len() as u32;
        let state = State::new(Arc::clone(run), number, Box::new(io))?;
        thread::begin(&state, run)?;
        Ok(state)
    };
    made().inspect_err(|error| run.log.fatal(&error.0)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_late_skips_what_has_ended() {
        let due = Instant::now();
        let second = Duration::from_secs(1);
        assert_eq!(next_due(due, second, due), due + second);
        assert_eq!(next_due(due, second, due + second / 2), due + second);
        assert_eq!(next_due(due, second, due + second), due + 2 * second);
        assert_eq!(
            next_due(due, second, due + 5 * second / 2),
            due + 3 * second
        );
    }
}

//! One iteration of the load: clients that begin together, and what came of them.

use super::settings::SlapSettings;
use super::{print, print_statement};
use contend_client::Target;
use contend_engine::arrival::{Dispenser, Schedule};
use contend_engine::job::{ArmJob, Codes, ErrorPolicy, Job, Pacing, Setup, Several};
use contend_engine::measured::{Measured, Progress};
use contend_figures::outcome::{Ended, Failure};
use contend_workloads::client_list::{ClientList, Clients, Text};
use std::io::{IsTerminal as _, Write as _};
use std::sync::Arc;

const INTERVAL_NS: u64 = 1_000_000_000;
/// The value in place of a key where no key is known.
pub const NO_KEY: &str = "796c4422-1d94-102a-9d6d-00e0812d";

/// The result of an iteration.
#[derive(Debug)]
pub struct Iteration {
    pub seconds_ns: u64,
    /// Absent on paper.
    pub measured: Option<Measured>,
}

impl Iteration {
    /// The user pressed Ctrl-C.
    pub fn is_interrupted(&self) -> bool {
        let ended = self.measured.as_ref().map(|measured| measured.end.ended);
        ended == Some(Ended::Signal)
    }
}

/// The work of all clients, with these keys.
pub fn clients(settings: &SlapSettings, keys: Vec<String>) -> Clients {
    let mode = settings.sql_mode.as_deref().map(sql_mode);
    let autocommit = (settings.commit_every > 0).then(|| AUTOCOMMIT_OFF.to_owned());
    let init = settings.init_command.iter().cloned();
    let watches = settings.says.verbosity >= 3;
    Clients {
        statements: settings.texts.list.clone(),
        keys,
        init: init.chain(mode).chain(autocommit).collect(),
        commit_every: settings.commit_every,
        reconnect_every: settings.detach_every,
        prepares: settings.prepares,
        is_shared: settings.rate.is_some(),
        by_statement: settings.by_statement,
        ignores: settings.ignores.clone(),
        watch: watches.then(|| Arc::new(print_step) as _),
    }
}

pub const AUTOCOMMIT_OFF: &str = "SET AUTOCOMMIT=0";

pub fn sql_mode(mode: &str) -> String {
    format!("SET sql_mode = '{}'", mode.replace('\'', "''"))
}

fn print_step(what: Option<&str>) {
    match what {
        Some(sql) => print_statement(sql),
        None => print("connected!\n"),
    }
}

/// Prints what the clients would do, one after the other.
pub fn on_paper(clients: &Clients, count: u32, each: u64) {
    for _ in 0..count {
        if let Some(watch) = &clients.watch {
            watch(None);
        }
        if clients.commit_every > 0 {
            print_statement(AUTOCOMMIT_OFF);
        }
        let statements = clients.statements.iter().cycle();
        for (text, number) in statements.zip(1..=each) {
            match text {
                Text::Plain(sql) => print_statement(sql),
                Text::ByKey(sql) => print_statement(&format!("{sql} '{NO_KEY}'")),
            }
            if clients.commit_every > 0 && number % clients.commit_every == 0 {
                print_statement("COMMIT");
            }
        }
        if clients.commit_every > 0 {
            print_statement("COMMIT");
        }
    }
}

/// Runs the clients, each with `each` statements.
///
/// # Errors
/// A client failed, or the run could not be set up.
pub fn run(
    settings: &SlapSettings,
    target: &Target,
    clients: Clients,
    count: u32,
    each: u64,
    seed: u64,
    progress: &mut SlapProgress,
) -> Result<Iteration, Failure> {
    let is_timed = settings.duration_s.is_some();
    let has_rate = settings.rate.is_some();
    let limit = (has_rate && !is_timed).then(|| each.saturating_mul(count.into()));
    let schedule = settings.rate.map(|rate| Schedule::of_rate(rate, seed));
    let mut server = target.clone();
    server.options.database = Some(settings.schema.clone());
    let clients = Arc::new(ClientList::new(clients));
    let arm = ArmJob {
        pacing: match has_rate {
            true => Pacing::Open,
            false => Pacing::WITHOUT_PAUSE,
        },
        dispenser: Arc::new(Dispenser::new(schedule, limit)),
        events_each: (!is_timed && !has_rate).then_some(each),
        ..ArmJob::of(Several::one(server), clients)
    };
    let setup = Setup {
        seed,
        // Clients judge errors themselves.
        errors: ErrorPolicy {
            retry: Vec::new(),
            ignore: Codes::All,
            reconnect: false,
        },
        looks_first: true,
        ..Setup::new(Several::one(arm), count)
    };
    let job = Job {
        measure_ns: settings.duration_s.map_or(u64::MAX, |s| (s * 1e9) as u64),
        interval_ns: INTERVAL_NS,
        ..Job::new(setup)
    };
    let measured = contend_engine::run(job, &mut |now| progress.take(&now))?;
    let seconds_ns = match measured.end.ended {
        Ended::Events => measured.ended_after_ns,
        Ended::Time | Ended::Signal => (measured.end.measured_s * 1e9) as u64,
    };
    Ok(Iteration {
        seconds_ns,
        measured: Some(measured),
    })
}

/// Shows the progress of an iteration on standard error, if that is a terminal.
#[derive(Debug)]
pub struct SlapProgress {
    shows: bool,
    what: String,
    statements: u64,
    is_shown: bool,
}

impl SlapProgress {
    pub fn new(is_silent: bool) -> Self {
        Self {
            shows: !is_silent && std::io::stderr().is_terminal(),
            what: String::new(),
            statements: 0,
            is_shown: false,
        }
    }

    /// Another iteration begins.
    pub fn begin(&mut self, what: String) {
        self.what = what;
        self.statements = 0;
    }

    pub fn take(&mut self, progress: &Progress<'_>) {
        let Progress::Interval {
            start_s,
            duration_s,
            tally,
            ..
        } = progress
        else {
            return;
        };
        self.statements += tally.events();
        if self.shows {
            let rate = tally.events() as f64 / duration_s.max(f64::MIN_POSITIVE);
            let (what, statements, at_s) = (&self.what, self.statements, start_s + duration_s);
            eprint!("\r\x1b[K{what}: {at_s:.0} s, {statements} statements, {rate:.0} per second");
            self.is_shown = true;
            let _ = std::io::stderr().flush();
        }
    }

    /// Clears the line.
    pub fn end(&mut self) {
        if std::mem::take(&mut self.is_shown) {
            eprint!("\r\x1b[K");
        }
    }
}

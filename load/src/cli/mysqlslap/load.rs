//! One iteration of the load: clients that begin together, and what came of them.

use super::control;
use super::print;
use super::progress::SlapProgress;
use super::settings::SlapSettings;
use crate::cli::output::remark;
use contend_client::Target;
use contend_engine::arrival::{Dispenser, Schedule};
use contend_engine::job::{ArmJob, Codes, ErrorPolicy, Job, Pacing, Setup, Several};
use contend_engine::measured::{Ended, Measured};
use contend_figures::outcome::{Failure, one_line};
use contend_workloads::client_list::{ClientList, Clients, OnRefusal, Reconnect, Text};
use std::sync::Arc;

/// Attempts per connection that is refused.
const TRIES: u32 = 10;
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
        let ended = self.measured.as_ref().map(|measured| measured.ended);
        ended == Some(Ended::Signal)
    }
}

/// The work of all clients, with these keys.
pub fn clients(program: &str, settings: &SlapSettings, keys: Vec<String>) -> Clients {
    let strict = settings.strict;
    let autocommit = (settings.commit_every > 0).then(|| AUTOCOMMIT_OFF.to_owned());
    let mode = settings.sql_mode.as_deref().map(sql_mode);
    let init = settings.init_command.iter().cloned().chain(mode);
    let init = init.chain(autocommit.clone().filter(|_| !strict));
    let watches = settings.says.verbosity >= 3;
    Clients {
        statements: settings.texts.list.clone(),
        keys,
        init: init.collect(),
        first: autocommit.filter(|_| strict).into_iter().collect(),
        commit_every: settings.commit_every,
        reconnect: match settings.detach_every {
            0 => Reconnect::Never,
            every if strict => Reconnect::AtPlace(every),
            every => Reconnect::After(every),
        },
        // One that asks nothing connects all the same.
        connects_late: strict && !settings.texts.list.is_empty(),
        tries: if strict { TRIES } else { 1 },
        prepares: settings.prepares,
        is_shared: settings.rate.is_some(),
        by_statement: settings.by_statement,
        ignores: settings.ignores.clone(),
        watch: watches.then(|| Arc::new(tell) as _),
        on_refusal: strict.then(|| refusal(program)),
    }
}

pub const AUTOCOMMIT_OFF: &str = "SET AUTOCOMMIT=0";

pub fn sql_mode(mode: &str) -> String {
    format!("SET sql_mode = '{}'", mode.replace('\'', "''"))
}

/// mysqlslap prints the error and goes on.
fn refusal(program: &str) -> OnRefusal {
    let program = program.to_owned();
    Arc::new(move |error| {
        let (code, message) = (error.code, one_line(&error.message));
        remark(&format!(
            "{program}: Error when connecting to server: {code} {message}"
        ));
    })
}

fn tell(what: Option<&str>) {
    match what {
        Some(sql) => control::statement(sql),
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
            control::statement(AUTOCOMMIT_OFF);
        }
        let statements = clients.statements.iter().cycle();
        for (text, number) in statements.zip(1..=each) {
            match text {
                Text::Plain(sql) => control::statement(sql),
                Text::ByKey(sql) => control::statement(&format!("{sql} '{NO_KEY}'")),
            }
            if clients.commit_every > 0 && number % clients.commit_every == 0 {
                control::statement("COMMIT");
            }
        }
        if clients.commit_every > 0 {
            control::statement("COMMIT");
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
    let strict = settings.strict;
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
        looks_first: !strict,
        ..Setup::new(Several::one(arm), count)
    };
    let job = Job {
        measure_ns: settings.duration_s.map_or(u64::MAX, |s| (s * 1e9) as u64),
        interval_ns: INTERVAL_NS,
        ..Job::new(setup)
    };
    let measured = contend_engine::run(job, &mut |told| progress.take(&told))?;
    let seconds_ns = match measured.ended {
        Ended::Events => measured.ended_after_ns,
        Ended::Time | Ended::Signal => measured.measured_ns,
    };
    Ok(Iteration {
        seconds_ns,
        measured: Some(measured),
    })
}

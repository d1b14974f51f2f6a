//! Every engine, every number of clients, every iteration, in mysqlslap's order.

use super::load::{AUTOCOMMIT_OFF, Iteration, NO_KEY, SlapProgress};
use super::report::{Round, Writers};
use super::settings::SlapSettings;
use super::values::EngineGiven;
use super::{SlapHalt, print, print_statement};
use crate::load;
use contend_client::Target;
use contend_client::blocking::{ControlConnection, endless};
use contend_console::output::remark;
use contend_figures::outcome::Failure;
use contend_sql::begins_with;
use contend_workloads::client_list::Text;
use std::collections::BTreeSet;
use std::process::Command;
use std::time::{Instant, SystemTime};

/// The server's error for a schema that is there already.
const SCHEMA_EXISTS: u16 = 1007;
/// Queries for the contents of this session's schema, kind by kind.
const CONTENTS: [(&str, &str); 4] = [
    (
        "table",
        "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE()",
    ),
    (
        "trigger",
        "SELECT trigger_name FROM information_schema.triggers WHERE trigger_schema = DATABASE()",
    ),
    (
        "routine",
        "SELECT routine_name FROM information_schema.routines WHERE routine_schema = DATABASE()",
    ),
    (
        "event",
        "SELECT event_name FROM information_schema.events WHERE event_schema = DATABASE()",
    ),
];
/// A single statement that begins so makes nothing that a schema holds.
const MAKE_NOTHING: [&str; 12] = [
    "BEGIN", "COMMIT", "DELETE", "DO", "INSERT", "REPLACE", "ROLLBACK", "SELECT", "SET", "SHOW",
    "START", "UPDATE",
];
/// At most this many names of others' objects are reported.
const TOLD_MAX: usize = 3;

/// The connection on which everything but the load is run, or paper in its place.
pub enum Control {
    Paper,
    Server {
        connection: Box<ControlConnection>,
        /// Statements are also printed.
        shows: bool,
    },
}

impl Control {
    /// Runs a statement and ignores its answer.
    fn run(&mut self, sql: &str) -> Result<(), Failure> {
        match self {
            Self::Paper => {
                print_statement(sql);
                Ok(())
            }
            Self::Server { connection, shows } => {
                if *shows {
                    print_statement(sql);
                }
                connection.run(sql, &mut endless).map(drop)
            }
        }
    }

    /// Makes a schema that of the statements to come.
    fn choose(&mut self, schema: &str) -> Result<(), Failure> {
        if let Self::Server { connection, .. } = self {
            return connection.choose(schema, &mut endless).map(drop);
        }
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
        match schema.chars().all(is_plain) {
            true => print_statement(&format!("use {schema}")),
            false => print_statement(&format!("use {}", quoted(schema))),
        }
        Ok(())
    }

    /// The first column of an answer; none on paper.
    ///
    /// # Errors
    /// The server refuses the query.
    fn column(&mut self, sql: &str) -> Result<Option<Vec<String>>, SlapHalt> {
        let Self::Server { connection, .. } = self else {
            return Ok(None);
        };
        let rows = connection.rows(sql, &mut endless);
        let rows = rows.map_err(|failure| SlapHalt::query(sql, failure))?;
        let first = |row: Vec<Option<String>>| row.into_iter().next().flatten();
        Ok(Some(rows.into_iter().filter_map(first).collect()))
    }
}

pub struct Runner<'s> {
    pub settings: &'s SlapSettings,
    pub control: Control,
    /// Absent on paper.
    pub target: Option<Target>,
    pub writers: Writers,
    pub progress: SlapProgress,
    pub made: MadeHere,
}

/// Objects that this run has made on the server.
#[derive(Debug, PartialEq, Eq)]
pub enum MadeHere {
    Nothing,
    /// The schema, by a CREATE SCHEMA that succeeded; not yet all that goes into it.
    Schema,
    /// The schema with these things in it.
    Whole(BTreeSet<String>),
}

impl Runner<'_> {
    /// Runs all of it.
    ///
    /// # Errors
    /// The first thing that fails. A schema that was made here is dropped then too, unless others
    /// made something in it.
    pub fn run(&mut self) -> Result<(), SlapHalt> {
        let ended = self.run_all();
        if ended.is_err() && self.made != MadeHere::Nothing {
            // A failure is reported, not waited for: a statement may still run there.
            let _ = self.control.run("SET SESSION lock_wait_timeout = 5");
            if let Err(SlapHalt::Failed(words)) = self.drop_schema() {
                remark(&words);
            }
        }
        ended
    }

    fn run_all(&mut self) -> Result<(), SlapHalt> {
        let settings = self.settings;
        if let (Some(mode), Control::Server { .. }) = (&settings.sql_mode, &self.control) {
            self.say(&load::sql_mode(mode))?;
        }
        self.stage("Parsing engines to use.\n");
        for engine in &settings.engines {
            self.stage("Starting Concurrency Test\n");
            for clients in &settings.concurrency {
                self.round(engine.as_ref(), *clients)?;
            }
            self.drop_schema()?;
        }
        Ok(())
    }

    /// All iterations of one number of clients.
    fn round(&mut self, engine: Option<&EngineGiven>, clients: u32) -> Result<(), SlapHalt> {
        let settings = self.settings;
        let limit = settings.each.of(clients);
        let engine_name = engine.map(|engine| engine.name.clone());
        let mut round = Round::new(engine_name, clients, limit);
        for number in 1..=settings.iterations {
            let engine_words = engine.map_or(String::new(), |engine| format!("{}, ", engine.name));
            self.progress.begin(format!(
                "{engine_words}{clients} clients, iteration {number} of {}",
                settings.iterations
            ));
            let iteration = self.iteration(engine, clients, limit, number);
            self.progress.end();
            let iteration = match iteration {
                Ok(iteration) => iteration,
                Err(halt) => {
                    // Measurements before it are not lost.
                    if number > 1 {
                        self.writers.write(settings, &round)?;
                    }
                    return Err(halt);
                }
            };
            let is_interrupted = iteration.is_interrupted();
            round.add(iteration);
            if is_interrupted {
                self.writers.write(settings, &round)?;
                return Err(SlapHalt::Failed(
                    "ended by a signal; these are the results so far".into(),
                ));
            }
        }
        self.stage("Generating stats\n");
        self.writers.write(settings, &round)
    }

    fn iteration(
        &mut self,
        engine: Option<&EngineGiven>,
        clients: u32,
        limit: u64,
        number: u64,
    ) -> Result<Iteration, SlapHalt> {
        let settings = self.settings;
        self.drop_schema()?;
        if settings.creates {
            self.create_schema(engine)?;
        }
        self.stage("Generating primary key list\n");
        let keys = self.keys(engine)?;
        // mysqlslap prints it here too; statements before and after the load are committed.
        if settings.commit_every > 0 && matches!(self.control, Control::Paper) {
            print_statement(AUTOCOMMIT_OFF);
        }
        system("pre_system", settings.pre_system.as_deref());
        for sql in &settings.texts.pre {
            self.say(sql)?;
        }
        let what = load::clients(settings, keys);
        let iteration = match &self.target {
            None => {
                let start = Instant::now();
                load::on_paper(&what, clients, limit);
                Iteration {
                    seconds_ns: start.elapsed().as_nanos() as u64,
                    measured: None,
                }
            }
            Some(target) => {
                let seed = settings.seed.unwrap_or_else(time).wrapping_add(number);
                let progress = &mut self.progress;
                load::run(settings, target, what, clients, limit, seed, progress)
                    .map_err(SlapHalt::Load)?
            }
        };
        for sql in &settings.texts.post {
            self.say(sql)?;
        }
        system("post_system", settings.post_system.as_deref());
        Ok(iteration)
    }

    fn create_schema(&mut self, engine: Option<&EngineGiven>) -> Result<(), SlapHalt> {
        let settings = self.settings;
        self.stage("Loading Pre-data\n");
        let name = quoted(&settings.schema);
        let create = match !settings.drops {
            // --no-drop leaves it for the next iteration.
            true => format!("CREATE SCHEMA IF NOT EXISTS {name}"),
            false => format!("CREATE SCHEMA {name}"),
        };
        if settings.says.verbosity >= 3 && self.target.is_some() {
            print_statement(&create);
        }
        let created = self.control.run(&create);
        created.map_err(|failure| self.not_created(failure))?;
        if settings.drops {
            self.made = MadeHere::Schema;
        }
        let chosen = self.control.choose(&settings.schema);
        chosen.map_err(|failure| SlapHalt::query("use", failure))?;
        for (place, sql) in settings.texts.create.iter().enumerate() {
            match engine.filter(|_| place == 0) {
                Some(EngineGiven { name, options }) => {
                    let options = options.as_ref().map_or(String::new(), |o| format!(" {o}"));
                    let told = self.control.run(&format!("{sql} Engine = {name}{options}"));
                    told.map_err(|failure| SlapHalt::query(sql, failure))?;
                }
                None => self.say(sql)?,
            }
        }
        if self.looks_before_dropping() {
            self.made = MadeHere::Whole(self.contents()?);
        }
        Ok(())
    }

    fn not_created(&self, failure: Failure) -> SlapHalt {
        let schema = &self.settings.schema;
        if failure.code == Some(SCHEMA_EXISTS) {
            return SlapHalt::Request(format!(
                "--create-schema={schema}: it exists already, and would be dropped with its \
                 contents. Use a different schema, keep it with --no-drop, or drop it with \
                 --drop-existing"
            ));
        }
        SlapHalt::control(format!("Cannot create schema {schema} :"), failure)
    }

    /// Kinds and names of all that is in the schema; nothing on paper.
    fn contents(&mut self) -> Result<BTreeSet<String>, SlapHalt> {
        let mut all = BTreeSet::new();
        for (kind, sql) in CONTENTS {
            let names = self.control.column(sql)?.unwrap_or_default();
            all.extend(names.into_iter().map(|name| format!("{kind} {name}")));
        }
        Ok(all)
    }

    /// Objects that others make in the schema meanwhile can be recognised if the statements of this
    /// run make none.
    fn looks_before_dropping(&self) -> bool {
        let settings = self.settings;
        let asked = settings.texts.list.iter().map(|text| match text {
            Text::Plain(sql) | Text::ByKey(sql) => sql.as_str(),
        });
        let others = settings.texts.pre.iter().chain(&settings.texts.post);
        let others = others.chain(&settings.init_command).map(String::as_str);
        let may_make = settings.pre_system.is_some() || settings.post_system.is_some();
        settings.drops
            && !settings.drops_existing
            && !may_make
            && asked.chain(others).all(makes_nothing)
    }

    /// The keys of all rows, where the load asks for rows by key.
    fn keys(&mut self, engine: Option<&EngineGiven>) -> Result<Vec<String>, SlapHalt> {
        if !self.settings.uses_keys {
            return Ok(Vec::new());
        }
        if engine.is_some_and(|engine| engine.name.contains("blackhole")) {
            return Ok(vec![NO_KEY.to_owned()]);
        }
        let keys = self.control.column("SELECT id from t1")?;
        Ok(keys.unwrap_or_else(|| vec![NO_KEY.to_owned()]))
    }

    /// Drops the schema if it was made here and holds nothing that was not, or if that was asked
    /// for.
    fn drop_schema(&mut self) -> Result<(), SlapHalt> {
        let settings = self.settings;
        if !settings.drops || !(settings.drops_existing || self.made != MadeHere::Nothing) {
            return Ok(());
        }
        if let MadeHere::Whole(made) = std::mem::replace(&mut self.made, MadeHere::Nothing) {
            let now = self.contents()?;
            let others: Vec<&str> = now.difference(&made).map(String::as_str).collect();
            if !others.is_empty() {
                let (told, more) = others.split_at(others.len().min(TOLD_MAX));
                let more = if more.is_empty() { "" } else { ", and more" };
                return Err(SlapHalt::Failed(format!(
                    "the schema {} is kept because it has new objects of other clients \
                     ({}{more}); drop it yourself",
                    settings.schema,
                    told.join(", ")
                )));
            }
        }
        let name = quoted(&settings.schema);
        self.say(&format!("DROP SCHEMA IF EXISTS {name}"))
    }

    fn say(&mut self, sql: &str) -> Result<(), SlapHalt> {
        let told = self.control.run(sql);
        told.map_err(|failure: Failure| SlapHalt::query(sql, failure))
    }

    fn stage(&self, words: &str) {
        if self.settings.says.verbosity >= 2 {
            print(words);
        }
    }
}

/// A name in backticks.
fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

fn makes_nothing(sql: &str) -> bool {
    // A text may hold several statements, or a block of them.
    let is_single = !sql.trim_end_matches([';', ' ', '\n']).contains(';');
    is_single && begins_with(sql.as_bytes(), &MAKE_NOTHING)
}

/// Runs a shell command, and goes on even if it fails.
fn system(name: &str, command: Option<&str>) {
    let Some(command) = command else {
        return;
    };
    use std::os::unix::process::ExitStatusExt as _;
    let status = Command::new("/bin/sh").arg("-c").arg(command).status();
    let raw = status.map_or(-1, |status| status.into_raw());
    if raw != 0 {
        remark(&format!(
            "Warning: Execution of {name} option returned {raw}."
        ));
    }
}

fn time() -> u64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    now.map_or(1, |now| now.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_may_make_something_unless_it_is_known_not_to() {
        for sql in [
            "select 1",
            "  INSERT into t values (1)",
            "BEGIN",
            "UPDATE t1 SET a = 1",
            "(select 1);\n",
        ] {
            assert!(makes_nothing(sql), "{sql}");
        }
        for sql in [
            "create table t (a int)",
            "call p()",
            "/* a */ create",
            "",
            "selects",
            "select 1; create table t (a int)",
            "BEGIN NOT ATOMIC create table t (a int); END",
        ] {
            assert!(!makes_nothing(sql), "{sql}");
        }
    }
}

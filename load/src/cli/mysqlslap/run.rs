//! Every engine, every number of clients, every iteration, in mysqlslap's order.

use super::control::{self, Control, quoted};
use super::load::{self, AUTOCOMMIT_OFF, Iteration, NO_KEY};
use super::progress::SlapProgress;
use super::report::{Round, Writers};
use super::settings::SlapSettings;
use super::values::{Concurrency, EngineGiven};
use super::{SlapHalt, print};
use crate::outcome::Failure;
use crate::talk::Target;
use std::process::Command;
use std::time::{Instant, SystemTime};

/// A schema of this name is the program's own.
const OWN_SCHEMA: &str = "mysqlslap";

pub struct Runner<'s> {
    /// As it was called.
    pub program: &'s str,
    pub settings: &'s SlapSettings,
    pub control: Control,
    /// Absent on paper.
    pub target: Option<Target>,
    pub writers: Writers,
    pub progress: SlapProgress,
    /// The schema that is there was made here.
    pub made_schema: bool,
}

impl Runner<'_> {
    /// Runs all of it.
    ///
    /// # Errors
    /// The first thing that fails. A schema that was made here is gone then too.
    pub fn run(&mut self) -> Result<(), SlapHalt> {
        let ended = self.run_all();
        if ended.is_err() && self.made_schema && !self.settings.strict {
            // What failed is told, and not waited for: a statement may still run there.
            let _ = self.control.run("SET SESSION lock_wait_timeout = 5");
            let _ = self.drop_schema();
        }
        ended
    }

    fn run_all(&mut self) -> Result<(), SlapHalt> {
        let settings = self.settings;
        self.look_at_schema()?;
        if let (Some(mode), Control::Server { .. }) = (&settings.sql_mode, &self.control) {
            self.say(&load::sql_mode(mode))?;
        }
        self.stage("Parsing engines to use.\n");
        for engine in &settings.engines {
            self.stage("Starting Concurrency Test\n");
            let (list, endless) = match &settings.concurrency {
                Concurrency::List(list) => (list.as_slice(), None),
                Concurrency::Endless => (&[][..], Some(1..)),
            };
            for clients in list.iter().copied().chain(endless.into_iter().flatten()) {
                self.round(engine.as_ref(), clients)?;
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
        let mut round = match settings.iterations {
            0 => Round::new(engine_name, 0, 0),
            _ => Round::new(engine_name, clients, limit),
        };
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
                    // What was measured before is not lost.
                    if !settings.strict && number > 1 {
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
                    "ended by a signal; the figures are those so far".into(),
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
        // mysqlslap leaves what is written before and after the load uncommitted.
        if settings.commit_every > 0 && (settings.strict || matches!(self.control, Control::Paper))
        {
            self.say(AUTOCOMMIT_OFF)?;
        }
        system("pre_system", settings.pre_system.as_deref());
        for sql in &settings.texts.pre {
            self.say(sql)?;
        }
        let what = load::clients(self.program, settings, keys);
        let each = match limit {
            0 => what.statements.len() as u64,
            limit => limit,
        };
        let iteration = match &self.target {
            None => {
                let start = Instant::now();
                load::on_paper(&what, clients, each);
                Iteration {
                    seconds_ns: start.elapsed().as_nanos() as u64,
                    measured: None,
                }
            }
            Some(target) => {
                let seed = settings.seed.unwrap_or_else(time).wrapping_add(number);
                let progress = &mut self.progress;
                load::run(settings, target, what, clients, each, seed, progress)
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
        let name = quoted(&settings.schema, settings.strict);
        let create = match !settings.strict && !settings.drops {
            // --no-drop leaves it behind for the next iteration.
            true => format!("CREATE SCHEMA IF NOT EXISTS {name}"),
            false => format!("CREATE SCHEMA {name}"),
        };
        if settings.says.verbosity >= 3 && self.target.is_some() {
            control::statement(&create);
        }
        let created = self.control.run(&create);
        let what = format!("Cannot create schema {} :", settings.schema);
        created.map_err(|failure| SlapHalt::control(what, failure))?;
        self.made_schema = true;
        let chosen = self.control.choose(&settings.schema, settings.strict);
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
        Ok(())
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

    /// A schema that others made is not dropped without being asked for.
    fn look_at_schema(&mut self) -> Result<(), SlapHalt> {
        let settings = self.settings;
        if !settings.drops || settings.drops_existing || settings.schema == OWN_SCHEMA {
            return Ok(());
        }
        let name = settings.schema.replace('\\', "\\\\").replace('\'', "''");
        let tables = self.control.column(&format!(
            "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = '{name}'"
        ))?;
        let count = tables.as_ref().and_then(|tables| tables.first());
        match count.map(String::as_str) {
            None | Some("0") => Ok(()),
            Some(count) => Err(SlapHalt::Request(format!(
                "--create-schema={}: it is there and has {count} tables, which would be dropped \
                 with it. Name another schema, keep it with --no-drop, or drop it with \
                 --drop-existing",
                settings.schema
            ))),
        }
    }

    fn drop_schema(&mut self) -> Result<(), SlapHalt> {
        if !self.settings.drops {
            return Ok(());
        }
        let name = quoted(&self.settings.schema, self.settings.strict);
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

/// Runs a shell command and goes on whatever comes of it.
fn system(name: &str, command: Option<&str>) {
    let Some(command) = command else {
        return;
    };
    use std::os::unix::process::ExitStatusExt as _;
    let status = Command::new("/bin/sh").arg("-c").arg(command).status();
    let raw = status.map_or(-1, |status| status.into_raw());
    if raw != 0 {
        eprintln!("Warning: Execution of {name} option returned {raw}.");
    }
}

fn time() -> u64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    now.map_or(1, |now| now.as_secs())
}

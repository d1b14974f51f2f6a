//! Objects in a database that a load may take for its own. A lock keeps other loaders out, and each
//! existing table is recognised by its mark: see [`mark`].

use super::made::unless_refused;
use super::watch::heed;
use super::{FillError, Filled, TABLE_EXISTS};
use crate::mark;
use crate::schema::LastStep;
use crate::table::{StorageEngine, Table, quote, text};
use contend_client::Target;
use contend_client::blocking::{ControlConnection, TextRows};
use contend_figures::outcome::Failure;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// The name of the lock, as SQL: one for each database, and short enough for every server. The lab
/// asks for it too.
const LOCK: &str = "CONCAT('contend_fill.', LEFT(SHA2(DATABASE(), 256), 40))";
/// Time to wait for the lock: a different loader may just be ending.
const LOCK_WAITED_S: u32 = 3;
/// Time that a load that is to stop waits for the server to take a last note.
const STOP_WAITED: Duration = Duration::from_secs(1);

/// The object of some name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    Absent,
    /// A table of ours: no load of it has ended.
    Loading,
    /// A view of ours.
    OurView,
    /// Something that is not ours, so we do not touch it.
    Theirs,
}

pub struct Claim<'s> {
    connection: ControlConnection,
    database: String,
    lowers_names: bool,
    who: String,
    key: Option<String>,
    /// When this is raised, no statement is waited for any more.
    stop: &'s AtomicBool,
}

impl<'s> Claim<'s> {
    /// Takes the lock of the target's database. `key` is for the marks of finished tables.
    ///
    /// # Errors
    /// Another loader is at work.
    pub fn take(
        target: &Target,
        key: Option<&str>,
        stop: &'s AtomicBool,
    ) -> Result<Self, FillError> {
        let mut claim = Self {
            connection: ControlConnection::open(target).map_err(FillError::Failed)?,
            database: String::new(),
            lowers_names: false,
            who: String::new(),
            key: key.map(str::to_owned),
            stop,
        };
        claim.lock()?;
        claim.ask_names().map_err(FillError::Failed)?;
        for setting in [
            // As for the tables: a comment among options may be in double quotes.
            "SET SESSION sql_mode = 'STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION'",
            // Tables that refer to one another are dropped in any order.
            "SET SESSION foreign_key_checks = 0",
        ] {
            claim.run(setting).map_err(FillError::Failed)?;
        }
        Ok(claim)
    }

    fn lock(&mut self) -> Result<(), FillError> {
        // The connection waits while tables load, however long that takes.
        unless_refused(self.run("SET SESSION wait_timeout = 31536000"))
            .map_err(FillError::Failed)?;
        let query = format!("SELECT GET_LOCK({LOCK}, {LOCK_WAITED_S})");
        let got = self.rows(&query).map_err(FillError::Failed)?;
        match got.first().and_then(|row| row.first()?.as_deref()) {
            Some("1") => Ok(()),
            Some("0") => Err(FillError::Exists(Failure::with_hint(
                "another contend-load is filling this database; nothing was changed",
                "wait until it has finished, or stop it",
            ))),
            _ => Err(FillError::Failed(Failure::plain(
                "the server did not answer GET_LOCK, so two loads could collide; nothing was \
                 changed",
            ))),
        }
    }

    fn ask_names(&mut self) -> Result<(), Failure> {
        let query = "SELECT DATABASE(), @@lower_case_table_names, \
                     CONCAT(USER(), '#', CONNECTION_ID())";
        let rows = self.rows(query)?;
        let mut fields = rows.into_iter().flatten().map(Option::unwrap_or_default);
        self.database = fields.next().unwrap_or_default();
        self.lowers_names = fields.next().unwrap_or_default() == "1";
        self.who = fields.next().unwrap_or_default();
        Ok(())
    }

    /// The comment of a table while it is loaded; `rows` may not be known.
    pub fn loading(&self, table: &str, rows: Option<u64>) -> String {
        let table = self.stored(table);
        mark::loading(&self.database, &table, self.key.as_deref(), rows, &self.who)
    }

    /// The name as the server keeps it.
    fn stored(&self, table: &str) -> String {
        match self.lowers_names {
            true => table.to_lowercase(),
            false => table.to_owned(),
        }
    }

    /// The object of this name.
    ///
    /// # Errors
    /// The server cannot be asked.
    pub fn standing(&mut self, name: &str) -> Result<Standing, Failure> {
        let stored = self.stored(name);
        let named = format!(
            "TABLE_SCHEMA = DATABASE() AND TABLE_NAME = {}",
            text(&stored)
        );
        let rows = self.rows(&format!(
            "SELECT TABLE_NAME, TABLE_TYPE, TABLE_COMMENT FROM information_schema.TABLES \
             WHERE {named}"
        ))?;
        // The server may ignore case where the names do not.
        let mut same = rows.into_iter().filter(|row| first(row) == stored);
        let Some(row) = same.next() else {
            return Ok(Standing::Absent);
        };
        let mut fields = row.into_iter().skip(1).map(Option::unwrap_or_default);
        let kind = fields.next().unwrap_or_default();
        let comment = fields.next().unwrap_or_default();
        if kind == "VIEW" {
            let ours = mark::of_view(&self.database, &stored);
            let rows = self.rows(&format!(
                "SELECT VIEW_DEFINITION FROM information_schema.VIEWS WHERE {named}"
            ))?;
            return Ok(match rows.iter().any(|row| first(row).contains(&ours)) {
                true => Standing::OurView,
                false => Standing::Theirs,
            });
        }
        let is_ours = kind == "BASE TABLE" && mark::is_loading(&comment, &self.database, &stored);
        Ok(match is_ours {
            true => Standing::Loading,
            false => Standing::Theirs,
        })
    }

    /// Checks that nothing foreign has one of these names; returns those that are ours and half
    /// filled. Touches nothing.
    ///
    /// # Errors
    /// There is something else of such a name.
    pub fn half_filled<'n>(
        &mut self,
        tables: impl Iterator<Item = &'n str>,
        views: impl Iterator<Item = &'n str>,
    ) -> Result<Vec<&'n str>, FillError> {
        let mut ours = Vec::new();
        for name in tables {
            match self.standing(name).map_err(FillError::Failed)? {
                Standing::Absent => {}
                Standing::Loading => ours.push(name),
                _ => return Err(taken(name)),
            }
        }
        for name in views {
            match self.standing(name).map_err(FillError::Failed)? {
                Standing::Absent | Standing::OurView => {}
                _ => return Err(taken(name)),
            }
        }
        Ok(ours)
    }

    /// Drops a table that is ours.
    ///
    /// # Errors
    /// The server refuses.
    pub fn drop_table(&mut self, name: &str) -> Result<(), Failure> {
        self.run(&format!("DROP TABLE {}", quote(name)))
    }

    /// Makes what comes when all rows are there, unless it is there already.
    ///
    /// # Errors
    /// The server refuses, or a view is not ours.
    pub fn make(&mut self, step: &LastStep) -> Result<(), Failure> {
        if let Some(view) = &step.view {
            match self.standing(view)? {
                Standing::Absent => {}
                // Its query may have changed from one version to the next.
                Standing::OurView => self.run(&format!("DROP VIEW {}", quote(view)))?,
                _ => {
                    return Err(Failure::with_hint(
                        format!("table or view {view} exists already; it was not changed"),
                        "drop it yourself, and repeat the command",
                    ));
                }
            }
        }
        if !self.has_constraint(step)? {
            let statement = step.in_database(&self.database);
            self.run(&statement)?;
        }
        Ok(())
    }

    fn has_constraint(&mut self, step: &LastStep) -> Result<bool, Failure> {
        let Some((table, constraint)) = &step.constraint else {
            return Ok(false);
        };
        let query = format!(
            "SELECT 1 FROM information_schema.TABLE_CONSTRAINTS WHERE TABLE_SCHEMA = DATABASE() \
             AND TABLE_NAME = '{table}' AND CONSTRAINT_NAME = '{constraint}'"
        );
        Ok(!self.rows(&query)?.is_empty())
    }

    /// Ends the load of a table whose rows were counted: its comment is the mark that was asked
    /// for, or that of its options.
    ///
    /// # Errors
    /// The server refuses, or the table is not the one that was loaded.
    pub fn finish(&mut self, table: &Table) -> Result<(), Failure> {
        if self.standing(&table.name)? != Standing::Loading {
            return Err(Failure::plain(format!(
                "table {} was replaced by a different client; it was not changed",
                table.name
            )));
        }
        let comment = match &self.key {
            Some(key) => text(&mark::finished(
                &self.database,
                &self.stored(&table.name),
                key,
            )),
            None => mark::comment_in(&table.options).unwrap_or("''").to_owned(),
        };
        let altering = format!("ALTER TABLE {} COMMENT={comment}", table.quoted());
        if table.engine != StorageEngine::RocksDb {
            return self.run(&altering);
        }
        // It copies the table, and locks each row but in a bulk load.
        self.run("SET SESSION rocksdb_bulk_load = 1")?;
        self.run(&altering)?;
        self.run("SET SESSION rocksdb_bulk_load = 0")
    }

    /// Runs a statement, even if the load is to stop; then it does not wait for a server that
    /// hangs.
    ///
    /// # Errors
    /// The server refuses it.
    pub fn run_surely(&mut self, statement: &str) -> Result<(), Failure> {
        let stop = self.stop;
        let patience = &mut |waited| match waited > STOP_WAITED {
            true => heed(stop),
            false => Ok(()),
        };
        self.connection.run(statement, patience).map(drop)
    }

    /// # Errors
    /// The server refuses the statement, or the load is to stop.
    pub fn run(&mut self, statement: &str) -> Result<(), Failure> {
        let stop = self.stop;
        let told = self.connection.run(statement, &mut |_| heed(stop));
        told.map(drop)
    }

    /// # Errors
    /// As [`Self::run`].
    pub fn rows(&mut self, query: &str) -> Result<TextRows, Failure> {
        let stop = self.stop;
        self.connection.rows(query, &mut |_| heed(stop))
    }
}

/// Has the server count the rows of a table that was filled.
///
/// # Errors
/// There are not as many as were loaded.
pub fn count(target: &Target, filled: &Filled, stop: &AtomicBool) -> Result<(), Failure> {
    let query = format!("SELECT COUNT(*) FROM {}", quote(&filled.table));
    let mut connection = ControlConnection::open(target)?;
    let rows = connection.rows(&query, &mut |_| heed(stop))?;
    let counted = rows.first().map(|row| first(row).to_owned());
    let counted = counted.unwrap_or_default();
    match counted == filled.rows.to_string() {
        true => Ok(()),
        false => Err(Failure::plain(format!(
            "{} rows were loaded into {}, but the server counts {counted}",
            filled.rows, filled.table
        ))),
    }
}

fn first(row: &[Option<String>]) -> &str {
    row.first().and_then(Option::as_deref).unwrap_or_default()
}

/// Something else has this name.
pub fn taken(name: &str) -> FillError {
    FillError::Exists(Failure {
        code: Some(TABLE_EXISTS),
        ..there(&format!("table or view {name} exists already"))
    })
}

pub fn exists(what: &str) -> FillError {
    FillError::Exists(there(what))
}

fn there(what: &str) -> Failure {
    Failure::with_hint(
        format!("{what}; nothing was changed"),
        "use a different database, or drop those tables yourself",
    )
}

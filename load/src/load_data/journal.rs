//! The journal of a load of several tables, kept in a table beside them. After a load was broken
//! off, the next one reads it and loads only the missing tables. A lock keeps other loaders out.
//!
//! The journal table is called `contend_` and the schema's name. It holds names and values. A table
//! of the dataset that the journal does not name is incomplete, whatever is in it.

use super::watch::heed;
use super::{Filled, Transport, Trouble};
use crate::fill::recipe::text;
use crate::fill::schema::{Dataset, LastStep};
use crate::fill::table::quote;
use crate::outcome::Failure;
use crate::talk::Target;
use crate::talk::blocking::{ControlConnection, TextRows, endless};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::AtomicBool;

/// The name of the lock, as SQL: one for each database, and short enough for every server.
const LOCK: &str = "CONCAT('contend_fill.', LEFT(SHA2(DATABASE(), 256), 40))";
/// How long to wait for the lock: another loader may just be ending.
const LOCK_WAITED_S: u32 = 3;
const STATE: &str = "state";
const LOADING: &str = "loading";
const COMPLETE: &str = "complete";
/// In front of the name of a table that is complete.
const LOADED: &str = "loaded.";

pub struct Journal<'s> {
    connection: ControlConnection,
    table: String,
    /// When this is raised, the journal stops waiting for its statement.
    stop: &'s AtomicBool,
}

impl<'s> Journal<'s> {
    /// Takes the lock and opens the dataset's journal, or creates it if nothing of the dataset is
    /// there yet. Drops tables that an earlier load left half filled. Also returns the tables that
    /// are complete.
    ///
    /// # Errors
    /// Another loader is at work, or tables of these names exist that this load cannot go on with.
    /// Nothing was touched then.
    pub fn open(
        target: &Target,
        dataset: &Dataset,
        stop: &'s AtomicBool,
    ) -> Result<(Self, Vec<Filled>), Trouble> {
        let mut journal = Self {
            connection: ControlConnection::open(target).map_err(Trouble::Failed)?,
            table: format!("contend_{}", dataset.name),
            stop,
        };
        journal.lock()?;
        let there = journal.tables_there().map_err(Trouble::Failed)?;
        let names = || {
            dataset
                .tables
                .iter()
                .map(|filling| filling.table.name.as_str())
        };
        if !there.contains(&journal.table) {
            let views = dataset
                .finish
                .iter()
                .filter_map(|step| step.view.as_deref());
            if let Some(name) = names().chain(views).find(|name| there.contains(*name)) {
                return Err(exists(format!("table or view {name} exists already")));
            }
            journal.begin(dataset).map_err(Trouble::Failed)?;
            return Ok((journal, Vec::new()));
        }
        let told = journal.told().map_err(Trouble::Failed)?;
        journal.check(dataset, &told)?;
        let mut complete = Vec::new();
        for name in names() {
            if let Some(filled) = loaded(name, told.get(&format!("{LOADED}{name}"))) {
                complete.push(filled);
            } else if there.contains(name) {
                let statement = format!("DROP TABLE {}", quote(name));
                journal.run(&statement).map_err(Trouble::Failed)?;
            }
        }
        Ok((journal, complete))
    }

    /// Says that a table is complete.
    ///
    /// # Errors
    /// The server does not take it.
    pub fn note(&mut self, filled: &Filled) -> Result<(), Failure> {
        let name = format!("{LOADED}{}", filled.table);
        self.tell(&name, &format!("{} {:016x}", filled.rows, filled.checksum))
    }

    /// Runs the dataset's last steps after all rows are loaded, and ends the load: the journal is
    /// marked as complete, or dropped.
    ///
    /// # Errors
    /// The server refuses a statement.
    pub fn finish(&mut self, dataset: &Dataset) -> Result<(), Failure> {
        // The rows were made to fulfil the foreign keys: the server need not check them again.
        self.run("SET SESSION foreign_key_checks = 0")?;
        for step in &dataset.finish {
            if !self.is_made(step)? {
                self.run(&step.statement)?;
            }
        }
        if dataset.facts_stay {
            return self.tell(STATE, COMPLETE);
        }
        self.run(&format!("DROP TABLE {}", quote(&self.table)))
    }

    fn lock(&mut self) -> Result<(), Trouble> {
        // The connection waits while tables load, however long that takes.
        let _ = self.run("SET SESSION wait_timeout = 31536000");
        let query = format!("SELECT GET_LOCK({LOCK}, {LOCK_WAITED_S})");
        let got = self.rows(&query).map_err(Trouble::Failed)?;
        match got.first().and_then(|row| row.first()?.as_deref()) {
            Some("1") => Ok(()),
            _ => Err(Trouble::Exists(Failure::with_hint(
                "another contend-load fills this database now; nothing was touched",
                "wait until it has ended, or end it",
            ))),
        }
    }

    fn tables_there(&mut self) -> Result<BTreeSet<String>, Failure> {
        let query =
            "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE()";
        let rows = self.rows(query)?;
        Ok(rows.into_iter().flatten().flatten().collect())
    }

    fn begin(&mut self, dataset: &Dataset) -> Result<(), Failure> {
        let Some(first) = dataset.tables.first() else {
            return Ok(());
        };
        self.run(&format!(
            "CREATE TABLE {} (name VARCHAR(64) NOT NULL PRIMARY KEY, value VARCHAR(255) NOT NULL) \
             ENGINE={} {}",
            quote(&self.table),
            first.table.engine.name(),
            first.table.options
        ))?;
        // The state is written first: a journal without a state was only just created.
        self.tell(STATE, LOADING)?;
        for (name, value) in facts(dataset) {
            self.tell(name, &value)?;
        }
        Ok(())
    }

    fn told(&mut self) -> Result<BTreeMap<String, String>, Failure> {
        let query = format!("SELECT name, value FROM {}", quote(&self.table));
        let rows = self.rows(&query)?;
        let pairs = rows.into_iter().filter_map(|row| {
            let mut fields = row.into_iter().flatten();
            Some((fields.next()?, fields.next()?))
        });
        Ok(pairs.collect())
    }

    /// Refuses to go on with a load that is complete, or that was begun with other facts. Writes
    /// the facts that the journal does not have yet.
    fn check(&mut self, dataset: &Dataset, told: &BTreeMap<String, String>) -> Result<(), Trouble> {
        if told.get(STATE).is_some_and(|state| state == COMPLETE) {
            let name = dataset.name;
            return Err(exists(format!("the tables of {name} are there, complete")));
        }
        for (name, wanted) in facts(dataset) {
            match told.get(name) {
                Some(there) if *there == wanted => {}
                Some(there) => {
                    return Err(exists(format!(
                        "a load with {name} {there:?} was broken off here, and this one has \
                         {wanted:?}"
                    )));
                }
                // The load was broken off before it wrote this fact, so before its first table.
                None => self.tell(name, &wanted).map_err(Trouble::Failed)?,
            }
        }
        Ok(())
    }

    fn is_made(&mut self, step: &LastStep) -> Result<bool, Failure> {
        let Some((table, constraint)) = &step.constraint else {
            return Ok(false);
        };
        let query = format!(
            "SELECT 1 FROM information_schema.TABLE_CONSTRAINTS WHERE TABLE_SCHEMA = DATABASE() \
             AND TABLE_NAME = '{table}' AND CONSTRAINT_NAME = '{constraint}'"
        );
        Ok(!self.rows(&query)?.is_empty())
    }

    fn tell(&mut self, name: &str, value: &str) -> Result<(), Failure> {
        let statement = format!(
            "REPLACE INTO {} (name, value) VALUES ('{name}', {})",
            quote(&self.table),
            text(value),
        );
        // This ignores `stop`: a complete table is noted even if the load is to stop.
        self.connection.run(&statement, &mut endless).map(drop)
    }

    fn run(&mut self, statement: &str) -> Result<(), Failure> {
        let stop = self.stop;
        let told = self.connection.run(statement, &mut |_| heed(stop));
        told.map(drop)
    }

    fn rows(&mut self, query: &str) -> Result<TextRows, Failure> {
        let stop = self.stop;
        self.connection.rows(query, &mut |_| heed(stop))
    }
}

/// What must be the same for a load to go on. This includes engine and table options, or some
/// tables would be stored differently from the others.
fn facts(dataset: &Dataset) -> Vec<(&'static str, String)> {
    let mut facts = dataset.facts.clone();
    if let Some(first) = dataset.tables.first() {
        facts.push(("engine", first.table.engine.name().to_owned()));
        facts.push(("table_options", first.table.options.clone()));
    }
    facts
}

fn exists(what: String) -> Trouble {
    Trouble::Exists(Failure::with_hint(
        format!("{what}; nothing was touched"),
        "name another database, or drop those tables yourself",
    ))
}

/// A table that an earlier load completed. The journal has only its rows and checksum.
fn loaded(table: &str, told: Option<&String>) -> Option<Filled> {
    let (rows, checksum) = told?.split_once(' ')?;
    Some(Filled {
        table: table.to_owned(),
        rows: rows.parse().ok()?,
        bytes: 0,
        checksum: u64::from_str_radix(checksum, 16).ok()?,
        load_s: 0.0,
        keys_s: 0.0,
        total_s: 0.0,
        transport: Transport::Local,
        keys_by_sort: None,
        server_version: String::new(),
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn what_was_noted_is_read_back_and_nothing_else() {
        let told = format!("{} {:016x}", 30_000, 0xabcu64);
        let filled = loaded("stock", Some(&told)).unwrap();
        assert_eq!((filled.rows, filled.checksum), (30_000, 0xabc));
        assert_eq!(loaded("stock", None), None);
        assert_eq!(loaded("stock", Some(&"30000".to_owned())), None);
        assert_eq!(loaded("stock", Some(&"x y".to_owned())), None);
    }
}

//! The journal of a load of several tables, kept in a table next to them. After a load was broken
//! off, the next one reads it and loads only the missing tables.
//!
//! The journal table is called `contend_` and the schema's name. It holds names and values. A table
//! of the dataset that the journal does not name is incomplete, even if it has rows. Until the
//! whole load has ended all of them, and the journal, have the comment of tables that are being
//! loaded; a table without it is not ours.

use super::claim::{Claim, Standing, count, exists, taken};
use super::{FillError, Filled, Transport};
use crate::schema::Dataset;
use crate::table::{Table, text};
use contend_client::Target;
use contend_figures::outcome::Failure;
use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

const STATE: &str = "state";
const LOADING: &str = "loading";
const COMPLETE: &str = "complete";
/// In front of the name of a table that is complete.
const LOADED: &str = "loaded.";

pub struct Journal<'s> {
    claim: Claim<'s>,
    /// With the comment that it has when the load has ended.
    table: Table,
}

impl<'s> Journal<'s> {
    /// Opens the dataset's journal, or creates it if nothing of the dataset is there yet. Drops
    /// tables that an earlier load left half filled. Also returns the tables that are complete.
    ///
    /// # Errors
    /// Tables of these names exist that this load cannot go on with. Nothing was touched then.
    pub fn open(
        claim: Claim<'s>,
        target: &Target,
        dataset: &Dataset,
        stop: &'s AtomicBool,
    ) -> Result<(Self, Vec<Filled>), FillError> {
        let mut journal = Self {
            claim,
            table: table_of(dataset).map_err(FillError::Failed)?,
        };
        let name = journal.table.name.clone();
        let tables = || dataset.tables.iter().map(|one| one.table.name.as_str());
        let views = || dataset.finish.iter().filter_map(|one| one.view.as_deref());
        let standing = journal.claim.standing(&name).map_err(FillError::Failed)?;
        let there = match standing {
            Standing::Theirs if journal.is_complete() => Err(exists(&format!(
                "the tables of {} exist already, complete",
                dataset.name
            ))),
            Standing::Theirs | Standing::OurView => Err(taken(&name)),
            Standing::Absent | Standing::Loading => journal.claim.half_filled(tables(), views()),
        }?;
        let told = match standing {
            Standing::Loading => journal.told().map_err(FillError::Failed)?,
            _ => BTreeMap::new(),
        };
        journal.check(dataset, &told)?;
        let mut complete = Vec::new();
        for table in &there {
            let filled = loaded(table, told.get(&format!("{LOADED}{table}")));
            match filled.filter(|filled| count(target, filled, stop).is_ok()) {
                Some(filled) => complete.push(filled),
                None => journal.claim.drop_table(table).map_err(FillError::Failed)?,
            }
        }
        if standing == Standing::Absent {
            journal.begin(dataset).map_err(FillError::Failed)?;
        } else {
            let is_there = |name: &str| complete.iter().any(|filled| filled.table == name);
            let gone: Vec<&str> = tables().filter(|name| !is_there(name)).collect();
            journal.unsay(&told, &gone).map_err(FillError::Failed)?;
            journal
                .say_rest(dataset, &told)
                .map_err(FillError::Failed)?;
        }
        Ok((journal, complete))
    }

    /// The comment of a table while it is loaded.
    pub fn loading(&self, table: &str, rows: u64) -> String {
        self.claim.loading(table, Some(rows))
    }

    /// Says that a table is complete.
    ///
    /// # Errors
    /// The server does not take it.
    pub fn note(&mut self, filled: &Filled) -> Result<(), Failure> {
        let name = format!("{LOADED}{}", filled.table);
        self.tell(&name, &format!("{} {:016x}", filled.rows, filled.checksum))
    }

    /// Runs the dataset's last steps after all rows are loaded, and ends the load. The journal is
    /// marked as complete, or dropped, and the tables get their final marks.
    ///
    /// # Errors
    /// The server refuses a statement.
    pub fn finish(&mut self, dataset: &Dataset) -> Result<(), Failure> {
        // The rows were made to fulfil the foreign keys: the server need not check them again.
        for step in &dataset.finish {
            self.claim.make(step)?;
        }
        if dataset.facts_stay {
            self.tell(STATE, COMPLETE)?;
        }
        for filling in &dataset.tables {
            self.claim.finish(&filling.table)?;
        }
        if dataset.facts_stay {
            return self.claim.finish(&self.table);
        }
        self.claim.drop_table(&self.table.name)
    }

    fn begin(&mut self, dataset: &Dataset) -> Result<(), Failure> {
        let making = Table {
            comment: self.claim.loading(&self.table.name, None),
            ..self.table.clone()
        };
        self.claim.run(&making.create(&[]))?;
        self.say_rest(dataset, &BTreeMap::new())
    }

    /// Writes the facts that the journal does not have yet: an earlier load was broken off before
    /// its first table.
    fn say_rest(
        &mut self,
        dataset: &Dataset,
        told: &BTreeMap<String, String>,
    ) -> Result<(), Failure> {
        self.tell(STATE, LOADING)?;
        for (name, value) in facts(dataset) {
            if !told.contains_key(name) {
                self.tell(name, &value)?;
            }
        }
        Ok(())
    }

    /// Forgets that these tables were complete.
    fn unsay(&mut self, told: &BTreeMap<String, String>, gone: &[&str]) -> Result<(), Failure> {
        for table in gone {
            let name = format!("{LOADED}{table}");
            if told.contains_key(&name) {
                let journal = self.table.quoted();
                self.claim.run(&format!(
                    "DELETE FROM {journal} WHERE name = {}",
                    text(&name)
                ))?;
            }
        }
        Ok(())
    }

    fn is_complete(&mut self) -> bool {
        let told = self.told();
        told.is_ok_and(|told| told.get(STATE).is_some_and(|state| state == COMPLETE))
    }

    fn told(&mut self) -> Result<BTreeMap<String, String>, Failure> {
        let query = format!("SELECT name, value FROM {}", self.table.quoted());
        let rows = self.claim.rows(&query)?;
        let pairs = rows.into_iter().filter_map(|row| {
            let mut fields = row.into_iter().flatten();
            Some((fields.next()?, fields.next()?))
        });
        Ok(pairs.collect())
    }

    /// Refuses to go on with a load that was begun with other facts.
    fn check(&self, dataset: &Dataset, told: &BTreeMap<String, String>) -> Result<(), FillError> {
        for (name, wanted) in facts(dataset) {
            if let Some(there) = told.get(name).filter(|there| **there != wanted) {
                return Err(exists(&format!(
                    "an interrupted load here had {name} {there:?}, and this one has {wanted:?}"
                )));
            }
        }
        Ok(())
    }

    fn tell(&mut self, name: &str, value: &str) -> Result<(), Failure> {
        let statement = format!(
            "REPLACE INTO {} (name, value) VALUES ('{name}', {})",
            self.table.quoted(),
            text(value),
        );
        // A complete table is noted even if the load is to stop.
        self.claim.run_surely(&statement)
    }
}

fn table_of(dataset: &Dataset) -> Result<Table, Failure> {
    let first = dataset.tables.first().map(|one| one.table.clone());
    let first = first.ok_or_else(|| Failure::plain("a schema without tables"))?;
    let body = [
        "name VARCHAR(64) NOT NULL PRIMARY KEY",
        "value VARCHAR(255) NOT NULL",
    ];
    let table = Table::new(
        &format!("contend_{}", dataset.name),
        first.engine,
        body.map(str::to_owned).to_vec(),
        &first.options,
    );
    table.map_err(|error| Failure::plain(error.to_string()))
}

/// Facts that must be the same for a load to go on. This includes engine and table options, or some
/// tables would be stored differently from the others.
fn facts(dataset: &Dataset) -> Vec<(&'static str, String)> {
    let mut facts = dataset.facts.clone();
    if let Some(first) = dataset.tables.first() {
        facts.push(("engine", first.table.engine.name().to_owned()));
        facts.push(("table_options", first.table.options.clone()));
    }
    facts
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

//! Schemas: which tables there are, with which rows, and the last steps when all rows are there.
//!
//! A schema is one file that makes a [`Dataset`] of a [`Wish`], and its line in [`super::SCHEMAS`].

use super::content::Content;
use super::mark;
use super::rows::KeyColumn;
use super::table::{StorageEngine, Table, quote};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use std::sync::Arc;

/// The request for a schema.
#[derive(Clone, Debug)]
pub struct Wish<'w> {
    pub engine: StorageEngine,
    pub seed: u64,
    /// The size, if the schema counts its size in rows.
    pub rows: Option<u64>,
    /// Put at the end of each CREATE TABLE.
    pub table_options: &'w str,
    /// For schemas whose tables are all alike: a name, or the beginning of numbered ones.
    pub table: Option<&'w str>,
    pub tables: Option<u32>,
    pub key: KeyColumn,
    /// Keys of the schema's own.
    pub keys: Map<String, Value>,
}

impl Wish<'_> {
    /// Reads the keys that only this schema has.
    ///
    /// # Errors
    /// A key that it does not have, or a value that the key cannot take.
    pub fn own_keys<K: DeserializeOwned>(&self) -> Result<K, String> {
        let given = [
            ("--table", self.table.is_some()),
            ("--tables", self.tables.is_some()),
            ("--k random", self.key != KeyColumn::RowNumber),
        ];
        if let Some((name, _)) = given.iter().find(|(_, given)| *given) {
            return Err(format!(
                "{name} can be used only with schemas of identical tables, such as sbtest"
            ));
        }
        let keys = |keys: Map<String, Value>| serde_json::from_value::<K>(Value::Object(keys));
        // Tried alone, a wrong key is named in its error.
        for (key, value) in &self.keys {
            keys(Map::from_iter([(key.clone(), value.clone())])).map_err(|error| {
                let given = value
                    .as_str()
                    .map_or_else(|| value.to_string(), str::to_owned);
                format!("--with {key}={given}: {error}")
            })?;
        }
        keys(self.keys.clone()).map_err(|error| format!("--with: {error}"))
    }
}

/// All tables of a schema.
#[derive(Debug)]
pub struct Dataset {
    /// Name of the schema.
    pub name: &'static str,
    pub tables: Vec<Filling>,
    /// In order, when all rows are there.
    pub finish: Vec<LastStep>,
    /// Facts kept in a table next to the others: a load that was broken off goes on if they are
    /// equal. None for a schema whose tables have nothing to do with one another.
    pub facts: Vec<(&'static str, String)>,
    /// They stay when all is complete.
    pub facts_stay: bool,
}

/// One table, and its rows.
#[derive(Clone, Debug)]
pub struct Filling {
    pub table: Table,
    pub content: Arc<dyn Content>,
}

/// Something that is made when all rows are there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastStep {
    pub statement: String,
    /// The table and its constraint that the statement makes: it is not made twice.
    pub constraint: Option<(String, String)>,
    /// The view that the statement makes.
    pub view: Option<String>,
}

impl LastStep {
    /// The foreign key number `number` of a table.
    pub fn foreign_key(table: &Table, number: usize, to: &str) -> Self {
        let constraint = format!("{}_ibfk_{number}", table.name);
        Self {
            statement: format!(
                "ALTER TABLE {} ADD CONSTRAINT {} FOREIGN KEY {to}",
                table.quoted(),
                quote(&constraint)
            ),
            constraint: Some((table.name.clone(), constraint)),
            view: None,
        }
    }

    /// A view. `{mark}` in the query stands for a condition that always holds.
    pub fn view(name: &str, query: &str) -> Self {
        Self {
            statement: format!("CREATE VIEW {} AS {query}", quote(name)),
            constraint: None,
            view: Some(name.to_owned()),
        }
    }

    /// The statement for this database: a view has its mark.
    pub fn in_database(&self, database: &str) -> String {
        match &self.view {
            Some(view) => self
                .statement
                .replace("{mark}", &mark::always(database, view)),
            None => self.statement.clone(),
        }
    }
}

impl<'w> Wish<'w> {
    /// All else as usual.
    pub fn of(seed: u64, engine: StorageEngine) -> Wish<'w> {
        Wish {
            engine,
            seed,
            rows: None,
            table_options: "",
            table: None,
            tables: None,
            key: KeyColumn::RowNumber,
            keys: Map::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::Sbtest;

    #[test]
    fn a_foreign_key_has_a_name_and_a_rule() {
        let table = Sbtest::Study.table("a", StorageEngine::InnoDb, "").unwrap();
        let to = "(x, y) REFERENCES `b` (p, q) ON DELETE CASCADE";
        assert_eq!(
            LastStep::foreign_key(&table, 2, to).statement,
            "ALTER TABLE `a` ADD CONSTRAINT `a_ibfk_2` FOREIGN KEY (x, y) REFERENCES `b` (p, q) \
             ON DELETE CASCADE"
        );
    }
}

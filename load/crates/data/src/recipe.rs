//! The statements that fill a table as fast as its engine can, in order.
//!
//! Measured results (1M rows, MariaDB 10.11) that it follows:
//!
//! - *MyISAM, Aria*: LOAD DATA into an empty table builds the primary key row by row, and the other
//!   keys by sorting at the end. DISABLE KEYS and ENABLE KEYS by hand are not faster for MyISAM,
//!   and 30 % slower for Aria, which then logs every row.
//! - *InnoDB*: the bulk load of MariaDB 10.6 and later sorts each index of an empty table; it needs
//!   `unique_checks=0`. Adding the secondary key afterwards takes 20 % longer. While a table loads,
//!   the thread that recalculates statistics spins on it and uses a whole CPU, so automatic
//!   recalculation is off until the end.
//! - *RocksDB*: `rocksdb_bulk_load` writes sorted files; without it a million rows exceed the limit
//!   of row locks. Adding the secondary key afterwards takes 40 % longer.

use super::table::{StorageEngine, Table, names, quote, text};

/// Memory for sorting keys, for each row: the key, its row pointer and the sort's own pointer.
const SORT_BYTES_PER_ROW: u64 = 24;
const SORT_BYTES_MAX: u64 = 2 << 30;

/// How the rows reach the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowsFrom<'a> {
    /// Over the connection.
    Local,
    /// From a named pipe of this path, that the server opens itself.
    Pipe(&'a str),
}

/// One table's load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recipe {
    /// Sent first. The server may refuse them: not every server has every session variable.
    pub settings: Vec<String>,
    /// Further settings, without which the load cannot work.
    pub requirements: Vec<String>,
    pub create: String,
    /// Sent before the rows if the table was not made by `create`.
    pub before_rows: Vec<String>,
    /// Sent after the rows.
    pub finish: Vec<String>,
    table: String,
    fields: String,
    has_nulls: bool,
    /// The engine builds keys by sorting or in a slower way, and the server reports which it used.
    pub keys_are_sorted_or_not: bool,
}

impl Recipe {
    /// The statements that load `rows` rows.
    pub fn new(table: &Table, rows: u64) -> Self {
        let name = table.quoted();
        let mut settings = vec![
            // Without this a server may silently use a different engine.
            "SET SESSION sql_mode = 'STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION'".to_owned(),
            // A statement may have to be sent again, so each is a transaction of its own.
            "SET SESSION autocommit = 1".to_owned(),
            "SET SESSION foreign_key_checks = 0".to_owned(),
            "SET SESSION unique_checks = 0".to_owned(),
        ];
        let mut requirements = Vec::new();
        let mut options = Vec::new();
        let mut before_rows = Vec::new();
        let mut finish = Vec::new();
        let sort_bytes = rows.saturating_mul(SORT_BYTES_PER_ROW).min(SORT_BYTES_MAX);
        let sorts = match &table.engine {
            StorageEngine::MyIsam => {
                settings.push(at_least("myisam_sort_buffer_size", sort_bytes));
                true
            }
            StorageEngine::Aria => {
                settings.push(at_least("aria_sort_buffer_size", sort_bytes));
                true
            }
            StorageEngine::InnoDb => {
                if !names(&table.options, "STATS_AUTO_RECALC") {
                    options.push("STATS_AUTO_RECALC=0");
                    before_rows.push(format!("ALTER TABLE {name} STATS_AUTO_RECALC=0"));
                    finish.push(format!("ALTER TABLE {name} STATS_AUTO_RECALC=DEFAULT"));
                }
                finish.push(format!("ANALYZE TABLE {name}"));
                false
            }
            StorageEngine::RocksDb => {
                requirements.push("SET SESSION rocksdb_bulk_load = 1".to_owned());
                finish.push("SET SESSION rocksdb_bulk_load = 0".to_owned());
                false
            }
            StorageEngine::Other(_) => false,
        };
        if sorts {
            settings.push("SET SESSION profiling = 1".to_owned());
        }
        Self {
            settings,
            requirements,
            create: table.create(&options),
            before_rows,
            finish,
            table: table.name.clone(),
            fields: table.fields.clone(),
            has_nulls: table.has_nulls,
            keys_are_sorted_or_not: sorts,
        }
    }

    /// The LOAD DATA statement.
    pub fn load(&self, source: RowsFrom<'_>) -> String {
        let infile = match source {
            RowsFrom::Local => "LOCAL INFILE 'rows'".to_owned(),
            RowsFrom::Pipe(path) => format!("INFILE {}", text(path)),
        };
        // Only NULL needs an escape character. Without NULLs none is set, which spares the server a
        // check of each byte.
        let escape = if self.has_nulls { "\\\\" } else { "" };
        format!(
            "LOAD DATA {infile} INTO TABLE {} CHARACTER SET binary \
             FIELDS TERMINATED BY '\\t' ESCAPED BY '{escape}' LINES TERMINATED BY '\\n' ({})",
            quote(&self.table),
            self.fields
        )
    }

    /// The beginning of an INSERT statement, up to VALUES; the rows follow as a list.
    pub fn insert(&self) -> String {
        format!(
            "INSERT INTO {} ({}) VALUES ",
            quote(&self.table),
            self.fields
        )
    }
}

fn at_least(variable: &str, bytes: u64) -> String {
    format!("SET SESSION {variable} = GREATEST(@@SESSION.{variable}, {bytes})")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::Sbtest;

    fn recipe(engine: StorageEngine, options: &str) -> Recipe {
        let table = Sbtest::Study.table("sbtest", engine, options).unwrap();
        Recipe::new(&table, 1_000_000)
    }

    #[test]
    fn keys_are_sorted_in_memory_that_holds_them() {
        let myisam = recipe(StorageEngine::MyIsam, "");
        assert!(
            myisam.settings.contains(
                &"SET SESSION myisam_sort_buffer_size = \
              GREATEST(@@SESSION.myisam_sort_buffer_size, 24000000)"
                    .to_owned()
            )
        );
        assert!(myisam.keys_are_sorted_or_not && myisam.finish.is_empty());
        let table = Sbtest::Study.table("t", StorageEngine::Aria, "").unwrap();
        let huge = Recipe::new(&table, u64::MAX).settings;
        assert!(
            huge.iter()
                .any(|s| s.contains("aria") && s.contains("2147483648"))
        );
    }

    #[test]
    fn innodb_counts_its_rows_once_at_the_end() {
        let innodb = recipe(StorageEngine::InnoDb, "");
        assert!(innodb.create.ends_with("STATS_AUTO_RECALC=0"));
        assert_eq!(
            innodb.finish,
            [
                "ALTER TABLE `sbtest` STATS_AUTO_RECALC=DEFAULT",
                "ANALYZE TABLE `sbtest`"
            ]
        );
        let told = recipe(StorageEngine::InnoDb, "stats_auto_recalc=1");
        assert!(!told.create.contains("STATS_AUTO_RECALC=0"));
        assert_eq!(told.finish, ["ANALYZE TABLE `sbtest`"]);
    }

    #[test]
    fn rocksdb_ends_its_bulk_load() {
        let rocks = recipe(StorageEngine::RocksDb, "");
        assert_eq!(rocks.requirements, ["SET SESSION rocksdb_bulk_load = 1"]);
        assert_eq!(rocks.finish, ["SET SESSION rocksdb_bulk_load = 0"]);
    }

    #[test]
    fn rows_come_over_the_connection_or_through_a_pipe() {
        let recipe = recipe(StorageEngine::MyIsam, "");
        assert_eq!(
            recipe.load(RowsFrom::Local),
            "LOAD DATA LOCAL INFILE 'rows' INTO TABLE `sbtest` CHARACTER SET binary FIELDS \
             TERMINATED BY '\\t' ESCAPED BY '' LINES TERMINATED BY '\\n' (id, k, c, pad)"
        );
        assert!(
            recipe
                .load(RowsFrom::Pipe("/a/it's\\b"))
                .starts_with("LOAD DATA INFILE '/a/it''s\\\\b' INTO TABLE")
        );
    }
}

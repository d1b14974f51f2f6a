//! The table `sbtest`, as different versions of sysbench made it.

use super::rows::Rows;
use super::schema::{Dataset, Filling, Wish};
use super::table::{BadTable, StorageEngine, Table, names, quote, seed_of_table};
use std::sync::Arc;

/// Which columns and keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sbtest {
    /// The table of the segmented key cache study, made with sysbench 0.5. One byte per character,
    /// as then: a row of MyISAM has 189 bytes with any default character set of the server. No
    /// column is NULL, because MyISAM searches a page of a nullable key one entry after another
    /// instead of by halves.
    Study,
    /// As sysbench 1.0 makes it for its OLTP scripts, in the database's character set.
    V10(Switches),
}

/// The switches of sysbench's scripts that change the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Switches {
    pub auto_increment: bool,
    /// `id` is the primary key; otherwise it has a key that may hold duplicates.
    pub primary_key: bool,
    /// `k` has a key.
    pub secondary_key: bool,
}

impl Default for Switches {
    fn default() -> Self {
        Self {
            auto_increment: true,
            primary_key: true,
            secondary_key: true,
        }
    }
}

/// The study's value for `--myisam-max-rows` of sysbench 0.5. MyISAM derives from it the width of
/// the row pointers in its keys: 4 bytes instead of 6. So the index is smaller and may be a level
/// less deep. Tables of fixed rows still hold all that an id can number.
const MYISAM_MAX_ROWS: &str = "MAX_ROWS=50000000";

impl Sbtest {
    /// The table of this name.
    ///
    /// # Errors
    /// A name that no server takes.
    pub fn table(
        self,
        name: &str,
        engine: StorageEngine,
        options: &str,
    ) -> Result<Table, BadTable> {
        Ok(Table {
            own_options: self.own_options(&engine, options),
            row_bytes: row_bytes(&engine),
            ..Table::new(name, engine, self.body(name), options)?
        })
    }

    /// Refuses a number of rows that the columns cannot count.
    ///
    /// # Errors
    /// The most rows that there can be.
    pub fn check_rows(self, rows: u64) -> Result<(), BadTable> {
        let rows_max = match self {
            Self::Study => u64::from(u32::MAX),
            Self::V10(_) => i32::MAX as u64,
        };
        if rows > rows_max {
            return Err(BadTable::Rows { rows, rows_max });
        }
        Ok(())
    }

    /// The table options of the schema itself, but those that were asked for otherwise.
    fn own_options(self, engine: &StorageEngine, options: &str) -> Vec<String> {
        let mut own = Vec::new();
        if self != Self::Study {
            return own;
        }
        let asked = |words: &[&str]| words.iter().any(|word| names(options, word));
        if !asked(&["CHARSET", "CHARACTER SET", "COLLATE"]) {
            own.push("CHARSET=latin1".to_owned());
        }
        if *engine == StorageEngine::MyIsam && !asked(&["MAX_ROWS"]) {
            own.push(MYISAM_MAX_ROWS.to_owned());
        }
        own
    }

    fn body(self, name: &str) -> Vec<String> {
        let Self::V10(switches) = self else {
            return [
                "id INT UNSIGNED NOT NULL AUTO_INCREMENT",
                "k INT UNSIGNED NOT NULL DEFAULT '0'",
                "c CHAR(120) NOT NULL DEFAULT ''",
                "pad CHAR(60) NOT NULL DEFAULT ''",
                "PRIMARY KEY (id)",
                "KEY k (k)",
            ]
            .map(str::to_owned)
            .to_vec();
        };
        let numbered = if switches.auto_increment {
            " AUTO_INCREMENT"
        } else {
            ""
        };
        let key = if switches.primary_key {
            "PRIMARY KEY (id)"
        } else {
            "KEY xid (id)"
        };
        let mut body = vec![
            format!("id INTEGER NOT NULL{numbered}"),
            "k INTEGER DEFAULT '0' NOT NULL".to_owned(),
            "c CHAR(120) DEFAULT '' NOT NULL".to_owned(),
            "pad CHAR(60) DEFAULT '' NOT NULL".to_owned(),
            key.to_owned(),
        ];
        if switches.secondary_key {
            let key = quote(&format!("k_{}", number(name)));
            body.push(format!("KEY {key} (k)"));
        }
        body
    }
}

/// The digits at the end of the name, after which sysbench names the key: `sbtest7`, `k_7`.
fn number(name: &str) -> &str {
    let digits = name.trim_end_matches(|c: char| c.is_ascii_digit());
    match name.get(digits.len()..) {
        Some(number) if !number.is_empty() => number,
        _ => "1",
    }
}

/// Bytes of a row on disk, its keys included, at the least.
fn row_bytes(engine: &StorageEngine) -> u64 {
    match engine {
        StorageEngine::MyIsam | StorageEngine::Aria => 210,
        StorageEngine::InnoDb => 240,
        StorageEngine::RocksDb | StorageEngine::Other(_) => 100,
    }
}

/// One table, or several that are numbered.
///
/// # Errors
/// Names or sizes that cannot be.
pub fn dataset(sbtest: Sbtest, wish: &Wish<'_>) -> Result<Dataset, String> {
    if let Some(key) = wish.keys.keys().next() {
        return Err(format!("--with: sbtest has no option {key}"));
    }
    let name = wish.table.unwrap_or("sbtest");
    let names = match wish.tables {
        None => vec![name.to_owned()],
        Some(0) => {
            return Err("--tables: use 1 or more".to_owned());
        }
        Some(count) => (1..=count)
            .map(|number| format!("{name}{number}"))
            .collect(),
    };
    let Some(rows) = wish.rows else {
        return Err("set the rows of each table with --rows N".to_owned());
    };
    sbtest.check_rows(rows)?;
    let tables: Result<_, BadTable> = (1..)
        .zip(&names)
        .map(|(number, name)| {
            let seed = seed_of_table(wish.seed, number);
            Ok(Filling {
                table: sbtest.table(name, wish.engine.clone(), wish.table_options)?,
                content: Arc::new(Rows::new(seed, rows, &wish.key)),
            })
        })
        .collect();
    Ok(Dataset {
        name: "sbtest",
        tables: tables?,
        finish: Vec::new(),
        facts: Vec::new(),
        facts_stay: false,
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn created(name: &str, sbtest: Sbtest, engine: StorageEngine, options: &str) -> String {
        sbtest.table(name, engine, options).unwrap().create(&[])
    }

    #[test]
    fn the_study_s_table() {
        assert_eq!(
            created(
                "sbtest",
                Sbtest::Study,
                StorageEngine::MyIsam,
                " CHECKSUM=1 "
            ),
            "CREATE TABLE `sbtest` (\n  id INT UNSIGNED NOT NULL AUTO_INCREMENT,\n  \
             k INT UNSIGNED NOT NULL DEFAULT '0',\n  c CHAR(120) NOT NULL DEFAULT '',\n  \
             pad CHAR(60) NOT NULL DEFAULT '',\n  PRIMARY KEY (id),\n  KEY k (k)\n) \
             ENGINE=MyISAM CHARSET=latin1 MAX_ROWS=50000000 CHECKSUM=1"
        );
    }

    #[test]
    fn other_engines_and_other_wishes_keep_their_own_number_of_rows() {
        let wished = created("t", Sbtest::Study, StorageEngine::MyIsam, "max_rows=5");
        assert!(wished.ends_with("ENGINE=MyISAM CHARSET=latin1 max_rows=5"));
        for engine in [
            StorageEngine::Aria,
            StorageEngine::InnoDb,
            StorageEngine::RocksDb,
        ] {
            assert!(!created("t", Sbtest::Study, engine, "").contains("MAX_ROWS"));
        }
    }

    #[test]
    fn sysbench_s_table_is_numbered_and_has_no_charset_of_its_own() {
        let usual = Sbtest::V10(Switches::default());
        let table = created("sbtest12", usual, StorageEngine::MyIsam, "");
        assert!(table.contains("id INTEGER NOT NULL AUTO_INCREMENT,"));
        assert!(table.ends_with("PRIMARY KEY (id),\n  KEY `k_12` (k)\n) ENGINE=MyISAM"));
        let bare = Sbtest::V10(Switches {
            auto_increment: false,
            primary_key: false,
            secondary_key: false,
        });
        let table = created("t", bare, StorageEngine::MyIsam, "");
        assert!(table.contains("id INTEGER NOT NULL,"));
        assert!(table.contains("  KEY xid (id)\n)"));
        assert!(created("t", usual, StorageEngine::MyIsam, "").contains("`k_1`"));
    }

    #[test]
    fn a_charset_that_is_asked_for_is_kept() {
        let table = created(
            "t",
            Sbtest::Study,
            StorageEngine::MyIsam,
            "default charset=utf8mb4",
        );
        assert!(!table.contains("latin1"));
    }

    #[test]
    fn ids_must_fit() {
        assert!(Sbtest::Study.check_rows(4_294_967_295).is_ok());
        assert!(Sbtest::Study.check_rows(4_294_967_296).is_err());
        let sysbench = Sbtest::V10(Switches::default());
        assert!(sysbench.check_rows(2_147_483_648).is_err());
    }

    fn wish<'w>() -> Wish<'w> {
        Wish {
            rows: Some(5),
            ..Wish::of(1, StorageEngine::InnoDb)
        }
    }

    #[test]
    fn several_tables_are_numbered_and_differ() {
        let wish = Wish {
            tables: Some(3),
            ..wish()
        };
        let made = dataset(Sbtest::Study, &wish).unwrap();
        let names: Vec<&str> = made
            .tables
            .iter()
            .map(|one| one.table.name.as_str())
            .collect();
        assert_eq!(names, ["sbtest1", "sbtest2", "sbtest3"]);
        let first = |filling: &Filling| {
            let mut text = Vec::new();
            filling.content.append(&mut text, 1..2);
            text
        };
        assert_ne!(first(&made.tables[0]), first(&made.tables[1]));
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let refused = |wish: Wish<'_>| dataset(Sbtest::Study, &wish).unwrap_err().to_string();
        let none = Wish {
            tables: Some(0),
            ..wish()
        };
        assert!(refused(none).contains("--tables"));
        let many = Wish {
            rows: Some(5_000_000_000),
            ..wish()
        };
        assert!(refused(many).contains("too many"));
        assert!(
            refused(Wish {
                rows: None,
                ..wish()
            })
            .contains("--rows")
        );
        let named = Wish {
            table: Some("x"),
            ..wish()
        };
        let own = named.own_keys::<()>().unwrap_err().to_string();
        assert!(own.contains("--table"));
    }
}

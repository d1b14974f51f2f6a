//! A table to fill: its schema, its engine, and the statement that makes it.

use crate::random::Stream;

/// Which columns and keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Schema {
    /// Of the segmented key cache study, made with sysbench 0.5. One byte a character, as then:
    /// a row of MyISAM has 189 bytes whatever the server's default character set is. No column
    /// is NULL, because MyISAM searches a page of a nullable key one entry after another instead
    /// of by halves.
    Sbtest,
    /// As sysbench 1.0 makes it for its OLTP scripts, in the database's character set.
    Sbtest10(Sbtest10),
}

/// The switches of sysbench's scripts that change the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sbtest10 {
    pub auto_increment: bool,
    /// `id` is the primary key; otherwise it has a key that may hold duplicates.
    pub primary_key: bool,
    /// `k` has a key.
    pub secondary_key: bool,
}

impl Default for Sbtest10 {
    fn default() -> Self {
        Self {
            auto_increment: true,
            primary_key: true,
            secondary_key: true,
        }
    }
}

/// What the study told sysbench 0.5 by `--myisam-max-rows`. From it MyISAM takes the width of the
/// row pointers in its keys: 4 bytes instead of 6, so a smaller index that may be a level less
/// deep. Tables of fixed rows still hold all that an id can number.
const MYISAM_MAX_ROWS: &str = "MAX_ROWS=50000000";

impl Schema {
    /// The largest number that its columns hold.
    fn rows_max(self) -> u64 {
        match self {
            Self::Sbtest => u64::from(u32::MAX),
            Self::Sbtest10(_) => i32::MAX as u64,
        }
    }
}

/// The storage engines whose loading is known; others are loaded without special steps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Engine {
    MyIsam,
    Aria,
    InnoDb,
    RocksDb,
    Other(String),
}

impl Engine {
    /// The engine of this name, whatever its case.
    ///
    /// # Errors
    /// A name that cannot be one.
    pub fn named(name: &str) -> Result<Self, BadTable> {
        Ok(match name.to_ascii_lowercase().as_str() {
            "myisam" => Self::MyIsam,
            "aria" => Self::Aria,
            "innodb" => Self::InnoDb,
            "rocksdb" | "myrocks" => Self::RocksDb,
            _ if is_word(name) => Self::Other(name.to_owned()),
            _ => return Err(BadTable::Engine(name.to_owned())),
        })
    }

    pub fn name(&self) -> &str {
        match self {
            Self::MyIsam => "MyISAM",
            Self::Aria => "Aria",
            Self::InnoDb => "InnoDB",
            Self::RocksDb => "RocksDB",
            Self::Other(name) => name,
        }
    }
}

fn is_word(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= 64
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

/// Why no such table can be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadTable {
    #[error("{0:?} is no name of a storage engine; try MyISAM, Aria, InnoDB or RocksDB")]
    Engine(String),
    #[error(
        "{0:?} is no name of a table: it has 1 to 64 characters, without NUL or space at the end"
    )]
    Name(String),
    #[error("{rows} rows are too many: the schema's id counts to {rows_max}")]
    Rows { rows: u64, rows_max: u64 },
}

/// A table that does not exist yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    name: String,
    schema: Schema,
    engine: Engine,
    options: String,
}

impl Table {
    /// `options` are put at the end of the CREATE TABLE as they are.
    ///
    /// # Errors
    /// A name that no server takes.
    pub fn new(
        name: &str,
        schema: Schema,
        engine: Engine,
        options: &str,
    ) -> Result<Self, BadTable> {
        let fits = (1..=64).contains(&name.chars().count());
        if !fits || name.contains('\0') || name.ends_with(' ') {
            return Err(BadTable::Name(name.to_owned()));
        }
        Ok(Self {
            name: name.to_owned(),
            schema,
            engine,
            options: options.trim().to_owned(),
        })
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// The name as statements write it.
    pub fn quoted(&self) -> String {
        quote(&self.name)
    }

    /// Refuses a number of rows that the columns cannot count.
    ///
    /// # Errors
    /// The most rows that there can be.
    pub fn check_rows(&self, rows: u64) -> Result<(), BadTable> {
        let rows_max = self.schema.rows_max();
        if rows > rows_max {
            return Err(BadTable::Rows { rows, rows_max });
        }
        Ok(())
    }

    /// True where the table's options speak of something, in any case.
    pub(super) fn options_name(&self, word: &str) -> bool {
        self.options
            .to_ascii_uppercase()
            .contains(&word.to_ascii_uppercase())
    }

    /// The statement that makes the table; `more` are further table options.
    pub(super) fn create(&self, more: &[&str]) -> String {
        let mut statement = format!(
            "CREATE TABLE {} (\n{}\n) ENGINE={}",
            self.quoted(),
            self.columns().join(",\n"),
            self.engine.name()
        );
        let own = self.own_options();
        for option in own.iter().chain([&self.options.as_str()]).chain(more) {
            if !option.is_empty() {
                statement.push(' ');
                statement.push_str(option);
            }
        }
        statement
    }

    /// The table options of the schema itself, but those that were asked for otherwise.
    fn own_options(&self) -> Vec<&'static str> {
        let mut own = Vec::new();
        if self.schema != Schema::Sbtest {
            return own;
        }
        let names = |words: &[&str]| words.iter().any(|word| self.options_name(word));
        if !names(&["CHARSET", "CHARACTER SET", "COLLATE"]) {
            own.push("CHARSET=latin1");
        }
        if self.engine == Engine::MyIsam && !names(&["MAX_ROWS"]) {
            own.push(MYISAM_MAX_ROWS);
        }
        own
    }

    fn columns(&self) -> Vec<String> {
        let Schema::Sbtest10(variant) = self.schema else {
            return [
                "  id INT UNSIGNED NOT NULL AUTO_INCREMENT",
                "  k INT UNSIGNED NOT NULL DEFAULT '0'",
                "  c CHAR(120) NOT NULL DEFAULT ''",
                "  pad CHAR(60) NOT NULL DEFAULT ''",
                "  PRIMARY KEY (id)",
                "  KEY k (k)",
            ]
            .map(str::to_owned)
            .to_vec();
        };
        let mut columns = vec![
            format!(
                "  id INTEGER NOT NULL{}",
                if variant.auto_increment {
                    " AUTO_INCREMENT"
                } else {
                    ""
                }
            ),
            "  k INTEGER DEFAULT '0' NOT NULL".to_owned(),
            "  c CHAR(120) DEFAULT '' NOT NULL".to_owned(),
            "  pad CHAR(60) DEFAULT '' NOT NULL".to_owned(),
            if variant.primary_key {
                "  PRIMARY KEY (id)"
            } else {
                "  KEY xid (id)"
            }
            .to_owned(),
        ];
        if variant.secondary_key {
            columns.push(format!(
                "  KEY {} (k)",
                quote(&format!("k_{}", self.number()))
            ));
        }
        columns
    }

    /// The digits at the end of the name, after which sysbench names the key: `sbtest7`, `k_7`.
    fn number(&self) -> &str {
        let digits = self.name.trim_end_matches(|c: char| c.is_ascii_digit());
        match self.name.get(digits.len()..) {
            Some(number) if !number.is_empty() => number,
            _ => "1",
        }
    }
}

/// A name between backticks, as statements write it.
pub fn quote(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

/// The seed of the n-th of several tables that are filled from one seed, so that they differ.
pub fn seed_of_table(seed: u64, number: u32) -> u64 {
    if number <= 1 {
        return seed;
    }
    Stream::new(seed, u64::from(number)).next_u64()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn table(name: &str, schema: Schema, options: &str) -> Table {
        Table::new(name, schema, Engine::MyIsam, options).unwrap()
    }

    #[test]
    fn the_study_s_table() {
        assert_eq!(
            table("sbtest", Schema::Sbtest, " CHECKSUM=1 ").create(&["X=1"]),
            "CREATE TABLE `sbtest` (\n  id INT UNSIGNED NOT NULL AUTO_INCREMENT,\n  \
             k INT UNSIGNED NOT NULL DEFAULT '0',\n  c CHAR(120) NOT NULL DEFAULT '',\n  \
             pad CHAR(60) NOT NULL DEFAULT '',\n  PRIMARY KEY (id),\n  KEY k (k)\n) \
             ENGINE=MyISAM CHARSET=latin1 MAX_ROWS=50000000 CHECKSUM=1 X=1"
        );
    }

    #[test]
    fn other_engines_and_other_wishes_keep_their_own_number_of_rows() {
        let wished = table("t", Schema::Sbtest, "max_rows=5").create(&[]);
        assert!(wished.ends_with("ENGINE=MyISAM CHARSET=latin1 max_rows=5"));
        for engine in [Engine::Aria, Engine::InnoDb, Engine::RocksDb] {
            let other = Table::new("t", Schema::Sbtest, engine, "").unwrap();
            assert!(!other.create(&[]).contains("MAX_ROWS"));
        }
    }

    #[test]
    fn sysbench_s_table_is_numbered_and_has_no_charset_of_its_own() {
        let created = table("sbtest12", Schema::Sbtest10(Sbtest10::default()), "").create(&["X=1"]);
        assert!(created.contains("id INTEGER NOT NULL AUTO_INCREMENT,"));
        assert!(created.contains("PRIMARY KEY (id),\n  KEY `k_12` (k)\n) ENGINE=MyISAM X=1"));
        let bare = Sbtest10 {
            auto_increment: false,
            primary_key: false,
            secondary_key: false,
        };
        let created = table("t", Schema::Sbtest10(bare), "").create(&[]);
        assert!(created.contains("id INTEGER NOT NULL,"));
        assert!(created.contains("  KEY xid (id)\n)"));
        let created = table("t", Schema::Sbtest10(Sbtest10::default()), "").create(&[]);
        assert!(created.contains("`k_1`"));
    }

    #[test]
    fn a_charset_that_is_asked_for_is_kept() {
        let created = table("t", Schema::Sbtest, "default charset=utf8mb4").create(&[]);
        assert!(!created.contains("latin1"));
    }

    #[test]
    fn names_are_quoted_or_refused() {
        let created = table("a`b;c", Schema::Sbtest, "").create(&[]);
        assert!(created.starts_with("CREATE TABLE `a``b;c` ("));
        for bad in ["", "x ", "a\0b", &"n".repeat(65)] {
            assert!(Table::new(bad, Schema::Sbtest, Engine::Aria, "").is_err());
        }
    }

    #[test]
    fn engines_have_many_spellings_and_no_strange_ones() {
        assert_eq!(Engine::named("innodb"), Ok(Engine::InnoDb));
        assert_eq!(Engine::named("MYISAM"), Ok(Engine::MyIsam));
        assert_eq!(Engine::named("Spider").unwrap().name(), "Spider");
        assert!(Engine::named("x; DROP TABLE y").is_err());
        assert!(Engine::named("").is_err());
    }

    #[test]
    fn ids_must_fit() {
        let study = table("t", Schema::Sbtest, "");
        assert!(study.check_rows(4_294_967_295).is_ok());
        assert!(study.check_rows(4_294_967_296).is_err());
        let sysbench = table("t", Schema::Sbtest10(Sbtest10::default()), "");
        assert!(sysbench.check_rows(2_147_483_648).is_err());
    }

    #[test]
    fn tables_of_one_seed_differ_and_the_first_keeps_it() {
        assert_eq!(seed_of_table(7, 1), 7);
        assert_ne!(seed_of_table(7, 2), seed_of_table(7, 3));
        assert_ne!(seed_of_table(7, 2), seed_of_table(8, 2));
    }
}

//! A table to fill: its columns, its engine, and the statement that makes it.

use contend_random::Stream;

/// A schema's definition of one of its tables.
#[derive(Clone, Copy, Debug)]
pub struct Definition {
    pub name: &'static str,
    /// Columns and keys, a line each.
    pub body: &'static [&'static str],
    /// Some fields may be NULL.
    pub has_nulls: bool,
    /// Approximate bytes of a row on disk, its keys included.
    pub row_bytes: u64,
}

/// The storage engines whose loading is known; others are loaded without special steps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StorageEngine {
    MyIsam,
    Aria,
    InnoDb,
    RocksDb,
    Other(String),
}

impl StorageEngine {
    /// The engine of this name, ignoring case.
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
    #[error("unknown storage engine {0:?}; use MyISAM, Aria, InnoDB or RocksDB")]
    Engine(String),
    #[error("{0:?} is not a table name; use 1 to 64 characters, without NUL or trailing space")]
    Name(String),
    #[error("{rows} rows are too many; the schema's id allows {rows_max}")]
    Rows { rows: u64, rows_max: u64 },
}

impl From<BadTable> for String {
    fn from(bad: BadTable) -> Self {
        bad.to_string()
    }
}

/// A table that does not exist yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    pub name: String,
    pub engine: StorageEngine,
    /// Columns and keys, a line each.
    pub body: Vec<String>,
    /// The columns in the order in which rows have them.
    pub fields: String,
    pub has_nulls: bool,
    /// Approximate bytes of a row on disk.
    pub row_bytes: u64,
    /// Table options of the schema's own, and those that were asked for.
    pub own_options: Vec<String>,
    pub options: String,
    /// The table's comment, in place of one among the options. None if it is empty.
    pub comment: String,
    /// `PARTITION BY` and what follows.
    pub partitions: String,
}

impl Table {
    /// A table of columns and keys, one per line. `options` are put unchanged at the end of the
    /// CREATE TABLE.
    ///
    /// # Errors
    /// A name that no server takes.
    pub fn new(
        name: &str,
        engine: StorageEngine,
        body: Vec<String>,
        options: &str,
    ) -> Result<Self, BadTable> {
        let fits = (1..=64).contains(&name.chars().count());
        if !fits || name.contains('\0') || name.ends_with(' ') {
            return Err(BadTable::Name(name.to_owned()));
        }
        Ok(Self {
            name: name.to_owned(),
            engine,
            fields: fields(&body),
            body,
            has_nulls: false,
            row_bytes: 0,
            own_options: Vec::new(),
            options: options.trim().to_owned(),
            comment: String::new(),
            partitions: String::new(),
        })
    }

    /// A table as its schema defines it; `keys` come after the others.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn defined(
        definition: &Definition,
        keys: &[&str],
        engine: StorageEngine,
        options: &str,
    ) -> Result<Self, BadTable> {
        let lines = |lines: &[&str]| -> Vec<String> {
            lines.iter().map(|line| (*line).to_owned()).collect()
        };
        let own = lines(definition.body);
        let body = [own.as_slice(), &lines(keys)].concat();
        Ok(Self {
            // The server itself fills columns that come with keys.
            fields: fields(&own),
            has_nulls: definition.has_nulls,
            row_bytes: definition.row_bytes,
            ..Self::new(definition.name, engine, body, options)?
        })
    }

    /// The name as statements write it.
    pub fn quoted(&self) -> String {
        quote(&self.name)
    }

    /// The statement that makes the table; `more` are further table options.
    pub fn create(&self, more: &[&str]) -> String {
        let body: Vec<String> = self.body.iter().map(|line| format!("  {line}")).collect();
        let mut statement = format!(
            "CREATE TABLE {} (\n{}\n) ENGINE={}",
            self.quoted(),
            body.join(",\n"),
            self.engine.name()
        );
        let own = self.own_options.iter().map(String::as_str);
        // If there are two comments the server takes the last.
        let comment = match self.comment.is_empty() {
            true => String::new(),
            false => format!("COMMENT={}", text(&self.comment)),
        };
        let rest = own
            .chain([self.options.as_str()])
            .chain(more.iter().copied())
            .chain([comment.as_str()])
            .chain([self.partitions.as_str()]);
        for option in rest.filter(|option| !option.is_empty()) {
            statement.push(' ');
            statement.push_str(option);
        }
        statement
    }
}

/// The names of the columns: the first words of all lines that are not keys.
fn fields(body: &[String]) -> String {
    let names = body.iter().filter_map(|line| line.split(' ').next());
    let names: Vec<&str> = names
        .filter(|name| !matches!(*name, "PRIMARY" | "UNIQUE" | "KEY"))
        .collect();
    names.join(", ")
}

/// True if options speak of a word, in any case.
pub(super) fn names(options: &str, word: &str) -> bool {
    options
        .to_ascii_uppercase()
        .contains(&word.to_ascii_uppercase())
}

/// A name between backticks, as statements write it.
pub fn quote(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

/// A string literal; valid in every SQL mode that our sessions set.
pub fn text(value: &str) -> String {
    format!("'{}'", value.replace('\\', "\\\\").replace('\'', "''"))
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

    fn table(name: &str, options: &str) -> Result<Table, BadTable> {
        let body = vec!["id INT".to_owned(), "PRIMARY KEY (id)".to_owned()];
        Table::new(name, StorageEngine::InnoDb, body, options)
    }

    #[test]
    fn options_stand_in_the_order_of_who_asked_and_partitions_last() {
        let table = Table {
            own_options: vec!["A=1".to_owned()],
            partitions: "PARTITION BY HASH (id) PARTITIONS 4".to_owned(),
            ..table("t", " B=2 ").unwrap()
        };
        assert_eq!(
            table.create(&["C=3"]),
            "CREATE TABLE `t` (\n  id INT,\n  PRIMARY KEY (id)\n) ENGINE=InnoDB A=1 B=2 C=3 \
             PARTITION BY HASH (id) PARTITIONS 4"
        );
    }

    #[test]
    fn names_are_quoted_or_refused() {
        let created = table("a`b;c", "").unwrap().create(&[]);
        assert!(created.starts_with("CREATE TABLE `a``b;c` ("));
        for bad in ["", "x ", "a\0b", &"n".repeat(65)] {
            assert!(table(bad, "").is_err());
        }
    }

    #[test]
    fn engines_have_many_spellings_and_no_strange_ones() {
        assert_eq!(StorageEngine::named("innodb"), Ok(StorageEngine::InnoDb));
        assert_eq!(StorageEngine::named("MYISAM"), Ok(StorageEngine::MyIsam));
        assert_eq!(StorageEngine::named("Spider").unwrap().name(), "Spider");
        assert!(StorageEngine::named("x; DROP TABLE y").is_err());
        assert!(StorageEngine::named("").is_err());
    }

    #[test]
    fn tables_of_one_seed_differ_and_the_first_keeps_it() {
        assert_eq!(seed_of_table(7, 1), 7);
        assert_ne!(seed_of_table(7, 2), seed_of_table(7, 3));
        assert_ne!(seed_of_table(7, 2), seed_of_table(8, 2));
    }
}

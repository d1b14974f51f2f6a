//! The control connection, on which everything but the load is run; or paper in its place.

use super::{SlapHalt, print};
use contend_client::blocking::{ControlConnection, endless};
use contend_figures::outcome::Failure;

/// Runs statements, or prints them.
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
    pub fn run(&mut self, sql: &str) -> Result<(), Failure> {
        match self {
            Self::Paper => {
                statement(sql);
                Ok(())
            }
            Self::Server { connection, shows } => {
                if *shows {
                    statement(sql);
                }
                connection.run(sql, &mut endless).map(drop)
            }
        }
    }

    /// Makes a schema that of the statements to come.
    pub fn choose(&mut self, schema: &str, strict: bool) -> Result<(), Failure> {
        let Self::Server { connection, .. } = self else {
            let mut letters = schema.chars();
            let is_plain = letters.all(|c| c.is_ascii_alphanumeric() || c == '_');
            match strict || is_plain {
                true => statement(&format!("use {schema}")),
                false => statement(&format!("use {}", quoted(schema, strict))),
            }
            return Ok(());
        };
        connection.choose(schema, &mut endless).map(drop)
    }

    /// The first column of an answer; none on paper.
    ///
    /// # Errors
    /// The server refuses the query.
    pub fn column(&mut self, sql: &str) -> Result<Option<Vec<String>>, SlapHalt> {
        let Self::Server { connection, .. } = self else {
            return Ok(None);
        };
        let rows = connection.rows(sql, &mut endless);
        let rows = rows.map_err(|failure| SlapHalt::query(sql, failure))?;
        let first = |row: Vec<Option<String>>| row.into_iter().next().flatten();
        Ok(Some(rows.into_iter().filter_map(first).collect()))
    }
}

/// Prints a statement as `--only-print` does.
pub fn statement(sql: &str) {
    print(&format!("{sql};\n"));
}

/// A name in backticks. mysqlslap takes no notice of those inside of it.
pub fn quoted(name: &str, strict: bool) -> String {
    match strict {
        true => format!("`{name}`"),
        false => format!("`{}`", name.replace('`', "``")),
    }
}

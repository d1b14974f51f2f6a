//! The refusals of the model server, in the server's own codes and with messages that name it.

use super::sql::Strange;
use super::{DATABASE, TABLE};
use contend_servers::serve::Refusal;

const KNOWS: &str = "it supports SELECT … FROM sbtest WHERE k IN (…), k = … or id = …, as text or \
                     prepared; SET GLOBAL of its key cache's variables; LOAD INDEX INTO CACHE \
                     sbtest; SHOW STATUS, SHOW VARIABLES, SELECT @@…, and \
                     information_schema.KEY_CACHES";

/// Most of a statement that is shown.
const SHOWN_BYTES: usize = 120;

/// A statement that was not understood.
pub fn strange(strange: &Strange<'_>, sql: &[u8]) -> Refusal {
    match strange {
        Strange::Writes => Refusal::new(
            1290,
            b"HY000",
            "The MariaDB server is running with the --read-only option so it cannot execute this \
             statement: contend's model server computes its rows from a seed and accepts no writes",
        ),
        Strange::Column(name) => {
            let name = String::from_utf8_lossy(name);
            let words = format!("Unknown column '{name}' in '{TABLE}', which has id, k, c and pad");
            Refusal::new(1054, b"42S22", words)
        }
        Strange::SchemaTable(name) => {
            let words = format!(
                "Unknown table '{}' in information_schema: contend's model server has KEY_CACHES \
                 and SYSTEM_VARIABLES there",
                String::from_utf8_lossy(name)
            );
            Refusal::new(1109, b"42S02", words)
        }
        Strange::Other => {
            let shown = String::from_utf8_lossy(sql.get(..SHOWN_BYTES).unwrap_or(sql));
            let dots = if sql.len() > SHOWN_BYTES { "…" } else { "" };
            let words = format!("contend's model server does not support '{shown}{dots}': {KNOWS}");
            Refusal::new(1235, b"42000", words)
        }
    }
}

/// A statement that was understood, and cannot be prepared.
pub fn not_prepared() -> Refusal {
    let words = "This command is not supported in the prepared statement protocol yet: contend's \
                 model server prepares SELECT … FROM sbtest WHERE k IN (…), k = … or id = …";
    Refusal::new(1295, b"HY000", words)
}

pub fn no_database() -> Refusal {
    Refusal::new(1046, b"3D000", "No database selected")
}

pub fn unknown_database(name: &[u8]) -> Refusal {
    let name = String::from_utf8_lossy(name);
    let words = format!("Unknown database '{name}': contend's model server has {DATABASE}");
    Refusal::new(1049, b"42000", words)
}

pub fn unknown_table(database: &[u8], table: &[u8]) -> Refusal {
    let [database, table] = [database, table].map(String::from_utf8_lossy);
    let words = format!(
        "Table '{database}.{table}' doesn't exist: contend's model server has {DATABASE}.{TABLE}"
    );
    Refusal::new(1146, b"42S02", words)
}

/// A value that is bound to a parameter and is not a whole number.
pub fn wrong_argument() -> Refusal {
    let words = "Incorrect arguments to EXECUTE: contend's model server needs whole numbers";
    Refusal::new(1210, b"HY000", words)
}

/// A `?` in a statement that came as text.
pub fn loose_mark() -> Refusal {
    let words = "You have an error in your SQL syntax: ? is allowed only in prepared statements";
    Refusal::new(1064, b"42000", words)
}

pub fn too_many_connections() -> Refusal {
    Refusal::new(1040, b"08004", "Too many connections")
}

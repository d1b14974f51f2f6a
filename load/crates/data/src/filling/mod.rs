//! Fills tables: one thread makes the rows while a second one sends them to the server.
//!
//! A table that exists already is never touched, unless its comment says that it is ours and was
//! left half filled. If the fill of a new table fails, that table is dropped again, so that a second
//! try can create it.

mod claim;
mod dataset;
mod generator;
mod journal;
mod load;
mod made;
mod pipe;
mod tables;
mod watch;

pub use dataset::fill_dataset;
pub use load::Transport;
pub use made::{Made, fill_made};
pub use watch::{FillPhase, LoadProgress};

use crate::table::{quote, text};
use crate::{Content, Recipe, Table};
use contend_client::Target;
use contend_client::blocking::{ControlConnection, endless};
use contend_figures::outcome::Failure;
use made::unless_refused;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use watch::{DISK_FULL, Disk, LoadWatch};

const TABLE_EXISTS: u16 = 1050;

/// One table to make and fill.
#[derive(Clone, Debug)]
pub struct TableLoad {
    pub table: Table,
    pub content: Arc<dyn Content>,
    /// A folder of this host that the server can read: rows go through a named pipe in it.
    pub pipe_folder: Option<PathBuf>,
}

/// A filled table.
#[derive(Clone, Debug, PartialEq)]
pub struct Filled {
    pub table: String,
    pub rows: u64,
    /// Bytes of the rows sent to the server, as text.
    pub bytes: u64,
    /// Checksum of the content: see [`crate::content::line_checksum`].
    pub checksum: u64,
    pub load_s: f64,
    /// After the last row: keys and statistics.
    pub keys_s: f64,
    pub total_s: f64,
    pub transport: Transport,
    /// Whether the keys were made by sorting (the fast way). None if the engine has only one way,
    /// or the server did not report it.
    pub keys_by_sort: Option<bool>,
    pub server_version: String,
}

/// Why a table was not filled.
#[derive(Clone, Debug, PartialEq)]
pub enum FillError {
    /// A table of this name exists, or a different load is at work. Nothing was touched.
    Exists(Failure),
    Failed(Failure),
    /// A signal stopped the fill.
    Stopped(Failure),
}

impl FillError {
    pub fn failure(&self) -> &Failure {
        match self {
            Self::Exists(failure) | Self::Failed(failure) | Self::Stopped(failure) => failure,
        }
    }
}

/// Makes one table and fills it.
///
/// # Errors
/// The table exists, the server refuses, or `stop` was raised. A table that this call made is
/// dropped again; if that is not possible, the failure includes it.
pub fn fill(
    target: &Target,
    order: &TableLoad,
    tell: &mut dyn FnMut(LoadProgress),
    stop: &AtomicBool,
) -> Result<Filled, FillError> {
    let watch = LoadWatch::new(stop, tell);
    let recipe = Recipe::new(&order.table, order.content.count());
    let mut connection =
        ControlConnection::open(target).map_err(|failure| problem(failure, &watch))?;
    let disk = disk_of(&mut connection, target, &watch);
    enough_room(disk.as_ref(), order).map_err(|failure| problem(failure, &watch))?;
    watch.look_at(disk);
    create(&mut connection, &recipe, order, &watch)?;
    let filled = fill_created(&mut connection, &recipe, order, &watch);
    filled.map_err(|failure| {
        let number = connection.agreed().connection_id;
        drop(connection);
        problem(undo(target, &order.table, number, explain(failure)), &watch)
    })
}

/// Creates the target's database if it does not exist.
///
/// # Errors
/// A login without a database fails, or the server refuses to create it.
pub fn make_database(target: &Target) -> Result<(), Failure> {
    let Some(name) = &target.options.database else {
        return Ok(());
    };
    let mut outside = target.clone();
    outside.options.database = None;
    let statement = format!("CREATE DATABASE IF NOT EXISTS {}", quote(name));
    ControlConnection::open(&outside)?.run(&statement, &mut endless)?;
    Ok(())
}

/// Sets the session variables, then creates the table.
fn create(
    connection: &mut ControlConnection,
    recipe: &Recipe,
    order: &TableLoad,
    watch: &LoadWatch<'_>,
) -> Result<(), FillError> {
    let patience = &mut |waited| watch.ask(waited);
    for setting in &recipe.settings {
        unless_refused(connection.run(setting, patience))
            .map_err(|failure| problem(failure, watch))?;
    }
    match connection.run(&recipe.create, patience) {
        Ok(_) => Ok(()),
        Err(refused) if refused.code == Some(TABLE_EXISTS) => Err(FillError::Exists(Failure {
            message: format!(
                "table {} exists already; nothing was changed",
                order.table.name
            ),
            hint: Some("use a different table, or drop this one yourself".to_owned()),
            ..refused
        })),
        Err(failure) => Err(problem(explain(failure), watch)),
    }
}

fn problem(failure: Failure, watch: &LoadWatch<'_>) -> FillError {
    if watch.is_stopped() {
        FillError::Stopped(failure)
    } else {
        FillError::Failed(failure)
    }
}

fn fill_created(
    connection: &mut ControlConnection,
    recipe: &Recipe,
    order: &TableLoad,
    watch: &LoadWatch<'_>,
) -> Result<Filled, Failure> {
    let patience = &mut |waited| watch.ask(waited);
    for requirement in &recipe.requirements {
        connection.run(requirement, patience)?;
    }
    watch.enter(FillPhase::Load);
    let pipe_folder = order.pipe_folder.as_deref();
    let (summary, transport, keys_by_sort) = {
        let (summary, transport) = load::load(
            connection,
            recipe,
            order.content.as_ref(),
            pipe_folder,
            watch,
        )?;
        (summary, transport, were_keys_sorted(connection, recipe)?)
    };
    let sent = watch.progress();
    if summary.affected_rows != sent.rows || sent.rows != order.content.count() {
        return Err(Failure::plain(format!(
            "{} rows were sent, but the server kept {}",
            sent.rows, summary.affected_rows
        )));
    }
    for statement in &recipe.finish {
        connection.run(statement, patience)?;
    }
    watch.enter(FillPhase::Done);
    let load_s = watch.load_time().as_secs_f64();
    let total_s = watch.progress().elapsed.as_secs_f64();
    Ok(Filled {
        table: order.table.name.clone(),
        rows: sent.rows,
        bytes: sent.bytes,
        checksum: watch.checksum(),
        load_s,
        keys_s: total_s - load_s,
        total_s,
        transport,
        keys_by_sort,
        server_version: connection.agreed().server_version.clone(),
    })
}

/// Asks the server how it made the keys of the statement before.
fn were_keys_sorted(
    connection: &mut ControlConnection,
    recipe: &Recipe,
) -> Result<Option<bool>, Failure> {
    if !recipe.keys_are_sorted_or_not {
        return Ok(None);
    }
    match connection.rows("SHOW PROFILE", &mut endless) {
        Ok(states) => Ok(sorted_by_states(
            states.iter().filter_map(|row| row.first()?.as_deref()),
        )),
        // A server that keeps no profiles.
        Err(refused) if refused.statement.is_some() => Ok(None),
        Err(lost) => Err(lost),
    }
}

/// Reads from a profile whether the keys were made by sorting or through the key cache: the
/// server has a thread state for each.
fn sorted_by_states<'s>(states: impl Iterator<Item = &'s str>) -> Option<bool> {
    let mut sorted = None;
    for state in states {
        match state.to_ascii_lowercase().as_str() {
            "repair by sorting" => sorted = sorted.or(Some(true)),
            "repair with keycache" => return Some(false),
            _ => {}
        }
    }
    sorted
}

/// The disk of the server's data directory. None unless the server is surely on this host: it is
/// if it is reached by a Unix socket.
fn disk_of(
    connection: &mut ControlConnection,
    target: &Target,
    watch: &LoadWatch<'_>,
) -> Option<Disk> {
    if !target.options.unix_socket {
        return None;
    }
    let patience = &mut |waited| watch.ask(waited);
    let rows = connection.rows("SELECT @@datadir", patience).ok()?;
    let folder = rows.first()?.first()?.as_deref()?;
    Disk::of(Path::new(folder))
}

fn enough_room(disk: Option<&Disk>, order: &TableLoad) -> Result<(), Failure> {
    let Some(disk) = disk else {
        return Ok(());
    };
    let needed = order.content.count().saturating_mul(order.table.row_bytes);
    match disk.free_bytes() {
        Some(free) if free < needed => {
            let message = format!(
                "the disk of {} has {} MB free, but the table needs about {} MB",
                disk.folder.display(),
                free / 1_000_000,
                needed / 1_000_000
            );
            Err(Failure {
                code: Some(DISK_FULL),
                ..Failure::with_hint(message, "free some space, or fill fewer rows")
            })
        }
        _ => Ok(()),
    }
}

/// Recognises a full disk by the server's error code or message, and reports it plainly.
fn explain(failure: Failure) -> Failure {
    let is_full = matches!(failure.code, Some(DISK_FULL | 1114))
        || ["No space left", "Errcode: 28", "error 28", "Disk full"]
            .iter()
            .any(|words| failure.message.contains(words));
    if !is_full {
        return failure;
    }
    let message = match failure.statement {
        Some(_) => format!("the server's disk is full: {}", failure.message),
        None => failure.message,
    };
    Failure {
        message,
        hint: Some("free some space in the server's data directory, or fill fewer rows".to_owned()),
        code: failure.code.or(Some(DISK_FULL)),
        ..failure
    }
}

/// Drops the table that was made. If the drop fails, the failure includes that.
fn undo(target: &Target, table: &Table, connection_id: u32, failure: Failure) -> Failure {
    if failure.code == Some(DISK_FULL) && failure.statement.is_none() {
        // No KILL while the server waits for disk space: MariaDB 10.11 was seen to crash of that.
        let message = format!(
            "{}; table {} is half filled: drop it when the server has released it",
            failure.message, table.name
        );
        return Failure { message, ..failure };
    }
    let dropped = ControlConnection::open(target).and_then(|mut connection| {
        // The load statement may still run: it must end before the table can be dropped.
        let _ = connection.run(&format!("KILL {connection_id}"), &mut endless);
        let _ = connection.run("SET SESSION lock_wait_timeout = 60", &mut endless);
        if !has_comment(&mut connection, table)? {
            return Ok(());
        }
        let statement = format!("DROP TABLE IF EXISTS {}", table.quoted());
        connection.run(&statement, &mut endless).map(drop)
    });
    match dropped {
        Ok(()) => failure,
        Err(error) => Failure {
            message: format!(
                "{}; table {} is half filled, dropping it failed: {}",
                failure.message, table.name, error.message
            ),
            ..failure
        },
    }
}

/// Whether the table is still the one that was made: it may have been replaced meanwhile.
fn has_comment(connection: &mut ControlConnection, table: &Table) -> Result<bool, Failure> {
    let query = format!(
        "SELECT TABLE_COMMENT FROM information_schema.TABLES \
         WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = {}",
        text(&table.name)
    );
    let rows = connection.rows(&query, &mut endless)?;
    Ok(rows
        .iter()
        .flatten()
        .flatten()
        .any(|said| *said == table.comment))
}

#[cfg(test)]
mod tests;

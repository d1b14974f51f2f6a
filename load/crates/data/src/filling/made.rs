//! Fills a table that a script has just made, as quickly as its engine and server allow.
//!
//! The way is chosen by the server's abilities. If it takes local files, rows are loaded; else they
//! are inserted by long statements. One session is quickest if the engine loads in bulk or has one
//! lock for the table. Otherwise the rows are shared out over the sessions at hand.

use super::generator::Parts;
use super::load::{no_thread, over_connection};
use super::watch::LoadWatch;
use crate::{Content, Items, Recipe, Rows, StorageEngine, Table};
use contend_client::Target;
use contend_client::blocking::{ControlConnection, endless};
use contend_figures::outcome::Failure;
use contend_wire::Flavour;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// Errors of servers that take no local files: it is switched off, or not for this client.
const NO_LOCAL_FILES: [u16; 3] = [1148, 3948, 4166];
/// MariaDB loads an empty table of InnoDB in bulk from here on.
const BULK_SINCE: (u32, u32) = (10, 6);

/// A statement that waited for a lock in vain, and was undone whole: a wait too long, a deadlock.
/// MariaDB from 10.6 on locks a whole empty InnoDB table for the first rows; sessions that all need
/// that lock can be in a deadlock.
const UNDONE: [u16; 2] = [1205, 1213];
/// A deadlock has a winner, so each try again meets fewer rivals.
const TRIES: usize = 100;

/// A table that is there and empty.
#[derive(Clone, Debug)]
pub struct Made {
    pub table: Table,
    pub rows: Rows,
    /// Sessions that may work at the same time.
    pub sessions: usize,
}

/// How the rows come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HowRowsCome {
    Load,
    Insert,
}

/// Fills a table that was just made and is empty. It stays, even after an error.
///
/// # Errors
/// The server refuses, or is gone.
pub fn fill_made(target: &Target, made: &Made) -> Result<(), Failure> {
    let recipe = Recipe::new(&made.table, made.rows.count());
    let mut first = open(target, &recipe)?;
    for statement in &recipe.before_rows {
        unless_refused(first.run(statement, &mut endless))?;
    }
    let way = way_of(&mut first)?;
    let loads_in_bulk = way == HowRowsCome::Load && is_one_session_best(&first, &made.table.engine);
    let sessions = if loads_in_bulk { 1 } else { made.sessions };
    let ranges = made.rows.ranges(sessions.max(1));
    let halt = AtomicBool::new(false);
    let problem = Mutex::new(None);
    let send_range = |connection: Result<&mut ControlConnection, Failure>, numbers| {
        let mut untold = |_| {};
        let watch = LoadWatch::new(&halt, &mut untold);
        let sent =
            connection.and_then(|connection| send(connection, &recipe, made, way, numbers, &watch));
        sent.unwrap_or_else(|failure| {
            // The others end; their later errors add nothing.
            halt.store(true, Ordering::Relaxed);
            let mut first = problem.lock().unwrap_or_else(PoisonError::into_inner);
            first.get_or_insert(failure);
            0
        })
    };
    let (send_range, recipe_of_all) = (&send_range, &recipe);
    let kept: u64 = std::thread::scope(|scope| {
        let mut ranges = ranges.into_iter();
        let own = ranges.next().unwrap_or(1..1);
        let others: Vec<_> = ranges
            .map(|numbers| {
                scope.spawn(move || {
                    let mut connection = open(target, recipe_of_all);
                    send_range(
                        connection.as_mut().map_err(|failure| failure.clone()),
                        numbers,
                    )
                })
            })
            .collect();
        let own_kept = send_range(Ok(&mut first), own);
        let others_kept = others.into_iter().filter_map(|other| other.join().ok());
        others_kept.fold(own_kept, u64::saturating_add)
    });
    if let Some(failure) = problem.into_inner().unwrap_or_else(PoisonError::into_inner) {
        return Err(failure);
    }
    if kept != made.rows.count() {
        return Err(Failure::plain(format!(
            "{} rows were sent, but the server kept {kept}",
            made.rows.count()
        )));
    }
    // A user that may insert rows need not be allowed to do these.
    for statement in &recipe.finish {
        unless_refused(first.run(statement, &mut endless))?;
    }
    Ok(())
}

/// A session with the recipe's settings.
fn open(target: &Target, recipe: &Recipe) -> Result<ControlConnection, Failure> {
    let mut connection = ControlConnection::open(target)?;
    for setting in recipe.settings.iter().chain(&recipe.requirements) {
        unless_refused(connection.run(setting, &mut endless))?;
    }
    Ok(connection)
}

/// Passes over statements that the server does not know or allow; a lost connection stays one.
pub(super) fn unless_refused<T>(answered: Result<T, Failure>) -> Result<(), Failure> {
    match answered {
        Err(refused) if refused.statement.is_some() => Ok(()),
        answered => answered.map(drop),
    }
}

fn way_of(connection: &mut ControlConnection) -> Result<HowRowsCome, Failure> {
    match connection.rows("SELECT @@GLOBAL.local_infile", &mut endless) {
        Ok(rows) => {
            let value = rows.first().and_then(|row| row.first()?.as_deref());
            Ok(match value {
                Some("1" | "ON") => HowRowsCome::Load,
                _ => HowRowsCome::Insert,
            })
        }
        Err(refused) if refused.statement.is_some() => Ok(HowRowsCome::Insert),
        Err(lost) => Err(lost),
    }
}

fn is_one_session_best(connection: &ControlConnection, engine: &StorageEngine) -> bool {
    match engine {
        StorageEngine::MyIsam | StorageEngine::Aria | StorageEngine::RocksDb => true,
        StorageEngine::InnoDb => {
            let agreed = connection.agreed();
            agreed.flavour == Flavour::MariaDb && version(&agreed.server_version) >= BULK_SINCE
        }
        StorageEngine::Other(_) => true,
    }
}

/// The first two numbers of a version.
fn version(text: &str) -> (u32, u32) {
    let mut numbers = text
        .split(|letter: char| !letter.is_ascii_digit())
        .map(|number| number.parse().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}

/// Sends the rows of a range; returns how many the server kept.
fn send(
    connection: &mut ControlConnection,
    recipe: &Recipe,
    made: &Made,
    way: HowRowsCome,
    numbers: Range<u64>,
    watch: &LoadWatch<'_>,
) -> Result<u64, Failure> {
    if numbers.is_empty() {
        return Ok(0);
    }
    if way == HowRowsCome::Load {
        let sent = again_if_undone(|| {
            over_connection(connection, recipe, &made.rows, numbers.clone(), watch)
        });
        match sent {
            // The server reports only now that it takes none.
            Err(refused)
                if refused
                    .code
                    .is_some_and(|code| NO_LOCAL_FILES.contains(&code)) => {}
            sent => return sent.map(|summary| summary.affected_rows),
        }
    }
    insert(connection, recipe, &made.rows, numbers, watch)
}

fn insert(
    connection: &mut ControlConnection,
    recipe: &Recipe,
    rows: &Rows,
    numbers: Range<u64>,
    watch: &LoadWatch<'_>,
) -> Result<u64, Failure> {
    let head = recipe.insert();
    let items = Items(rows);
    let mut kept: u64 = 0;
    std::thread::scope(|scope| {
        let mut parts = Parts::begin(&items, numbers, scope).map_err(|error| no_thread(&error))?;
        let mut statement = String::new();
        while let Some(part) = parts.next_part() {
            statement.clear();
            statement.push_str(&head);
            // Digits and commas; the first comma joins nothing.
            let items = std::str::from_utf8(part.text.get(1..).unwrap_or_default());
            statement.push_str(items.unwrap_or_default());
            let sent = again_if_undone(|| {
                watch.go_on()?;
                connection.begin(&statement, &mut endless)?;
                connection.end(&head, &mut endless)
            });
            parts.recycle(part.text);
            kept = kept.saturating_add(sent?.affected_rows);
        }
        Ok(kept)
    })
}

/// Sends a statement, its own transaction, until it is not undone for a lock.
fn again_if_undone<T>(mut send: impl FnMut() -> Result<T, Failure>) -> Result<T, Failure> {
    for _ in 1..TRIES {
        match send() {
            Err(undone) if undone.code.is_some_and(|code| UNDONE.contains(&code)) => {}
            sent => return sent,
        }
    }
    send()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_statement_undone_for_a_lock_is_sent_again_and_no_other() {
        let refused = |code| Failure {
            code: Some(code),
            ..Failure::plain("refused")
        };
        let mut answers = vec![Ok(7), Err(refused(1205)), Err(refused(1213))];
        assert_eq!(again_if_undone(|| answers.pop().unwrap()), Ok(7));
        let mut asked = 0;
        let never = again_if_undone(|| {
            asked += 1;
            Err::<(), _>(refused(1213))
        });
        assert_eq!((asked, never.unwrap_err().code), (TRIES, Some(1213)));
        let mut full = vec![Ok(7), Err(refused(1114))];
        assert_eq!(
            again_if_undone(|| full.pop().unwrap()).unwrap_err().code,
            Some(1114)
        );
    }

    #[test]
    fn a_version_is_its_first_two_numbers() {
        assert_eq!(version("10.11.6-MariaDB"), (10, 11));
        assert_eq!(version("10.5"), (10, 5));
        assert_eq!(version("9.7.0"), (9, 7));
        assert_eq!(version("strange"), (0, 0));
    }
}

//! Several tables at once.
//!
//! Inside one table a second session gains nothing: it keeps InnoDB from its bulk path, and MyISAM
//! has one lock. Two sessions into one InnoDB table were measured 10 % slower than one. So the
//! tables are shared out over sessions, each table whole.

use super::{FillError, Filled, LoadProgress, TableLoad, Target, fill};
use contend_figures::outcome::Failure;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Fills all tables, at most `sessions` at a time. The results are in the order of `orders`.
///
/// `tell` hears of each table's progress with its place in `orders`, `done` of each table that is
/// complete.
///
/// # Errors
/// The first problem that happened. The others are stopped, and what each unfinished one made is
/// dropped; tables that were complete stay.
pub fn fill_tables(
    target: &Target,
    orders: &[TableLoad],
    sessions: usize,
    tell: &(dyn Fn(usize, LoadProgress) + Sync),
    done: &(dyn Fn(&Filled) -> Result<(), Failure> + Sync),
    stop: &AtomicBool,
) -> Result<Vec<Filled>, FillError> {
    let halt = AtomicBool::new(false);
    let next = AtomicUsize::new(0);
    let problem = Mutex::new(None);
    let filled: Mutex<Vec<Option<Filled>>> = Mutex::new(vec![None; orders.len()]);
    let work = || {
        while !halt.load(Ordering::Relaxed) {
            let place = next.fetch_add(1, Ordering::Relaxed);
            let Some(order) = orders.get(place) else {
                return;
            };
            let mut tell = |progress| {
                // The signal is one for all: a problem of one table ends the others.
                if stop.load(Ordering::Relaxed) {
                    halt.store(true, Ordering::Relaxed);
                }
                tell(place, progress);
            };
            let table = fill(target, order, &mut tell, &halt).and_then(|table| {
                done(&table).map_err(FillError::Failed)?;
                Ok(table)
            });
            match table {
                Ok(table) => {
                    let mut filled = filled.lock().unwrap_or_else(PoisonError::into_inner);
                    if let Some(slot) = filled.get_mut(place) {
                        *slot = Some(table);
                    }
                }
                Err(error) => {
                    halt.store(true, Ordering::Relaxed);
                    let mut first = problem.lock().unwrap_or_else(PoisonError::into_inner);
                    first.get_or_insert(error);
                }
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..sessions.min(orders.len()) {
            scope.spawn(work);
        }
        work();
    });
    if let Some(problem) = problem.into_inner().unwrap_or_else(PoisonError::into_inner) {
        return Err(problem);
    }
    let filled = filled.into_inner().unwrap_or_else(PoisonError::into_inner);
    let filled: Vec<Filled> = filled.into_iter().flatten().collect();
    if filled.len() < orders.len() {
        let stopped = Failure::plain("the fill was stopped by a signal");
        return Err(FillError::Stopped(stopped));
    }
    Ok(filled)
}

//! All tables of a schema: filled, several at a time, then what comes when all rows are there.

use super::claim::{Claim, count};
use super::journal::Journal;
use super::tables::fill_tables;
use super::{FillError, FillPhase, Filled, LoadProgress, TableLoad, Target};
use crate::schema::Dataset;
use crate::table::Table;
use contend_figures::outcome::Failure;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

const GO_ON: &str = "complete tables are kept; repeat the command to continue with the others";

/// Fills all tables of a dataset, at most `sessions` at a time, the largest first. The results are
/// in the order of the dataset.
///
/// `tell` hears of each table's progress with its place in the dataset. `key` is for the marks of
/// finished tables.
///
/// # Errors
/// The first problem that happened. Complete tables that belong together stay, and the same call
/// goes on from there; the others are gone.
pub fn fill_dataset(
    target: &Target,
    dataset: &Dataset,
    key: Option<&str>,
    pipe_folder: Option<PathBuf>,
    sessions: usize,
    tell: &(dyn Fn(usize, LoadProgress) + Sync),
    stop: &AtomicBool,
) -> Result<Vec<Filled>, FillError> {
    let claim = Claim::take(target, key, stop)?;
    let (keeper, mut filled) = Keeper::open(claim, target, dataset, stop)?;
    let is_there = |name: &str| filled.iter().any(|table| table.table == name);
    let mut places: Vec<usize> = Vec::new();
    let mut orders = Vec::new();
    let all = dataset.tables.iter().enumerate();
    let (there, mut missing): (Vec<_>, Vec<_>) =
        all.partition(|(_, filling)| is_there(&filling.table.name));
    // They are done, and this call has made no row of them.
    let nothing_left = LoadProgress {
        phase: FillPhase::Done,
        rows: 0,
        bytes: 0,
        elapsed: Duration::ZERO,
    };
    there
        .iter()
        .for_each(|(place, _)| tell(*place, nothing_left));
    if keeper.goes_on() {
        missing.sort_by_key(|(_, one)| {
            std::cmp::Reverse(one.content.count().saturating_mul(one.table.row_bytes))
        });
    }
    for (place, filling) in missing {
        places.push(place);
        orders.push(TableLoad {
            table: Table {
                comment: keeper.loading(&filling.table.name, filling.content.count()),
                ..filling.table.clone()
            },
            content: filling.content.clone(),
            pipe_folder: pipe_folder.clone(),
        });
    }
    let tell_of = |order: usize, progress| {
        if let Some(place) = places.get(order) {
            tell(*place, progress);
        }
    };
    let goes_on = keeper.goes_on();
    let keeper = Mutex::new(keeper);
    let hold = || keeper.lock().unwrap_or_else(PoisonError::into_inner);
    let note = |table: &Filled| {
        // Counting may take long, and others go on meanwhile.
        count(target, table, stop)?;
        hold().note(table, dataset)
    };
    let made = fill_tables(target, &orders, sessions, &tell_of, &note, stop);
    let made = made.and_then(|made| {
        hold().finish(dataset).map_err(FillError::Failed)?;
        Ok(made)
    });
    filled.extend(made.map_err(|problem| match goes_on {
        true => with_hint(problem),
        false => problem,
    })?);
    let order = |table: &Filled| {
        let mut names = dataset.tables.iter().map(|filling| &filling.table.name);
        names.position(|name| *name == table.table)
    };
    filled.sort_by_key(order);
    Ok(filled)
}

/// The record of the load and its progress.
enum Keeper<'s> {
    /// For tables that have nothing to do with one another.
    Marks(Box<Claim<'s>>),
    /// For tables that belong together.
    Journal(Box<Journal<'s>>),
}

impl<'s> Keeper<'s> {
    /// Also returns the tables that are complete.
    fn open(
        mut claim: Claim<'s>,
        target: &Target,
        dataset: &Dataset,
        stop: &'s AtomicBool,
    ) -> Result<(Self, Vec<Filled>), FillError> {
        if !dataset.facts.is_empty() {
            let (journal, complete) = Journal::open(claim, target, dataset, stop)?;
            return Ok((Self::Journal(Box::new(journal)), complete));
        }
        let names = dataset.tables.iter().map(|one| one.table.name.as_str());
        for half in claim.half_filled(names, std::iter::empty())? {
            claim.drop_table(half).map_err(FillError::Failed)?;
        }
        Ok((Self::Marks(Box::new(claim)), Vec::new()))
    }

    fn goes_on(&self) -> bool {
        matches!(self, Self::Journal(_))
    }

    fn loading(&self, table: &str, rows: u64) -> String {
        match self {
            Self::Marks(claim) => claim.loading(table, Some(rows)),
            Self::Journal(journal) => journal.loading(table, rows),
        }
    }

    /// A table has all its rows.
    fn note(&mut self, filled: &Filled, dataset: &Dataset) -> Result<(), Failure> {
        match self {
            Self::Marks(claim) => {
                let mut tables = dataset.tables.iter().map(|one| &one.table);
                match tables.find(|table| table.name == filled.table) {
                    Some(table) => claim.finish(table),
                    None => Ok(()),
                }
            }
            Self::Journal(journal) => journal.note(filled),
        }
    }

    /// All tables have.
    fn finish(&mut self, dataset: &Dataset) -> Result<(), Failure> {
        match self {
            Self::Marks(_) => Ok(()),
            Self::Journal(journal) => journal.finish(dataset),
        }
    }
}

fn with_hint(problem: FillError) -> FillError {
    let hinted = |failure: Failure| Failure {
        hint: Some(match failure.hint {
            Some(hint) => format!("{hint}; {GO_ON}"),
            None => GO_ON.to_owned(),
        }),
        ..failure
    };
    match problem {
        FillError::Exists(failure) => FillError::Exists(failure),
        FillError::Failed(failure) => FillError::Failed(hinted(failure)),
        FillError::Stopped(failure) => FillError::Stopped(hinted(failure)),
    }
}

//! All tables of a schema: filled, several at a time, then what comes when all rows are there.

use super::journal::Journal;
use super::tables::fill_tables;
use super::{FillPhase, Filled, LoadProgress, TableLoad, Target, Trouble};
use crate::fill::schema::Dataset;
use crate::outcome::Failure;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

const GO_ON: &str = "the tables that are complete stay; the same command goes on with the others";

/// Fills all tables of a dataset, at most `sessions` at a time, the largest first. The results are
/// in the order of the dataset.
///
/// `tell` hears of each table's progress with its place in the dataset.
///
/// # Errors
/// The first trouble that happened. Of tables that belong together those that are complete stay,
/// and the same call goes on from there; the others are gone.
pub fn fill_dataset(
    target: &Target,
    dataset: &Dataset,
    pipe_folder: Option<PathBuf>,
    sessions: usize,
    tell: &(dyn Fn(usize, LoadProgress) + Sync),
    stop: &AtomicBool,
) -> Result<Vec<Filled>, Trouble> {
    let (journal, mut filled) = if dataset.facts.is_empty() {
        (None, Vec::new())
    } else {
        let (journal, complete) = Journal::open(target, dataset, stop)?;
        (Some(Mutex::new(journal)), complete)
    };
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
    if journal.is_some() {
        missing.sort_by_key(|(_, one)| {
            std::cmp::Reverse(one.content.count().saturating_mul(one.table.row_bytes))
        });
    }
    for (place, filling) in missing {
        places.push(place);
        orders.push(TableLoad {
            table: filling.table.clone(),
            content: filling.content.clone(),
            pipe_folder: pipe_folder.clone(),
        });
    }
    let tell_of = |order: usize, progress| {
        if let Some(place) = places.get(order) {
            tell(*place, progress);
        }
    };
    let note = |table: &Filled| match &journal {
        Some(journal) => journal
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .note(table),
        None => Ok(()),
    };
    let made = fill_tables(target, &orders, sessions, &tell_of, &note, stop);
    let made = made.and_then(|made| {
        if let Some(journal) = &journal {
            let mut journal = journal.lock().unwrap_or_else(PoisonError::into_inner);
            journal.finish(dataset).map_err(Trouble::Failed)?;
        }
        Ok(made)
    });
    filled.extend(made.map_err(|trouble| match journal {
        Some(_) => with_hint(trouble),
        None => trouble,
    })?);
    let order = |table: &Filled| {
        let mut names = dataset.tables.iter().map(|filling| &filling.table.name);
        names.position(|name| *name == table.table)
    };
    filled.sort_by_key(order);
    Ok(filled)
}

fn with_hint(trouble: Trouble) -> Trouble {
    let hinted = |failure: Failure| Failure {
        hint: Some(match failure.hint {
            Some(hint) => format!("{hint}; {GO_ON}"),
            None => GO_ON.to_owned(),
        }),
        ..failure
    };
    match trouble {
        Trouble::Exists(failure) => Trouble::Exists(failure),
        Trouble::Failed(failure) => Trouble::Failed(hinted(failure)),
        Trouble::Stopped(failure) => Trouble::Stopped(hinted(failure)),
    }
}

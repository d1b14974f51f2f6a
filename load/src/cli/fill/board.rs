//! The progress of a fill: each table, and all of them together.

use contend_console::output;
use contend_data::filling::{FillPhase, LoadProgress};
use contend_data::schema::Dataset;
use contend_figures::outcome::{FillOutcome, FillProgress, TableProgress};
use std::io::{self, Write};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// The reader of the progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Show {
    /// Lines of JSON on standard output.
    Json,
    /// One line, written over and over.
    Terminal,
    Nothing,
}

/// One table: its name, its rows, and the last progress reported for it.
struct BoardRow {
    table: String,
    rows_total: u64,
    told: Option<LoadProgress>,
}

pub struct Board {
    rows: Mutex<Vec<BoardRow>>,
    begun: Instant,
    show: Show,
}

pub fn write(outcome: &FillOutcome) -> io::Result<()> {
    output::line(&serde_json::to_string(outcome)?)
}

impl Board {
    pub fn new(dataset: &Dataset, show: Show) -> Self {
        let rows = dataset.tables.iter().map(|filling| BoardRow {
            table: filling.table.name.clone(),
            rows_total: filling.content.count(),
            told: None,
        });
        Self {
            rows: Mutex::new(rows.collect()),
            begun: Instant::now(),
            show,
        }
    }

    pub fn elapsed_s(&self) -> f64 {
        self.begun.elapsed().as_secs_f64()
    }

    pub fn tell(&self, place: usize, progress: LoadProgress) {
        let mut rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(row) = rows.get_mut(place) {
            row.told = Some(progress);
            // No rows follow for a table that was already complete, so none are waited for.
            if progress.phase == FillPhase::Done {
                row.rows_total = progress.rows;
            }
        }
        let all = self.sum(&rows);
        // Reported with the lock held, so that lines come in order.
        match self.show {
            // If this fails because the reader is gone, the last line reports it.
            Show::Json => drop(write(&FillOutcome::FillProgress(all))),
            Show::Terminal => {
                eprint!("\r\x1b[K{}", in_words(&all));
                let _ = io::stderr().flush();
            }
            Show::Nothing => {}
        }
    }

    pub fn clear(&self) {
        if self.show == Show::Terminal {
            eprint!("\r\x1b[K");
        }
    }

    fn sum(&self, rows: &[BoardRow]) -> FillProgress {
        let told = || rows.iter().filter_map(|row| Some((row, row.told?)));
        let count = |phase| told().filter(|(_, told)| told.phase == phase).count();
        let phase = if count(FillPhase::Done) == rows.len() {
            FillPhase::Done
        } else if count(FillPhase::Done) + count(FillPhase::Keys) == rows.len() {
            FillPhase::Keys
        } else {
            FillPhase::Load
        };
        FillProgress {
            phase: phase.name().to_owned(),
            rows: told().map(|(_, told)| told.rows).sum(),
            rows_total: rows.iter().map(|row| row.rows_total).sum(),
            bytes: told().map(|(_, told)| told.bytes).sum(),
            elapsed_s: self.elapsed_s(),
            tables: told()
                .map(|(row, told)| TableProgress {
                    table: row.table.clone(),
                    phase: told.phase.name().to_owned(),
                    rows: told.rows,
                    rows_total: row.rows_total,
                })
                .collect(),
        }
    }
}

fn in_words(progress: &FillProgress) -> String {
    let FillProgress {
        phase,
        rows,
        rows_total,
        elapsed_s,
        tables,
        ..
    } = progress;
    if phase != FillPhase::Load.name() {
        return format!("{rows} rows loaded, making keys, {elapsed_s:.0} s so far");
    }
    let rate = output::ratio(*rows as f64, *elapsed_s);
    let share = |rows: u64, of: u64| 100.0 * rows as f64 / of.max(1) as f64;
    let left_s = (rows_total - rows.min(rows_total)) as f64 / rate.max(1.0);
    let at_work = tables
        .iter()
        .filter(|one| one.phase != FillPhase::Done.name());
    let at_work: Vec<String> = at_work
        .map(|one| match one.phase.as_str() {
            "keys" => format!("{} keys", one.table),
            _ => format!("{} {:.0} %", one.table, share(one.rows, one.rows_total)),
        })
        .collect();
    format!(
        "{rows} of {rows_total} rows ({:.0} %), {rate:.0} rows/s, {left_s:.0} s left; {}",
        share(*rows, *rows_total),
        at_work.join(", ")
    )
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use contend_data;
    use contend_data::StorageEngine;
    use contend_data::schema::Wish;
    use std::time::Duration;

    #[test]
    fn progress_of_all_tables_adds_up_and_names_the_slowest_phase() {
        let wish = Wish {
            rows: Some(10),
            tables: Some(2),
            ..Wish::of(1, StorageEngine::InnoDb)
        };
        let dataset = (contend_data::named("sbtest").unwrap().dataset)(&wish).unwrap();
        let board = Board::new(&dataset, Show::Nothing);
        let at = |phase, rows| LoadProgress {
            phase,
            rows,
            bytes: rows * 190,
            elapsed: Duration::ZERO,
        };
        let now = || board.sum(&board.rows.lock().unwrap());
        board.tell(0, at(FillPhase::Keys, 10));
        let sum = now();
        assert_eq!(
            (
                sum.phase.as_str(),
                sum.rows,
                sum.rows_total,
                sum.tables.len()
            ),
            ("load", 10, 20, 1)
        );
        assert!(in_words(&sum).starts_with("10 of 20 rows (50 %)"));
        assert!(in_words(&sum).ends_with("s left; sbtest1 keys"));
        board.tell(1, at(FillPhase::Load, 5));
        assert!(in_words(&now()).ends_with("sbtest1 keys, sbtest2 50 %"));
        board.tell(1, at(FillPhase::Done, 10));
        assert_eq!(now().phase, "keys");
        board.tell(0, at(FillPhase::Done, 10));
        assert_eq!((now().phase.as_str(), now().rows_total), ("done", 20));
    }

    #[test]
    fn tables_that_were_complete_before_are_not_waited_for() {
        let wish = Wish {
            rows: Some(100),
            ..Wish::of(1, StorageEngine::InnoDb)
        };
        let dataset = (contend_data::named("employees").unwrap().dataset)(&wish).unwrap();
        let board = Board::new(&dataset, Show::Nothing);
        let at = |phase, rows| LoadProgress {
            phase,
            rows,
            bytes: 0,
            elapsed: Duration::ZERO,
        };
        for place in 1..dataset.tables.len() {
            board.tell(place, at(FillPhase::Done, 0));
        }
        board.tell(0, at(FillPhase::Keys, 100));
        let sum = board.sum(&board.rows.lock().unwrap());
        assert_eq!(
            (sum.phase.as_str(), sum.rows, sum.rows_total),
            ("keys", 100, 100)
        );
    }
}

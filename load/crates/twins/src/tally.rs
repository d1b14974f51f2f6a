//! Counts and times of a run, by template and arm.

use super::arm::{AskAnswer, AskedOnce};
use super::sample::{SampledStatement, SampledTemplate};
use contend_figures::outcome::{AskedFigures, AskedPair, AskedTemplate};
use contend_figures::{Latency, Sum};
use contend_recording::Determined;
use std::collections::BTreeMap;

/// After this number of statements that are too slow, no more of their template are sent.
const TOO_SLOW_MAX: u64 = 3;
const NS_PER_US: f64 = 1000.0;
const NO_SUCH_TABLE: u16 = 1146;

/// One arm.
#[derive(Clone, Debug, Default)]
pub struct ArmTally {
    times_ns: Vec<u64>,
    rows: u64,
    errors: BTreeMap<u16, u64>,
    no_database: u64,
    too_slow: u64,
    rows_logged: u64,
    rows_as_logged: u64,
    not_rolled_back: u64,
}

impl ArmTally {
    fn add(&mut self, statement: &SampledStatement, asked: &AskedOnce) {
        self.not_rolled_back += u64::from(asked.stays);
        match &asked.answer {
            AskAnswer::Rows { took_ns, rows, .. } => {
                self.times_ns.push(*took_ns);
                self.rows += rows;
                if let (true, Some(logged)) = (statement.is_read, statement.rows_sent) {
                    self.rows_logged += 1;
                    self.rows_as_logged += u64::from(logged == *rows);
                }
            }
            AskAnswer::Refused { code, .. } => *self.errors.entry(*code).or_default() += 1,
            AskAnswer::TooSlow => self.too_slow += 1,
            AskAnswer::NoDatabase => self.no_database += 1,
        }
    }

    /// Adds the records of a different template.
    pub fn merge(&mut self, other: &Self) {
        self.times_ns.extend_from_slice(&other.times_ns);
        self.rows += other.rows;
        for (code, count) in &other.errors {
            *self.errors.entry(*code).or_default() += count;
        }
        self.no_database += other.no_database;
        self.too_slow += other.too_slow;
        self.rows_logged += other.rows_logged;
        self.rows_as_logged += other.rows_as_logged;
        self.not_rolled_back += other.not_rolled_back;
    }

    /// `latency` lends its memory.
    pub fn figures(&self, latency: &mut Latency) -> AskedFigures {
        latency.clear();
        self.times_ns.iter().for_each(|ns| latency.record_ns(*ns));
        let us = |ns: &u64| *ns as f64 / NS_PER_US;
        let percentiles = latency.percentiles_us();
        let ln_us: f64 = self.times_ns.iter().map(|ns| us(ns).ln()).sum();
        AskedFigures {
            count: self.times_ns.len() as u64,
            sum_us: self.times_ns.iter().map(us).sum(),
            mean_ln_us: ln_us / self.times_ns.len().max(1) as f64,
            p50_us: percentiles.p50,
            p95_us: percentiles.p95,
            p99_us: percentiles.p99,
            max_us: percentiles.max,
            rows: self.rows,
            errors: self
                .errors
                .iter()
                .map(|(code, count)| (code.to_string(), *count))
                .collect(),
            no_database: self.no_database,
            too_slow: self.too_slow,
            rows_logged: self.rows_logged,
            rows_as_logged: self.rows_as_logged,
            not_rolled_back: self.not_rolled_back,
        }
    }
}

/// Mean of numbers, and their variance, divided by one less than their count; 0 if not known.
fn moments(numbers: &[f64]) -> (f64, f64) {
    let count = numbers.len().max(1) as f64;
    let mean = numbers.iter().sum::<f64>() / count;
    let squares: f64 = numbers.iter().map(|one| (one - mean).powi(2)).sum();
    (mean, squares / (count - 1.0).max(1.0))
}

/// An arm against the first.
#[derive(Clone, Debug, Default)]
struct PairTally {
    /// The shortest times of each statement over the rounds: of the first arm and of this one. A
    /// scheduler that takes the CPU away for 3 ms makes a statement of 0.1 ms thirty times as slow,
    /// by chance on either arm.
    shortest_ns: BTreeMap<u64, (u64, u64)>,
    rows_differ: u64,
    results_differ: u64,
    ties_differ: u64,
}

impl PairTally {
    fn add(&mut self, statement: &SampledStatement, first: &AskedOnce, second: &AskedOnce) {
        let rows = |asked: &AskedOnce| match asked.answer {
            AskAnswer::Rows {
                took_ns,
                rows,
                checksum,
            } => Some((took_ns.max(1), rows, checksum)),
            _ => None,
        };
        let (Some(first), Some(second)) = (rows(first), rows(second)) else {
            return;
        };
        let shortest = self.shortest_ns.entry(statement.number);
        let shortest = shortest.or_insert((first.0, second.0));
        *shortest = (shortest.0.min(first.0), shortest.1.min(second.0));
        let known = compared(statement);
        if known == Determined::Not {
        } else if first.1 != second.1 {
            self.rows_differ += 1;
        } else if first.2 != second.2 {
            match known {
                Determined::Wholly => self.results_differ += 1,
                Determined::UpToTies => self.ties_differ += 1,
                Determined::Rows | Determined::Not => {}
            }
        }
    }

    fn figures(&self, arm: &str) -> AskedPair {
        let pairs = self.shortest_ns.values();
        let ln_ratios: Vec<_> = pairs
            .map(|(first, second)| (*second as f64 / *first as f64).ln())
            .collect();
        let (mean_ln_ratio, var_ln_ratio) = moments(&ln_ratios);
        AskedPair {
            arm: arm.to_owned(),
            pairs: ln_ratios.len() as u64,
            mean_ln_ratio,
            var_ln_ratio,
            rows_differ: self.rows_differ,
            results_differ: self.results_differ,
            ties_differ: self.ties_differ,
        }
    }
}

/// How far the answers to a statement are compared: those to writes by the rows they changed.
fn compared(statement: &SampledStatement) -> Determined {
    match statement.is_read {
        true => statement.determined,
        false => Determined::Rows,
    }
}

/// One template.
#[derive(Clone, Debug)]
pub struct TemplateTally {
    pub asked: u64,
    /// Statements that were too slow on any arm.
    slow: u64,
    stopped: Option<&'static str>,
    one_sided: u64,
    rows_only: u64,
    not_compared: u64,
    /// Statements for which any arm lacked a table.
    missing: u64,
    pub arms: Vec<ArmTally>,
    pairs: Vec<PairTally>,
}

impl TemplateTally {
    pub fn new(arms: usize) -> Self {
        Self {
            asked: 0,
            slow: 0,
            stopped: None,
            one_sided: 0,
            rows_only: 0,
            not_compared: 0,
            missing: 0,
            arms: vec![ArmTally::default(); arms],
            pairs: vec![PairTally::default(); arms.saturating_sub(1)],
        }
    }

    /// No further statement of the template may be sent.
    pub fn is_stopped(&self) -> bool {
        self.stopped.is_some()
    }

    /// Takes the answers of all arms to a statement that was sent before the first round.
    pub fn warm(&mut self, answers: &[AskedOnce]) {
        for (arm, asked) in self.arms.iter_mut().zip(answers) {
            arm.too_slow += u64::from(asked.answer == AskAnswer::TooSlow);
            arm.not_rolled_back += u64::from(asked.stays);
        }
        self.heed(answers);
    }

    /// Takes the answers of all arms to a statement.
    pub fn add(&mut self, statement: &SampledStatement, answers: &[AskedOnce]) {
        self.asked += 1;
        for (arm, asked) in self.arms.iter_mut().zip(answers) {
            arm.add(statement, asked);
        }
        let is_row = |asked: &AskedOnce| matches!(asked.answer, AskAnswer::Rows { .. });
        let is_missing = |asked: &AskedOnce| matches!(&asked.answer, AskAnswer::Refused { code, .. } if *code == NO_SUCH_TABLE);
        let answered = answers.iter().filter(|asked| is_row(asked)).count();
        self.one_sided += u64::from(answered > 0 && answered < answers.len());
        self.missing += u64::from(answers.iter().any(is_missing));
        match compared(statement) {
            Determined::Rows => self.rows_only += 1,
            Determined::Not => self.not_compared += 1,
            Determined::UpToTies | Determined::Wholly => {}
        }
        if let Some((first, others)) = answers.split_first() {
            for (pair, other) in self.pairs.iter_mut().zip(others) {
                pair.add(statement, first, other);
            }
        }
        self.heed(answers);
    }

    /// Stops the template if its statements take too long, or change what stays.
    fn heed(&mut self, answers: &[AskedOnce]) {
        let is_slow = |asked: &AskedOnce| asked.answer == AskAnswer::TooSlow;
        self.slow += u64::from(answers.iter().any(is_slow));
        if answers.iter().any(|asked| asked.stays) {
            self.stopped = Some("not_rolled_back");
        } else if self.slow >= TOO_SLOW_MAX && self.stopped.is_none() {
            self.stopped = Some("too_slow");
        }
    }

    /// Share of the statements that failed for lack of a table.
    pub fn missing_share(&self) -> f64 {
        self.missing as f64 / self.asked.max(1) as f64
    }

    /// `names` are those of all arms.
    pub fn figures(
        &self,
        template: &SampledTemplate,
        rounds: u32,
        names: &[&str],
        latency: &mut Latency,
    ) -> AskedTemplate {
        let pairs = names.iter().skip(1).zip(&self.pairs);
        AskedTemplate {
            template: template.number.into(),
            hash: template.hash.clone(),
            read: template.is_read,
            calls: template.calls,
            share: template.share,
            asked: self.asked,
            planned: template.statements * u64::from(rounds),
            left_out: template
                .left_out
                .iter()
                .map(|(reason, count)| ((*reason).to_owned(), *count))
                .collect(),
            stopped: self.stopped.map(str::to_owned),
            one_sided: self.one_sided,
            rows_only: self.rows_only,
            not_compared: self.not_compared,
            arms: self.arms.iter().map(|arm| arm.figures(latency)).collect(),
            pairs: pairs.map(|(name, pair)| pair.figures(name)).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mean_and_variance_are_those_of_the_numbers() {
        assert_eq!(moments(&[]), (0.0, 0.0));
        assert_eq!(moments(&[0.5]), (0.5, 0.0));
        let (mean, variance) = moments(&[1.0, 2.0, 4.0]);
        assert!((mean - 7.0 / 3.0).abs() < 1e-12);
        assert!((variance - 7.0 / 3.0).abs() < 1e-12);
    }

    #[test]
    fn a_statement_counts_once_with_the_shortest_time_of_each_arm() {
        let statement = SampledStatement {
            number: 7,
            template: 0,
            text: Box::default(),
            database: 0,
            ansi_quotes: false,
            no_backslash_escapes: false,
            is_read: true,
            determined: Determined::Wholly,
            timestamp_us: None,
            last_insert_id: None,
            rows_sent: None,
        };
        let answer = |took_ns| AskedOnce {
            answer: AskAnswer::Rows {
                took_ns,
                rows: 1,
                checksum: 1,
            },
            stays: false,
        };
        let mut pair = PairTally::default();
        for (first, second) in [(100, 3000), (3000, 110), (120, 140)] {
            pair.add(&statement, &answer(first), &answer(second));
        }
        let figures = pair.figures("b");
        assert_eq!(figures.pairs, 1);
        assert!((figures.mean_ln_ratio - 1.1_f64.ln()).abs() < 1e-12);
    }
}

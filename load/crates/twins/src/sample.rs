//! The statements that are sent, drawn from a recording.

use contend_figures::outcome::LeftOut;
use contend_plan::AskPlan;
use contend_random::Stream;
use contend_recording::{
    Determined, LogError, RecordingFile, StoredStatement, TemplateRow, determined, only_reads,
    spread,
};
use std::collections::BTreeMap;

/// Memory for the texts of a sample.
const TEXT_BYTES: usize = 512 << 20;
/// The servers' `timestamp` ends here, in microseconds.
const TIMESTAMP_US_MAX: u64 = ((1 << 31) - 1) * 1_000_000;

/// A statement of the sample.
#[derive(Clone, Debug)]
pub struct SampledStatement {
    /// In the recording.
    pub number: u64,
    /// Place of its template in the sample.
    pub template: usize,
    pub text: Box<[u8]>,
    pub database: u32,
    pub ansi_quotes: bool,
    pub no_backslash_escapes: bool,
    pub is_read: bool,
    pub determined: Determined,
    pub timestamp_us: Option<u64>,
    pub last_insert_id: Option<u64>,
    pub rows_sent: Option<u64>,
}

#[derive(Clone, Debug, Default)]
pub struct SampledTemplate {
    pub number: u32,
    pub hash: String,
    pub is_read: bool,
    pub calls: u64,
    pub share: f64,
    pub statements: u64,
    /// Statements that were drawn and are not sent.
    pub left_out: BTreeMap<&'static str, u64>,
}

/// The statements to send, by template, and counts of the others.
#[derive(Clone, Debug, Default)]
pub struct AskSample {
    /// The recording's name.
    pub recording: String,
    pub statements: Vec<SampledStatement>,
    pub templates: Vec<SampledTemplate>,
    /// Names of the recording's databases. The first one stands for an unknown one.
    pub databases: Vec<Vec<u8>>,
    /// Shares are of the logged time, and not of the calls.
    pub is_by_time: bool,
    pub left_out: BTreeMap<&'static str, LeftOut>,
}

impl AskSample {
    /// # Errors
    /// The recording is damaged, or it has no statement that may be sent.
    pub fn draw(recording: &mut RecordingFile, plan: &AskPlan) -> Result<Self, LogError> {
        let rows = recording.contents.templates.clone();
        let is_by_time = rows.iter().any(|row| row.timed > 0);
        let weight = |row: &TemplateRow| if is_by_time { row.total_us } else { row.calls };
        let total: u64 = rows.iter().map(weight).sum();
        let share = |row: &TemplateRow| weight(row) as f64 / total.max(1) as f64;
        let mut order: Vec<_> = (0_u32..).zip(&rows).collect();
        order.sort_by_key(|(number, row)| (std::cmp::Reverse((weight(row), row.calls)), *number));
        let mut sample = Self {
            recording: recording.name.clone(),
            databases: recording
                .contents
                .databases
                .iter()
                .map(|name| bytes_of(name))
                .collect(),
            is_by_time,
            ..Self::default()
        };
        let mut random = Stream::new(plan.seed, 1);
        let mut bytes = 0;
        let mut rest = order.into_iter().peekable();
        while rest.peek().is_some() {
            let room = (plan.templates as usize).saturating_sub(sample.templates.len());
            if room == 0 {
                rest.by_ref()
                    .for_each(|(_, row)| sample.leave_out("templates", row, share(row)));
                break;
            }
            let mut wanted = BTreeMap::new();
            let mut drawn = Vec::new();
            while drawn.len() < room
                && let Some((number, row)) = rest.next()
            {
                if !row.is_read && !plan.writes {
                    sample.leave_out("write", row, share(row));
                    continue;
                }
                wanted.insert(number, spread(row.calls, plan.each.into(), &mut random));
                drawn.push((number, row));
            }
            let mut found: BTreeMap<u32, DrawnStatements> = BTreeMap::new();
            recording.of_templates(&wanted, &mut |number, statement| {
                let found = found.entry(statement.template).or_default();
                match why_not(&statement, plan.writes, bytes) {
                    Some(reason) => *found.left_out.entry(reason).or_default() += 1,
                    None => {
                        bytes += statement.text.len();
                        found.statements.push(sampled(number, &statement));
                    }
                }
            })?;
            for (number, row) in drawn {
                let found = found.remove(&number).unwrap_or_default();
                match found.left_out.keys().next() {
                    Some(reason) if found.statements.is_empty() => {
                        sample.leave_out(reason, row, share(row));
                    }
                    _ => sample.keep(number, row, share(row), found),
                }
            }
        }
        if sample.statements.is_empty() {
            return Err(LogError::with_hint(
                "the recording has no statement that may be sent",
                "see what it has with contend-load recording show; set \"writes\" to send writes too",
            ));
        }
        Ok(sample)
    }

    fn leave_out(&mut self, reason: &'static str, row: &TemplateRow, share: f64) {
        let left_out = self.left_out.entry(reason).or_default();
        left_out.templates += 1;
        left_out.calls += row.calls;
        left_out.share += share;
    }

    fn keep(&mut self, number: u32, row: &TemplateRow, share: f64, found: DrawnStatements) {
        let template = self.templates.len();
        self.templates.push(SampledTemplate {
            number,
            hash: row.hash.clone(),
            is_read: row.is_read,
            calls: row.calls,
            share,
            statements: found.statements.len() as u64,
            left_out: found.left_out,
        });
        let statements = found.statements.into_iter();
        self.statements
            .extend(statements.map(|one| SampledStatement { template, ..one }));
    }
}

/// The drawn statements of a template.
#[derive(Default)]
struct DrawnStatements {
    statements: Vec<SampledStatement>,
    left_out: BTreeMap<&'static str, u64>,
}

/// Why a statement is not sent, as a word for a count.
fn why_not(statement: &StoredStatement<'_>, writes: bool, bytes: usize) -> Option<&'static str> {
    let is_full = bytes + statement.text.len() > TEXT_BYTES;
    let why = statement.why_not(writes);
    why.or(is_full.then_some("memory"))
}

fn sampled(number: u64, statement: &StoredStatement<'_>) -> SampledStatement {
    let (text, mode) = (statement.text, statement.mode());
    // A log without the session's own has the moment at which the statement began.
    let begin_us = u64::try_from(statement.begin_us).ok();
    let timestamp_us = statement.timestamp_us.or(begin_us);
    SampledStatement {
        number,
        template: 0,
        text: text.into(),
        database: statement.database,
        ansi_quotes: statement.ansi_quotes,
        no_backslash_escapes: statement.no_backslash_escapes,
        is_read: only_reads(text, mode),
        determined: determined(text, mode),
        timestamp_us: timestamp_us.filter(|us| (1_000_000..=TIMESTAMP_US_MAX).contains(us)),
        last_insert_id: statement.last_insert_id,
        rows_sent: statement.rows_sent,
    }
}

/// The bytes of a name that is kept as latin-1.
fn bytes_of(name: &str) -> Vec<u8> {
    name.chars().map(|letter| letter as u8).collect()
}

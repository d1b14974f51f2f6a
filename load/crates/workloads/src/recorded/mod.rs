//! The transactions of a recording, with their own values.
//!
//! A block of some seconds is drawn, and its transactions are handed out in their order, each to
//! the connection that is free first; then the next block. So neighbours stay neighbours, and the
//! server's caches hit as often as they did. A thread reads the blocks ahead of the load.

mod ahead;
mod session;

use super::config;
use super::config::WorkloadConfig;
use super::native::Way;
use ahead::Ahead;
use contend_engine::workload::{
    CLASSES_MAX, EventKind, LookedAtServer, SeatPlace, Session, Workload,
};
use contend_figures::outcome::Failure;
use contend_plan::{Arrival, Load, Protocol};
use contend_recording::{LogError, RecordedTransactions, RecordingContents, TransactionCounts};
use schemars::JsonSchema;
use serde::Deserialize;
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Names in a message.
const NAMED_MAX: usize = 20;

/// The transactions of a recording, with their own values. They are sent as text, and errors of
/// statements are counted and ignored.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Keys {
    /// The recording.
    recording: String,
    /// Send writes too, in the transactions of the recording. Without it, a transaction is its
    /// reads.
    #[serde(default)]
    writes: bool,
    /// Length of the parts of the recording that are drawn; the transactions of a part stay
    /// together, in their order.
    #[serde(default = "five")]
    #[schemars(extend("exclusiveMinimum" = 0.0, "exclusiveMaximum" = 86_400.0))]
    block_s: f64,
    /// Share of all transactions, in percent, of those whose slowest statement has this template,
    /// by its name: t17 for template 17. The others share the rest as recorded.
    #[serde(default)]
    shares: BTreeMap<String, u32>,
}

fn five() -> f64 {
    5.0
}

impl config::Keys for Keys {
    const KIND: &'static str = "recorded";
    const WRITES: Option<bool> = None;
    const METRIC: &'static str = config::EVENTS;

    fn check(&self) -> Result<(), String> {
        match self.block_s > 0.0 && self.block_s < 86_400.0 {
            true => Ok(()),
            false => Err(format!(
                "workload.block_s: {} is not between 0 and 86400",
                self.block_s
            )),
        }
    }
}

impl WorkloadConfig for Keys {
    fn build(&self, way: Way) -> Result<Arc<dyn Workload>, String> {
        if way.route.nodes() > 1 {
            return Err(
                "workload: recorded transactions go to one server; remove nodes".to_owned(),
            );
        }
        let refused = |error: LogError| {
            let hint = error.hint.map(|hint| format!("; {hint}"));
            let message = error.message;
            format!("workload.recording: {message}{}", hint.unwrap_or_default())
        };
        let block_us = (self.block_s * 1e6) as i64;
        let path = PathBuf::from(&self.recording);
        let recorded = RecordedTransactions::open(&path, block_us, self.writes).map_err(refused)?;
        if recorded.blocks() == 0 {
            return Err(format!(
                "workload.recording: {} has no whole transaction that may be sent{}",
                self.recording,
                if self.writes {
                    ""
                } else {
                    "; set writes to send writes too"
                },
            ));
        }
        let copies = copies(&self.shares, &recorded.counts)?;
        Ok(Arc::new(Recorded::new(recorded, copies, way)))
    }

    /// All connections share the numbers of the events, so that each transaction is sent once.
    fn fit(&self, load: &mut Load) -> Result<(), String> {
        if load.hosts > 1 {
            return Err(
                "load.hosts: a recording is a file of this host; use a single host".to_owned(),
            );
        }
        if load.protocol == Protocol::Prepared {
            load.protocol = Protocol::Text;
        }
        if load.events_each.is_none() && matches!(load.arrival, Arrival::Closed { .. }) {
            load.events = load.events.or(Some(u64::MAX));
        }
        load.errors.ignore_all = true;
        Ok(())
    }
}

/// How often a transaction is sent for each time that it was recorded, by its leader, and for all
/// others.
#[derive(Clone, Debug, PartialEq)]
struct Copies {
    of: BTreeMap<u32, f64>,
    others: f64,
}

fn copies(shares: &BTreeMap<String, u32>, counts: &TransactionCounts) -> Result<Copies, String> {
    let mut of = BTreeMap::new();
    let (mut told, mut recorded) = (0, 0);
    for (name, percent) in shares {
        let number = counts
            .led
            .keys()
            .find(|number| class_name(**number) == *name);
        let Some(number) = number else {
            return Err(unknown_template(name, counts));
        };
        let led = counts.led.get(number).copied().unwrap_or_default();
        (told, recorded) = (told + u64::from(*percent), recorded + led);
        let share = led as f64 / counts.transactions.max(1) as f64;
        of.insert(*number, f64::from(*percent) / 100.0 / share);
    }
    let rest = counts.transactions - recorded;
    if told > 100 || (rest == 0 && told < 100 && !shares.is_empty()) {
        let why = match told > 100 {
            true => "the limit is 100",
            false => "no transactions are left for the rest",
        };
        return Err(format!(
            "workload.shares: together they are {told} percent, and {why}"
        ));
    }
    let rest_share = rest as f64 / counts.transactions.max(1) as f64;
    let others = match rest {
        0 => 0.0,
        _ => (100 - told) as f64 / 100.0 / rest_share,
    };
    Ok(Copies { of, others })
}

fn unknown_template(name: &str, counts: &TransactionCounts) -> String {
    let mut known: Vec<_> = counts.led.iter().collect();
    known.sort_by_key(|(number, led)| (Reverse(**led), **number));
    let names = known.iter().take(NAMED_MAX);
    let names: Vec<String> = names.map(|(number, _)| class_name(**number)).collect();
    let more = match known.len().saturating_sub(NAMED_MAX) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!(
        "workload.shares: no transaction has \"{name}\" as its slowest statement; those that have \
         are {}{more}",
        names.join(", ")
    )
}

/// The name of a template in outcomes.
fn class_name(template: u32) -> String {
    format!("t{template}")
}

/// Statement classes of the templates that are sent.
#[derive(Clone, Debug, Default)]
struct Classes {
    names: Vec<String>,
    /// By the number of the template; the others have the last class.
    of: BTreeMap<u32, u8>,
}

impl Classes {
    /// Those with most logged time have a class each.
    fn new(contents: &RecordingContents, counts: &TransactionCounts, writes: bool) -> Self {
        let weight = |number: &u32| {
            let row = contents.templates.get(*number as usize);
            let calls = counts.statements.get(number);
            Reverse((row.map_or(0, |row| row.total_us), calls))
        };
        let mut sent: Vec<u32> = counts.statements.keys().copied().collect();
        sent.sort_by_key(weight);
        // What the log does not have, such as the end of a transaction that was lost, is in none.
        let has_others = writes || sent.len() > CLASSES_MAX;
        sent.truncate(CLASSES_MAX - usize::from(has_others));
        sent.sort_unstable();
        let mut names: Vec<String> = sent.iter().map(|number| class_name(*number)).collect();
        names.extend(has_others.then(|| "other".to_owned()));
        Self {
            names,
            of: sent.into_iter().zip(0..).collect(),
        }
    }

    fn of(&self, template: Option<u32>) -> u8 {
        let known = template.and_then(|template| self.of.get(&template));
        known
            .copied()
            .unwrap_or(self.names.len().saturating_sub(1) as u8)
    }
}

/// What all sessions know of the recording.
struct RecordedTexts {
    /// Names of the databases; the first is that of the connection.
    databases: Vec<String>,
    /// Texts of the templates. In messages they stand for the statements, so that no value shows.
    templates: Vec<String>,
    writes: bool,
    way: Way,
}

impl RecordedTexts {
    /// The name of a database; none if it is not known.
    fn database(&self, number: u32) -> Option<&str> {
        let name = match number {
            // The log does not know it either: that of the connection.
            0 => Some(&*self.way.database),
            _ => self.databases.get(number as usize).map(String::as_str),
        };
        name.filter(|name| !name.is_empty())
    }
}

/// A name that is kept as latin-1.
fn utf8(name: &str) -> String {
    let bytes: Vec<u8> = name.chars().map(|letter| letter as u8).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

struct Recorded {
    texts: Arc<RecordedTexts>,
    kinds: Vec<EventKind>,
    /// AheadTaken by the first session, which knows the seed.
    source: Mutex<Option<ahead::AheadSource>>,
    ahead: Arc<Ahead>,
    /// The databases that the server has, if it was looked at.
    known: OnceLock<HashSet<String>>,
}

impl Recorded {
    fn new(recorded: RecordedTransactions, copies: Copies, way: Way) -> Self {
        let contents = recorded.contents();
        let writes = recorded.writes();
        let classes = Classes::new(contents, &recorded.counts, writes);
        let texts = RecordedTexts {
            databases: contents.databases.iter().map(|name| utf8(name)).collect(),
            templates: contents
                .templates
                .iter()
                .map(|row| row.text.clone())
                .collect(),
            writes,
            way,
        };
        let kind = EventKind {
            name: "transaction".to_owned(),
            classes: classes.names.clone(),
        };
        let ahead = Arc::new(Ahead::new(&recorded.counts));
        Self {
            texts: Arc::new(texts),
            kinds: vec![kind],
            ahead,
            source: Mutex::new(Some(ahead::AheadSource {
                recorded,
                copies,
                classes,
            })),
            known: OnceLock::new(),
        }
    }
}

impl Workload for Recorded {
    fn kinds(&self) -> &[EventKind] {
        &self.kinds
    }

    fn classes(&self) -> &[String] {
        self.kinds.first().map_or(&[], |kind| &kind.classes)
    }

    fn look(&self, server: &mut dyn LookedAtServer) -> Result<(), Failure> {
        let rows = server.rows("SHOW DATABASES")?.into_iter();
        let names = rows.filter_map(|row| row.into_iter().next().flatten());
        self.known.get_or_init(|| names.collect());
        Ok(())
    }

    fn session(&self, seat: SeatPlace) -> Result<Box<dyn Session>, Failure> {
        let mut source = self.source.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(source) = source.take() {
            ahead::start(source, Arc::clone(&self.ahead), seat.seed)?;
        }
        let known = self.known.get();
        let databases = self.texts.databases.iter();
        let is_known = databases.map(|name| known.is_some_and(|known| known.contains(name)));
        Ok(Box::new(session::session(
            Arc::clone(&self.texts),
            Arc::clone(&self.ahead),
            is_known.collect(),
            seat,
        )))
    }
}

impl Drop for Recorded {
    fn drop(&mut self) {
        self.ahead.end();
    }
}

#[cfg(test)]
mod tests;

//! The figures of one worker over one interval, and the sums of such figures.

use super::{ClassTimes, ErrorTally, Latency};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::mem::take;

/// The records of a span of time. An *event* is the unit that the workload repeats (a query, or a
/// whole transaction); a *query* is one request with its answer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Tally {
    shape: TallyShape,
    /// Events that began, whether they ended well, failed, or have not ended.
    pub begun: u64,
    /// Queries answered in this time that belong to events of the warm-up. No other count includes
    /// them.
    pub carried: u64,
    /// Correction for queries in flight at an edge of the window: added to those answered inside
    /// it, so that each counts by the part of its time that lay inside.
    pub cut: f64,
    /// Connections that were lost and opened again.
    pub reconnects: u64,
    /// Time from losing a connection to having it again, over all connections.
    pub outage_ns: u64,
    /// From asking for a connection to its open session; absent if none was opened.
    pub connect: Option<Box<Latency>>,
    /// One for each kind of event of the workload.
    pub kinds: Vec<KindTally>,
    /// One for each statement class of the workload.
    pub classes: Vec<ClassTally>,
    /// One for each server, if the run has several.
    pub nodes: Vec<NodeTally>,
    pub errors: ErrorTally,
}

/// What a tally counts separately, and which times it records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TallyShape {
    /// Kinds of event, and statement classes, of the workload.
    pub kinds: usize,
    pub classes: usize,
    /// Each class has a histogram of its own.
    pub times_classes: bool,
    /// Events are due by a schedule.
    pub is_open: bool,
    /// The two parts of the response time are kept.
    pub times_lag: bool,
    /// Servers that are counted separately; 0 if the run has only one.
    pub nodes: usize,
}

impl TallyShape {
    /// A shape that has room for the fields of both.
    pub fn with(self, other: Self) -> Self {
        Self {
            kinds: self.kinds.max(other.kinds),
            classes: self.classes.max(other.classes),
            times_classes: self.times_classes || other.times_classes,
            is_open: self.is_open && other.is_open,
            times_lag: self.times_lag || other.times_lag,
            nodes: self.nodes.max(other.nodes),
        }
    }
}

/// The events of one kind.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct KindTally {
    /// Events that ended well.
    pub events: u64,
    /// Added to `events`, so that each event in flight at an edge of the window counts by the part
    /// of its time that lay inside.
    pub cut: f64,
    /// How many of those rolled back on purpose.
    pub rolled_back: u64,
    /// Events that failed: broken off, given up, or dropped by a script.
    pub failed: u64,
    /// Retries of events.
    pub retries: u64,
    /// From the intended start to the last byte of the last answer.
    pub response: Latency,
    /// Absent if the workload has no think times and the loop is closed: service time would then be
    /// the response time.
    pub open: Option<Box<OpenTally>>,
    /// Absent if no event was begun again.
    pub retried: Option<Box<RetriedTally>>,
}

/// Under an open loop, and after think times, the response time has two parts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OpenTally {
    /// From the true start to the end.
    pub service: Latency,
    /// From the intended to the true start.
    pub lag: Latency,
}

/// The events that were retried and then ended well.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RetriedTally {
    /// Their response times, which [`KindTally::response`] has too.
    pub response: Latency,
    /// From the start of the last try to the end.
    pub last_try: Latency,
}

/// The queries of one statement class.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ClassTally {
    pub queries: u64,
    pub rows: u64,
    pub errors: u64,
    pub bytes_sent: u64,
    pub bytes_received: u64,
    pub times: ClassTimes,
}

/// The figures of one of several servers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NodeTally {
    /// Events that ended well and used an answer of it.
    pub events: u64,
    pub queries: ClassTally,
    pub reconnects: u64,
    pub outage_ns: u64,
    pub errors: ErrorTally,
}

/// A query that was answered, well or not.
#[derive(Clone, Copy, Debug)]
pub struct Query {
    pub rows: u64,
    pub failed: bool,
    pub bytes_sent: u64,
    pub bytes_received: u64,
}

impl Tally {
    pub fn new(shape: TallyShape) -> Self {
        let kind = KindTally {
            open: shape.times_lag.then(Box::default),
            ..KindTally::default()
        };
        let class = ClassTally {
            times: match shape.times_classes {
                true => ClassTimes::recorded(),
                false => ClassTimes::Absent,
            },
            ..ClassTally::default()
        };
        let node = NodeTally {
            queries: ClassTally {
                times: ClassTimes::recorded(),
                ..ClassTally::default()
            },
            ..NodeTally::default()
        };
        Self {
            shape,
            kinds: vec![kind; shape.kinds],
            classes: vec![class; shape.classes],
            nodes: vec![node; shape.nodes],
            ..Self::default()
        }
    }

    pub fn shape(&self) -> TallyShape {
        self.shape
    }

    /// Whether it has the fields of a tally of this shape; one that was read may not.
    pub fn is_of(&self, shape: TallyShape) -> bool {
        let lengths = (self.kinds.len(), self.classes.len(), self.nodes.len());
        self.shape == shape && lengths == (shape.kinds, shape.classes, shape.nodes)
    }

    /// An empty tally with the same fields.
    pub fn empty_like(&self) -> Self {
        Self::new(self.shape)
    }

    /// Forgets all records and keeps their memory for more: nothing is allocated.
    pub fn clear(&mut self) {
        self.kinds.iter_mut().for_each(KindTally::clear);
        self.classes.iter_mut().for_each(ClassTally::clear);
        self.nodes.iter_mut().for_each(NodeTally::clear);
        *self = Self {
            shape: self.shape,
            kinds: take(&mut self.kinds),
            classes: take(&mut self.classes),
            nodes: take(&mut self.nodes),
            ..Self::default()
        };
    }

    /// Events are due by a schedule.
    pub fn is_open(&self) -> bool {
        self.shape.is_open
    }

    /// Events of all kinds that ended well.
    pub fn events(&self) -> u64 {
        self.kinds.iter().map(|kind| kind.events).sum()
    }

    pub fn failed(&self) -> u64 {
        self.kinds.iter().map(|kind| kind.failed).sum()
    }

    pub fn retries(&self) -> u64 {
        self.kinds.iter().map(|kind| kind.retries).sum()
    }

    /// Answered queries of all classes.
    pub fn queries(&self) -> u64 {
        self.classes.iter().map(|class| class.queries).sum()
    }

    pub fn rows(&self) -> u64 {
        self.classes.iter().map(|class| class.rows).sum()
    }

    pub fn bytes_sent(&self) -> u64 {
        self.classes.iter().map(|class| class.bytes_sent).sum()
    }

    pub fn bytes_received(&self) -> u64 {
        self.classes.iter().map(|class| class.bytes_received).sum()
    }

    /// The events of all kinds together.
    pub fn whole(&self) -> Cow<'_, KindTally> {
        match self.kinds.as_slice() {
            [only] => Cow::Borrowed(only),
            kinds => {
                let mut sum = KindTally::default();
                kinds.iter().for_each(|kind| sum.merge(kind));
                Cow::Owned(sum)
            }
        }
    }

    /// Queries that were answered inside the window. `self` is the window and `drained` the figures
    /// of the queries that ended after it.
    pub fn answered_before(&self, drained: &Self) -> u64 {
        let answered = |tally: &Self| tally.queries() + tally.carried;
        answered(self).saturating_sub(answered(drained))
    }

    /// Like [`Self::answered_before`], but each query in flight at an edge of the window counts by
    /// the part of its time that lay inside. With long queries in a short window, a count of whole
    /// ones is too low or too high by one on every connection.
    pub fn answered_in_parts(&self, drained: &Self) -> f64 {
        (self.answered_before(drained) as f64 + self.cut).max(0.0)
    }

    /// Adds another worker's, or another interval's, figures.
    pub fn merge(&mut self, other: &Self) {
        // Taken apart by name, so that a new figure cannot be forgotten here.
        let Self {
            shape: _,
            begun,
            carried,
            cut,
            reconnects,
            outage_ns,
            connect,
            kinds,
            classes,
            nodes,
            errors,
        } = other;
        self.begun += begun;
        self.carried += carried;
        self.cut += cut;
        self.reconnects += reconnects;
        self.outage_ns += outage_ns;
        merge_some(&mut self.connect, connect.as_deref(), Latency::merge);
        merge_each(&mut self.kinds, kinds, KindTally::merge);
        merge_each(&mut self.classes, classes, ClassTally::merge);
        merge_each(&mut self.nodes, nodes, NodeTally::merge);
        self.errors.merge(errors);
    }

    /// The tallies that count an error of server number `node`: the overall one, and the server's
    /// own if it has one.
    pub fn errors_of(&mut self, node: usize) -> impl Iterator<Item = &mut ErrorTally> {
        let node = self.nodes.get_mut(node).map(|node| &mut node.errors);
        std::iter::once(&mut self.errors).chain(node)
    }

    /// Counts a connection to server number `node` that was lost and opened again.
    pub fn add_outage(&mut self, node: usize, outage_ns: u64) {
        self.reconnects += 1;
        self.outage_ns += outage_ns;
        if let Some(node) = self.nodes.get_mut(node) {
            node.reconnects += 1;
            node.outage_ns += outage_ns;
        }
    }
}

impl KindTally {
    /// Adds an event that ended well. It ended `response_ns` after it was due, and began `lag_ns`
    /// after it was due.
    #[inline]
    pub fn record_ns(&mut self, response_ns: u64, lag_ns: u64) {
        self.events += 1;
        self.response.record_ns(response_ns);
        if let Some(open) = &mut self.open {
            open.service.record_ns(response_ns.saturating_sub(lag_ns));
            open.lag.record_ns(lag_ns);
        }
    }

    /// Adds rare results of an event: a rollback on purpose, or the time of the last try after a
    /// retry.
    #[cold]
    pub fn record_more(&mut self, response_ns: u64, rolled_back: bool, last_try_ns: Option<u64>) {
        self.rolled_back += u64::from(rolled_back);
        if let Some(last_try_ns) = last_try_ns {
            let retried = self.retried.get_or_insert_default();
            retried.response.record_ns(response_ns);
            retried.last_try.record_ns(last_try_ns);
        }
    }

    /// Events that ended well. Those under way at an edge of the window count by the part of their
    /// time that lay inside.
    pub fn events_in_parts(&self) -> f64 {
        (self.events as f64 + self.cut).max(0.0)
    }

    /// The response times as they would be if failed tries had taken no time; none if no event was
    /// retried.
    pub fn without_retries(&self) -> Option<Latency> {
        let retried = self.retried.as_ref()?;
        let mut times = self.response.clone();
        times.replace(&retried.response, &retried.last_try);
        Some(times)
    }

    pub fn merge(&mut self, other: &Self) {
        let Self {
            events,
            cut,
            rolled_back,
            failed,
            retries,
            response,
            open,
            retried,
        } = other;
        self.events += events;
        self.cut += cut;
        self.rolled_back += rolled_back;
        self.failed += failed;
        self.retries += retries;
        self.response.merge(response);
        merge_some(&mut self.open, open.as_deref(), OpenTally::merge);
        merge_some(&mut self.retried, retried.as_deref(), RetriedTally::merge);
    }

    fn clear(&mut self) {
        // Taken apart by name, as above; a new histogram would be allocated.
        let Self {
            events,
            cut,
            rolled_back,
            failed,
            retries,
            response,
            open,
            retried,
        } = self;
        *cut = 0.0;
        let counts = [events, rolled_back, failed, retries];
        counts.into_iter().for_each(|count| *count = 0);
        response.clear();
        if let Some(open) = open {
            open.service.clear();
            open.lag.clear();
        }
        *retried = None;
    }
}

impl OpenTally {
    pub fn merge(&mut self, other: &Self) {
        self.service.merge(&other.service);
        self.lag.merge(&other.lag);
    }
}

impl RetriedTally {
    fn merge(&mut self, other: &Self) {
        self.response.merge(&other.response);
        self.last_try.merge(&other.last_try);
    }
}

impl NodeTally {
    fn clear(&mut self) {
        self.queries.clear();
        (self.events, self.reconnects, self.outage_ns) = (0, 0, 0);
        self.errors = ErrorTally::default();
    }

    fn merge(&mut self, other: &Self) {
        let Self {
            events,
            queries,
            reconnects,
            outage_ns,
            errors,
        } = other;
        self.events += events;
        self.queries.merge(queries);
        self.reconnects += reconnects;
        self.outage_ns += outage_ns;
        self.errors.merge(errors);
    }
}

impl ClassTally {
    /// Adds a query. `time_ns` is only called if query times are recorded.
    #[inline]
    pub fn add(&mut self, query: &Query, time_ns: impl FnOnce() -> u64) {
        self.queries += 1;
        self.rows += query.rows;
        self.bytes_sent += query.bytes_sent;
        self.bytes_received += query.bytes_received;
        self.errors += u64::from(query.failed);
        if let ClassTimes::Recorded(latency) = &mut self.times {
            latency.record_ns(time_ns());
        }
    }

    fn clear(&mut self) {
        self.times.clear();
        *self = Self {
            times: take(&mut self.times),
            ..Self::default()
        };
    }

    fn merge(&mut self, other: &Self) {
        let Self {
            queries,
            rows,
            errors,
            bytes_sent,
            bytes_received,
            times,
        } = other;
        self.queries += queries;
        self.rows += rows;
        self.errors += errors;
        self.bytes_sent += bytes_sent;
        self.bytes_received += bytes_received;
        self.times.merge(times);
    }
}

fn merge_each<T>(ours: &mut [T], theirs: &[T], merge: impl Fn(&mut T, &T)) {
    let pairs = ours.iter_mut().zip(theirs);
    pairs.for_each(|(ours, theirs)| merge(ours, theirs));
}

/// Merges `theirs` into `ours`, if there is any.
fn merge_some<T: Default>(
    ours: &mut Option<Box<T>>,
    theirs: Option<&T>,
    merge: impl FnOnce(&mut T, &T),
) {
    if let Some(theirs) = theirs {
        merge(ours.get_or_insert_default(), theirs);
    }
}

#[cfg(test)]
mod tests;

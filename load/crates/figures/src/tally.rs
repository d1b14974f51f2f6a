//! The figures of one worker over one interval, and the sums of such figures.

use super::{ErrorTally, Latency};
use crate::outcome::{EventCounts, Figures, LinkCounts, QueryCounts, WindowFigures};
use crate::sum::{Sum, sums};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

sums! {
    /// The records of a span of time. An *event* is the unit that the workload repeats (a query, or
    /// a whole transaction); a *query* is one request with its answer.
    pub struct Tally {
        shape: TallyShape,
        /// Events that began, whether they ended well, failed, or have not ended.
        pub begun: u64,
        /// Queries answered in this time that belong to events of the warm-up. No other count
        /// includes them.
        pub carried: u64,
        /// Correction for queries in flight at an edge of the window: added to those answered
        /// inside it, so that each counts by the part of its time that lay inside.
        pub cut: f64,
        pub links: LinkCounts,
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

    /// The events of one kind.
    pub struct KindTally {
        /// Events that ended well.
        pub events: u64,
        /// Added to `events`, so that each event in flight at an edge of the window counts by the
        /// part of its time that lay inside.
        pub cut: f64,
        pub counts: EventCounts,
        /// From the intended start to the last byte of the last answer.
        pub response: Latency,
        /// Absent if the workload has no think times and the loop is closed: service time would
        /// then be the response time.
        pub open: Option<Box<OpenTally>>,
        /// Absent if no event was begun again.
        pub retried: Option<Box<RetriedTally>>,
    }

    /// Under an open loop, and after think times, the response time has two parts.
    pub struct OpenTally {
        /// From the true start to the end.
        pub service: Latency,
        /// From the intended to the true start.
        pub lag: Latency,
    }

    /// The events that were retried and then ended well.
    pub struct RetriedTally {
        /// Their response times, which [`KindTally::response`] has too.
        pub response: Latency,
        /// From the start of the last try to the end.
        pub last_try: Latency,
    }

    /// The queries of one statement class.
    pub struct ClassTally {
        pub counts: QueryCounts,
        pub errors: u64,
        /// Absent if the workload has one class and every query is an event: the response times are
        /// then the query times, and recording them twice would only cost time.
        pub times: Option<Box<Latency>>,
    }

    /// The records of one of several servers.
    pub struct NodeTally {
        /// Events that ended well and used an answer of it.
        pub events: u64,
        pub queries: ClassTally,
        pub links: LinkCounts,
        pub errors: ErrorTally,
    }
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

/// Tallies that are added have the same shape.
impl Sum for TallyShape {
    fn merge(&mut self, _: &Self) {}

    fn clear(&mut self) {}
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
            times: shape.times_classes.then(Box::default),
            ..ClassTally::default()
        };
        let node = NodeTally {
            queries: ClassTally {
                times: Some(Box::default()),
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

    /// Events are due by a schedule.
    pub fn is_open(&self) -> bool {
        self.shape.is_open
    }

    /// Events of all kinds that ended well.
    pub fn events(&self) -> u64 {
        self.kinds.iter().map(|kind| kind.events).sum()
    }

    /// Answered queries of all classes.
    pub fn queries(&self) -> QueryCounts {
        let mut sum = QueryCounts::default();
        let classes = self.classes.iter();
        classes.for_each(|class| sum.merge(&class.counts));
        sum
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

    /// The statistics of all events and queries, except those of a window. `times` is
    /// [`Latency::summary`] or [`Latency::figures`].
    pub fn figures(&self, times: impl Fn(&Latency) -> Figures) -> Figures {
        Figures {
            query_counts: Some(self.queries()),
            link_counts: Some(self.links),
            ..self.whole().figures(times)
        }
    }

    /// The statistics of a window of this length. `drained` has the part that was answered after
    /// it. Without it only whole queries count; with it a query in flight at an edge of the window
    /// counts by the part of its time that lay inside. A count of whole ones is too low or too high
    /// by one on every connection, which is much for long queries in a short window.
    pub fn window(&self, drained: Option<&Self>, seconds: f64) -> Option<WindowFigures> {
        let answered = |tally: &Self| tally.queries().queries + tally.carried;
        let answered = answered(self).saturating_sub(drained.map_or(0, answered));
        let in_parts = (answered as f64 + drained.map_or(0.0, |_| self.cut)).max(0.0);
        Some(WindowFigures {
            begun: self.begun,
            answered,
            qps: if seconds > 0.0 {
                in_parts / seconds
            } else {
                0.0
            },
        })
    }

    /// The tallies that count an error of server number `node`: the overall one, and the server's
    /// own if it has one.
    pub fn errors_of(&mut self, node: usize) -> impl Iterator<Item = &mut ErrorTally> {
        let node = self.nodes.get_mut(node).map(|node| &mut node.errors);
        std::iter::once(&mut self.errors).chain(node)
    }

    /// Counts a connection to server number `node` that was lost and opened again.
    pub fn add_outage(&mut self, node: usize, outage_s: f64) {
        let outage = LinkCounts {
            reconnects: 1,
            outage_s,
        };
        self.links.merge(&outage);
        if let Some(node) = self.nodes.get_mut(node) {
            node.links.merge(&outage);
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
        self.counts.rolled_back += u64::from(rolled_back);
        if let Some(last_try_ns) = last_try_ns {
            let retried = self.retried.get_or_insert_default();
            retried.response.record_ns(response_ns);
            retried.last_try.record_ns(last_try_ns);
        }
    }

    /// The response times as they would be if failed tries had taken no time; none if no event was
    /// retried.
    fn without_retries(&self) -> Option<Latency> {
        let retried = self.retried.as_ref();
        let retried = retried.filter(|retried| retried.response.count() > 0)?;
        let mut times = self.response.clone();
        times.replace(&retried.response, &retried.last_try);
        Some(times)
    }

    /// The statistics of these events, see [`Tally::figures`].
    pub fn figures(&self, times: impl Fn(&Latency) -> Figures) -> Figures {
        let without_retries = self.without_retries();
        Figures {
            events: Some(self.events),
            events_in_parts: Some((self.events as f64 + self.cut).max(0.0)),
            event_counts: Some(self.counts),
            latency_without_retries_us: without_retries.map(|times| times.percentiles_us()),
            ..times(&self.response)
        }
    }
}

impl ClassTally {
    /// Adds a query. `time_ns` is only called if query times are recorded.
    #[inline]
    pub fn add(&mut self, query: &Query, time_ns: impl FnOnce() -> u64) {
        self.counts.queries += 1;
        self.counts.rows += query.rows;
        self.counts.bytes_sent += query.bytes_sent;
        self.counts.bytes_received += query.bytes_received;
        self.errors += u64::from(query.failed);
        if let Some(times) = &mut self.times {
            times.record_ns(time_ns());
        }
    }

    /// The statistics of these queries. If every query is an event, their times are those of
    /// `events`.
    pub fn figures(&self, events: &Latency) -> Figures {
        Figures {
            query_counts: Some(self.counts),
            ..self.times.as_deref().unwrap_or(events).summary()
        }
    }
}

impl NodeTally {
    /// The statistics of the queries that it answered.
    pub fn figures(&self) -> Figures {
        let times = self.queries.times.as_deref();
        Figures {
            events: Some(self.events),
            query_counts: Some(self.queries.counts),
            link_counts: Some(self.links),
            ..times.map(Latency::figures).unwrap_or_default()
        }
    }
}

#[cfg(test)]
mod tests;

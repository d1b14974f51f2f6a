//! The figures of one worker over one interval, and their sum.

use super::{ErrorTally, Latency};

/// What happened in one stretch of time. An *event* is what the workload repeats (a query, or a
/// whole transaction); a *query* is one request with its answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Tally {
    /// Events that began, whatever came of them.
    pub begun: u64,
    /// Events that ended well: all others failed, or have not ended.
    pub events: u64,
    /// Events that ended otherwise: broken off, or dropped by a script.
    pub failed: u64,
    pub queries: u64,
    /// Queries of earlier events, of the warm-up, that were answered meanwhile: in no other count.
    pub carried: u64,
    pub rows: u64,
    pub bytes_sent: u64,
    pub bytes_received: u64,
    /// Connections that were lost and opened again.
    pub reconnects: u64,
    /// Time from losing a connection to having it again, over all connections.
    pub outage_ns: u64,
    /// From asking for a connection to its open session; absent where none was opened.
    pub connect: Option<Box<Latency>>,
    /// Of events: from the intended start to the last byte of the last answer.
    pub response: Latency,
    /// Of events under an open loop; absent under a closed loop, where they would say the same.
    pub open: Option<Box<OpenTally>>,
    /// One for each statement class of the workload.
    pub classes: Vec<ClassTally>,
    pub errors: ErrorTally,
}

/// Under an open loop the response time has two parts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OpenTally {
    /// From the true start to the end.
    pub service: Latency,
    /// From the intended to the true start.
    pub lag: Latency,
}

/// The queries of one statement class.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClassTally {
    pub queries: u64,
    pub rows: u64,
    pub errors: u64,
    pub bytes_sent: u64,
    pub bytes_received: u64,
    /// Absent where the workload has one class whose every query is an event: then the
    /// response times say it all, and recording twice would only cost.
    pub latency: Option<Box<Latency>>,
}

impl Tally {
    /// An empty tally of `classes` statement classes.
    ///
    /// `per_class` asks for a histogram for each class, `open` for those of an open loop.
    pub fn new(classes: usize, per_class: bool, open: bool) -> Self {
        let class = ClassTally {
            latency: per_class.then(Box::default),
            ..ClassTally::default()
        };
        Self {
            begun: 0,
            events: 0,
            failed: 0,
            queries: 0,
            carried: 0,
            rows: 0,
            bytes_sent: 0,
            bytes_received: 0,
            reconnects: 0,
            outage_ns: 0,
            connect: None,
            response: Latency::new(),
            open: open.then(Box::default),
            classes: vec![class; classes],
            errors: ErrorTally::default(),
        }
    }

    /// An empty tally that records the same things.
    pub fn empty_like(&self) -> Self {
        let per_class = self.classes.iter().any(|class| class.latency.is_some());
        Self::new(self.classes.len(), per_class, self.open.is_some())
    }

    /// Forgets what was recorded and keeps the room for more: nothing is allocated.
    pub fn clear(&mut self) {
        let Self {
            begun,
            events,
            failed,
            queries,
            carried,
            rows,
            bytes_sent,
            bytes_received,
            reconnects,
            outage_ns,
            connect,
            response,
            open,
            classes,
            errors,
        } = self;
        let counts = [
            begun,
            events,
            failed,
            queries,
            carried,
            rows,
            bytes_sent,
            bytes_received,
            reconnects,
            outage_ns,
        ];
        counts.into_iter().for_each(|count| *count = 0);
        *connect = None;
        response.clear();
        if let Some(open) = open {
            open.clear();
        }
        classes.iter_mut().for_each(ClassTally::clear);
        *errors = ErrorTally::default();
    }

    /// Queries that were answered inside a window, if this is the sum of it and of `drained`, what
    /// ended after it.
    pub fn answered_before(&self, drained: &Self) -> u64 {
        let answered = |tally: &Self| tally.queries + tally.carried;
        answered(self).saturating_sub(answered(drained))
    }

    /// Adds another worker's, or another interval's, figures.
    pub fn merge(&mut self, other: &Self) {
        // Taken apart by name, so that a new figure cannot be forgotten here.
        let Self {
            begun,
            events,
            failed,
            queries,
            carried,
            rows,
            bytes_sent,
            bytes_received,
            reconnects,
            outage_ns,
            connect,
            response,
            open,
            classes,
            errors,
        } = other;
        self.begun += begun;
        self.events += events;
        self.failed += failed;
        self.queries += queries;
        self.carried += carried;
        self.rows += rows;
        self.bytes_sent += bytes_sent;
        self.bytes_received += bytes_received;
        self.reconnects += reconnects;
        self.outage_ns += outage_ns;
        if let Some(theirs) = connect {
            self.connect.get_or_insert_default().merge(theirs);
        }
        self.response.merge(response);
        if let (Some(ours), Some(theirs)) = (&mut self.open, open) {
            ours.merge(theirs);
        }
        for (ours, theirs) in self.classes.iter_mut().zip(classes) {
            ours.merge(theirs);
        }
        self.errors.merge(errors);
    }
}

impl OpenTally {
    /// Adds an event that lasted `response_ns` from its intended time, `lag_ns` of it before it
    /// began.
    #[inline]
    pub fn record_ns(&mut self, response_ns: u64, lag_ns: u64) {
        self.service.record_ns(response_ns.saturating_sub(lag_ns));
        self.lag.record_ns(lag_ns);
    }

    pub fn merge(&mut self, other: &Self) {
        self.service.merge(&other.service);
        self.lag.merge(&other.lag);
    }

    pub fn clear(&mut self) {
        self.service.clear();
        self.lag.clear();
    }
}

impl ClassTally {
    fn clear(&mut self) {
        let latency = self.latency.take();
        *self = Self {
            latency,
            ..Self::default()
        };
        if let Some(latency) = &mut self.latency {
            latency.clear();
        }
    }

    fn merge(&mut self, other: &Self) {
        let Self {
            queries,
            rows,
            errors,
            bytes_sent,
            bytes_received,
            latency,
        } = other;
        self.queries += queries;
        self.rows += rows;
        self.errors += errors;
        self.bytes_sent += bytes_sent;
        self.bytes_received += bytes_received;
        if let (Some(ours), Some(theirs)) = (&mut self.latency, latency) {
            ours.merge(theirs);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn filled() -> Tally {
        let mut tally = Tally::new(2, true, true);
        tally.begun = 12;
        tally.events = 1;
        tally.failed = 13;
        tally.queries = 2;
        tally.carried = 14;
        tally.rows = 3;
        tally.bytes_sent = 4;
        tally.bytes_received = 5;
        tally.reconnects = 6;
        tally.outage_ns = 60;
        tally.connect.get_or_insert_default().record_ns(77);
        tally.response.record_ns(1000);
        tally.open.as_mut().unwrap().service.record_ns(900);
        tally.open.as_mut().unwrap().lag.record_ns(100);
        tally.classes[1].queries = 7;
        tally.classes[1].rows = 8;
        tally.classes[1].errors = 9;
        tally.classes[1].bytes_sent = 10;
        tally.classes[1].bytes_received = 11;
        tally.classes[1].latency.as_mut().unwrap().record_ns(500);
        tally.errors.record(1213, "40001", "Deadlock", String::new);
        tally
    }

    #[test]
    fn merging_into_an_empty_one_gives_the_same() {
        let mut merged = filled().empty_like();
        merged.merge(&filled());
        assert_eq!(merged, filled());
    }

    #[test]
    fn merging_twice_doubles_every_figure() {
        let mut merged = filled();
        merged.merge(&filled());
        assert_eq!((merged.begun, merged.events, merged.failed), (24, 2, 26));
        assert_eq!((merged.queries, merged.carried, merged.rows), (4, 28, 6));
        assert_eq!(
            (merged.bytes_sent, merged.bytes_received, merged.reconnects),
            (8, 10, 12)
        );
        assert_eq!(merged.response.count(), 2);
        assert_eq!(merged.open.as_ref().unwrap().lag.count(), 2);
        assert_eq!(merged.classes[1].queries, 14);
        assert_eq!(merged.classes[1].latency.as_ref().unwrap().count(), 2);
        assert_eq!(merged.errors.total(), 2);
    }

    #[test]
    fn clearing_leaves_an_empty_tally_of_the_same_kind() {
        let mut tally = filled();
        tally.clear();
        assert_eq!(tally, filled().empty_like());
    }
}

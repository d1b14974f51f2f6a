//! Figures of tallies as outcomes have them: by kind of event, by statement class, by node.

use contend_client::dialect::SessionFacts;
use contend_client::failure;
use contend_engine::measured::Measured;
use contend_engine::workload::Workload;
use contend_figures::outcome::{
    ClassFigures, ErrorCount, KindFigures, NodeFigures, NodeHello, Percentiles,
};
use contend_figures::{ErrorTally, KindTally, Tally};
use std::borrow::Cow;

/// The requests of each node.
pub(super) fn of_nodes(names: &[String], measured: &Measured) -> Vec<NodeFigures> {
    let tallies = names.iter().zip(&measured.tally.nodes);
    let servers = measured.node_servers.iter().cloned();
    let servers = servers.chain(std::iter::repeat(None));
    let figures = tallies.zip(servers).map(|((name, tally), server)| {
        let times = tally.queries.times.latency().unwrap_or_default();
        NodeFigures {
            name: name.clone(),
            events: tally.events,
            queries: tally.queries.queries,
            rows: tally.queries.rows,
            bytes_sent: tally.queries.bytes_sent,
            bytes_received: tally.queries.bytes_received,
            latency_us: times.percentiles_us(),
            latency_hdr_ns: times.encode(),
            errors: with_hints(&tally.errors),
            reconnects: tally.reconnects,
            outage_s: tally.outage_ns as f64 / 1e9,
            server,
        }
    });
    figures.collect()
}

/// Each kind of event; of a workload with one, the figures of all events are its own.
pub(super) fn of_kinds(workload: &dyn Workload, tally: &Tally) -> Vec<KindFigures> {
    if tally.kinds.len() < 2 {
        return Vec::new();
    }
    let kinds = workload.kinds().iter().zip(&tally.kinds);
    kinds
        .map(|(kind, tally)| KindFigures {
            name: kind.name.clone(),
            events: tally.events,
            events_in_parts: tally.events_in_parts(),
            rolled_back: tally.rolled_back,
            failed: tally.failed,
            retries: tally.retries,
            latency_us: tally.response.percentiles_us(),
            latency_hdr_ns: tally.response.encode(),
            latency_without_retries_us: without_retries_us(tally),
            service_us: tally
                .open
                .as_ref()
                .map(|open| open.service.percentiles_us()),
            lag_us: tally.open.as_ref().map(|open| open.lag.percentiles_us()),
            classes: kind.classes.clone(),
        })
        .collect()
}

/// Each statement class.
pub(super) fn of_classes(workload: &dyn Workload, tally: &Tally) -> Vec<ClassFigures> {
    let whole = tally.whole();
    workload
        .classes()
        .iter()
        .zip(&tally.classes)
        .map(|(name, class)| ClassFigures {
            name: name.clone(),
            queries: class.queries,
            rows: class.rows,
            errors: class.errors,
            bytes_sent: class.bytes_sent,
            bytes_received: class.bytes_received,
            // If every query is an event, the times of events are those of queries.
            latency_us: class
                .times
                .latency()
                .unwrap_or(Cow::Borrowed(&whole.response))
                .percentiles_us(),
        })
        .collect()
}

pub(super) fn without_retries_us(tally: &KindTally) -> Option<Percentiles> {
    tally.without_retries().map(|times| times.percentiles_us())
}

pub(super) fn words(agreed: &[&'static str]) -> Vec<String> {
    agreed.iter().map(|&word| word.to_owned()).collect()
}

pub(super) fn node_hello((name, session): (&String, &SessionFacts)) -> NodeHello {
    NodeHello {
        name: name.clone(),
        server_version: session.server_version.clone(),
        session: words(&session.agreed),
    }
}

/// The errors, each with what can be done about it.
pub(super) fn with_hints(errors: &ErrorTally) -> Vec<ErrorCount> {
    let mut errors = errors.counts();
    for error in &mut errors {
        error.hint = failure::hint(error.code).map(str::to_owned);
    }
    errors
}

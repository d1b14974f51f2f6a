//! The statistics of a part of the load. They are the same wherever an outcome reports them.

use crate::sum::sums;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Statistics of a part of the load. The part is an interval, a slice, a host or the whole window;
/// one kind of event, one node or one statement class. It has those that it counts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Figures {
    #[serde(flatten)]
    pub window: Option<WindowFigures>,
    /// Successful events. An event is the unit that the workload repeats: a query, a whole
    /// transaction, one `event()` of a script. A node has those with an answer of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u64")]
    pub events: Option<u64>,
    /// Successful events. An event in progress at an edge of the window or slice counts by the part
    /// of its time inside. Rates of events are computed from this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "f64")]
    pub events_in_parts: Option<f64>,
    #[serde(flatten)]
    pub event_counts: Option<EventCounts>,
    #[serde(flatten)]
    pub query_counts: Option<QueryCounts>,
    #[serde(flatten)]
    pub link_counts: Option<LinkCounts>,
    /// Latency of events, from the intended start to the last byte of the last answer. In a closed
    /// loop an event's intended start is the end of the previous one. For a node or a statement
    /// class: latency of queries, from sending a query to the last byte of its answer.
    pub latency_us: Percentiles,
    /// `latency_us` without the time of failed attempts; absent if no event was repeated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_without_retries_us: Option<Percentiles>,
    /// `latency_us` as an HdrHistogram V2, deflated, in base64; values are nanoseconds. Absent from
    /// intervals, hosts and classes.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub latency_hdr_ns: String,
}

/// The statistics that only a span of time has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WindowFigures {
    /// Events that began and were due to begin inside the window or slice. For the whole window:
    /// `events` + `failed` + `unfinished`.
    pub begun: u64,
    /// Statements answered inside the window or slice, including those of events that are not
    /// its own, and without those of `drained`.
    pub answered: u64,
    /// `answered` per second. A statement in progress at an edge of the window or slice counts by
    /// the part of its time inside.
    pub qps: f64,
}

sums! {
    /// What became of events, besides ending well.
    #[derive(Copy, JsonSchema)]
    pub struct EventCounts {
        /// Events interrupted by a lost connection, given up after their last retry, or dropped by
        /// a script.
        pub failed: u64,
        /// Those of `events` that rolled back, as intended.
        pub rolled_back: u64,
        /// Number of times an event was repeated, after an error or a lost connection.
        pub retries: u64,
    }

    /// The queries of events.
    #[derive(Copy, JsonSchema)]
    pub struct QueryCounts {
        /// Answered statements, of any class.
        pub queries: u64,
        pub rows: u64,
        pub bytes_sent: u64,
        pub bytes_received: u64,
    }

    /// Lost connections.
    #[derive(Copy, JsonSchema)]
    pub struct LinkCounts {
        /// Lost connections that were reopened.
        pub reconnects: u64,
        /// The time without them, summed.
        pub outage_s: f64,
    }
}

/// Times in microseconds; all are 0 if there are none.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Percentiles {
    pub count: u64,
    pub min: f64,
    pub mean: f64,
    pub p50: f64,
    pub p90: f64,
    pub p95: f64,
    pub p99: f64,
    pub p999: f64,
    pub max: f64,
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::outcome::Outcome;
    use serde_json::Value;

    fn properties(definition: &Value) -> Vec<&String> {
        definition["properties"]
            .as_object()
            .unwrap()
            .keys()
            .collect()
    }

    /// A statistic that is added to [`Figures`], or to the counts in it, is added to all of these.
    #[test]
    fn every_statistic_is_in_every_place_of_the_outcome_and_in_the_reference() {
        let schema = schemars::schema_for!(Outcome).to_value();
        let definitions = &schema["$defs"];
        let statistics = properties(&definitions["Figures"]);
        let counts = [
            serde_json::to_value(EventCounts::default()),
            serde_json::to_value(QueryCounts::default()),
            serde_json::to_value(LinkCounts::default()),
        ];
        for counts in counts.map(Result::unwrap) {
            let mut names = counts.as_object().unwrap().keys();
            assert!(names.all(|name| statistics.contains(&name)), "{counts}");
        }
        let parts = ["KindFigures", "NodeFigures", "ClassFigures", "HostFigures"];
        for place in ["Interval", "Slice", "Done"].iter().chain(&parts) {
            let there = properties(&definitions[place]);
            let missing = statistics.iter().filter(|name| !there.contains(name));
            assert_eq!(
                missing.collect::<Vec<_>>(),
                Vec::<&&String>::new(),
                "{place}"
            );
        }
        let reference = include_str!("../../../../../docs/reference/load-plan.md");
        let is_told = |name: &&String| reference.contains(&format!("`{name}`"));
        assert!(
            statistics.iter().all(is_told),
            "docs/reference/load-plan.md"
        );
        // An arm has all that a run has.
        assert_eq!(
            definitions["ArmFigures"]["properties"]["done"]["$ref"],
            "#/$defs/Done"
        );
    }
}

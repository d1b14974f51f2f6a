//! Reads tables and indexes once, range by range, so that the server has them in its caches.

use super::config::{WorkloadConfig, native};
use super::native::{Asker, Carries, EventEnd, EventResult, Kind, LastQuestion, QueryText, Way};
use crate::config;
use contend_engine::workload::{EventKind, Workload};
use contend_figures::outcome::{Scanned, ScannedPart};
use contend_plan::Load;
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

const PARTS_MAX: usize = 100_000;
const RANGES_MAX: u64 = 1_000_000_000;

/// Reads tables and indexes once, range by range; the next range goes to the first free connection.
/// The run ends with the last range.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Keys {
    /// The parts to read, in this order.
    parts: Vec<Part>,
    /// Number of ranges at the beginning that were read before.
    #[serde(default)]
    skip: u64,
}

/// One statement, or one per range of keys.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Part {
    /// In outcomes; consecutive parts with the same name are one there.
    name: String,
    /// Reads the part. With `keys` it ends before the lowest key of a range, such as `SELECT
    /// COUNT(*) FROM t FORCE INDEX (PRIMARY) WHERE id BETWEEN`.
    statement: String,
    /// Absent: the statement is sent unchanged.
    #[serde(default)]
    keys: Option<KeyRange>,
}

/// Whole numbers, cut into ranges of the same length.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct KeyRange {
    /// The lowest key.
    first: i64,
    /// The highest.
    last: i64,
    /// Number of ranges.
    ranges: u64,
}

impl KeyRange {
    /// The ends of one range, both of them inside.
    fn ends(self, range: u64) -> (i64, i64) {
        let start = |range: u64| {
            let keys = (i128::from(self.last) - i128::from(self.first) + 1) * i128::from(range);
            // Between `first` and one more than `last`.
            i128::from(self.first) + keys / i128::from(self.ranges.max(1))
        };
        (start(range) as i64, (start(range + 1) - 1) as i64)
    }
}

impl Part {
    fn ranges(&self) -> u64 {
        self.keys.map_or(1, |keys| keys.ranges)
    }

    fn pieces(&self) -> Vec<String> {
        match self.keys {
            Some(_) => vec![
                format!("{} ", self.statement),
                " AND ".to_owned(),
                String::new(),
            ],
            None => vec![self.statement.clone()],
        }
    }
}

impl Keys {
    fn ranges(&self) -> u64 {
        let ranges = self.parts.iter().map(Part::ranges);
        ranges.fold(0, u64::saturating_add)
    }
}

impl config::Keys for Keys {
    const KIND: &'static str = "scan";
    const WRITES: Option<bool> = Some(false);

    fn check(&self) -> Result<(), String> {
        let count = self.parts.len();
        if !(1..=PARTS_MAX).contains(&count) {
            return Err(format!(
                "workload.parts: their number: {count} is not between 1 and {PARTS_MAX}"
            ));
        }
        for (place, part) in self.parts.iter().enumerate() {
            let path = format!("workload.parts[{place}]");
            if part.statement.trim().is_empty() {
                return Err(format!("{path}.statement: it is empty"));
            }
            let Some(keys) = part.keys else {
                continue;
            };
            let most = i128::from(keys.last) - i128::from(keys.first) + 1;
            if i128::from(keys.ranges) > most || keys.ranges == 0 {
                return Err(format!(
                    "{path}.keys: {} to {} cannot be cut into {} ranges",
                    keys.first, keys.last, keys.ranges
                ));
            }
        }
        let ranges = self.ranges();
        if ranges > RANGES_MAX {
            return Err(format!(
                "workload.parts: {ranges} ranges in all; at most {RANGES_MAX} can be read"
            ));
        }
        if self.skip >= ranges {
            return Err(format!(
                "workload.skip: {} of {ranges} ranges leaves none to read",
                self.skip
            ));
        }
        Ok(())
    }
}

impl WorkloadConfig for Keys {
    fn build(&self, way: Way) -> Result<Arc<dyn Workload>, String> {
        Ok(native(Scan::new(self), way))
    }

    /// The ranges give the number of events.
    fn fit(&self, load: &mut Load) -> Result<(), String> {
        if load.events.is_some() || load.events_each.is_some() {
            return Err(
                "load.events: workload.parts determines the number of events; remove it".to_owned(),
            );
        }
        if load.hosts > 1 {
            return Err("load.hosts: a scan needs a single host".to_owned());
        }
        if load.slices.is_some() {
            return Err(
                "workload.kind: a scan reads each range once, so it cannot be used in arms"
                    .to_owned(),
            );
        }
        load.events = Some(self.ranges() - self.skip);
        Ok(())
    }
}

/// Event n reads range n of all parts, one after the other.
#[derive(Debug)]
pub struct Scan {
    parts: Vec<Part>,
    /// Number of ranges before each part, and the place of its name in `names`.
    starts: Vec<(u64, usize)>,
    names: Vec<String>,
    skip: u64,
    marks: Mutex<Marks>,
}

/// The progress of the scan.
#[derive(Debug, Default)]
struct Marks {
    /// Ranges at the beginning that are done.
    upto: u64,
    /// Later ranges that are done.
    beyond: BTreeSet<u64>,
    /// By name: ranges done, and whether the server refused one. The rest is then passed over.
    names: Vec<(u64, bool)>,
}

impl Marks {
    fn done(&mut self, range: u64, name: usize, is_refused: bool) {
        self.beyond.insert(range);
        while self.beyond.remove(&self.upto) {
            self.upto += 1;
        }
        if let Some((done, refused)) = self.names.get_mut(name) {
            *done += 1;
            *refused |= is_refused;
        }
    }
}

impl Scan {
    fn new(keys: &Keys) -> Self {
        let (mut starts, mut names) = (Vec::new(), Vec::<String>::new());
        let mut marks = Marks {
            upto: keys.skip,
            ..Marks::default()
        };
        let mut start = 0;
        for part in &keys.parts {
            if names.last() != Some(&part.name) {
                names.push(part.name.clone());
                marks.names.push((0, false));
            }
            starts.push((start, names.len() - 1));
            if let Some((done, _)) = marks.names.last_mut() {
                *done += keys.skip.saturating_sub(start).min(part.ranges());
            }
            start += part.ranges();
        }
        Self {
            parts: keys.parts.clone(),
            starts,
            names,
            skip: keys.skip,
            marks: Mutex::new(marks),
        }
    }

    fn marks(&self) -> MutexGuard<'_, Marks> {
        self.marks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The part of a range, and the range's number within it.
    fn part_of(&self, range: u64) -> (usize, u64) {
        let place = self.starts.partition_point(|(start, _)| *start <= range);
        let place = place.saturating_sub(1);
        let start = self.starts.get(place).map_or(0, |(start, _)| *start);
        (place, range - start)
    }

    /// The server refused a range of this name.
    fn is_refused(&self, name: usize) -> bool {
        let marks = self.marks();
        marks.names.get(name).is_some_and(|(_, refused)| *refused)
    }

    fn name_of(&self, place: usize) -> usize {
        self.starts.get(place).map_or(0, |(_, name)| *name)
    }
}

impl Kind for Scan {
    type Own = ();

    fn events(&self) -> Vec<EventKind> {
        EventKind::only("range", &["scan"])
    }

    fn queries(&self) -> Vec<QueryText> {
        let query = |part: &Part| QueryText {
            class: 0,
            pieces: part.pieces(),
            is_text: true,
            carries: Carries::One,
        };
        self.parts.iter().map(query).collect()
    }

    /// One that is passed over asks nothing.
    fn is_single_query(&self) -> bool {
        false
    }

    fn scanned(&self) -> Option<Scanned> {
        let marks = self.marks();
        let parts = self.names.iter().zip(&marks.names);
        Some(Scanned {
            upto: marks.upto,
            parts: parts
                .map(|(name, (done, refused))| ScannedPart {
                    name: name.clone(),
                    ranges: *done,
                    refused: *refused,
                })
                .collect(),
        })
    }

    async fn event(&self, ask: &mut Asker<Self>) -> EventResult {
        let range = self.skip + ask.with(|event, ()| event.cycle);
        let (place, number) = self.part_of(range);
        let name = self.name_of(place);
        if self.is_refused(name) {
            self.marks().done(range, name, true);
            return Ok(LastQuestion::End(EventEnd::Done));
        }
        let keys = self.parts.get(place).and_then(|part| part.keys);
        let ends = keys.map(|keys| keys.ends(number));
        let question = ask.ask(|_, values| {
            if let Some((first, last)) = ends {
                values.ints([first as u64, last as u64]);
            }
            place
        });
        let is_refused = question.summary(|said| Ok(said.is_refused())).await?;
        self.marks().done(range, name, is_refused);
        Ok(LastQuestion::End(EventEnd::Done))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::config::Keys as _;
    use crate::native::tests::{SEAT, first};
    use proptest::prelude::*;
    use serde_json::json;

    fn keys(parts: serde_json::Value, skip: u64) -> Keys {
        serde_json::from_value(json!({"parts": parts, "skip": skip})).unwrap()
    }

    fn two() -> serde_json::Value {
        json!([
            {"name": "a", "statement": "SELECT 1 FROM a WHERE id BETWEEN",
             "keys": {"first": -3, "last": 6, "ranges": 3}},
            {"name": "b", "statement": "SELECT 1 FROM `b?`"},
            {"name": "b", "statement": "SELECT 2 FROM `b?`"},
        ])
    }

    /// The query of a range, as text.
    fn asks(scan: &Arc<Scan>, cycle: u64) -> Option<String> {
        first(Arc::clone(scan), SEAT, cycle)
    }

    #[test]
    fn ranges_follow_one_another_through_all_parts() {
        let scan = Arc::new(Scan::new(&keys(two(), 0)));
        let texts: Vec<_> = (0..5).filter_map(|cycle| asks(&scan, cycle)).collect();
        assert_eq!(
            texts,
            [
                "SELECT 1 FROM a WHERE id BETWEEN -3 AND -1",
                "SELECT 1 FROM a WHERE id BETWEEN 0 AND 2",
                "SELECT 1 FROM a WHERE id BETWEEN 3 AND 6",
                "SELECT 1 FROM `b?`",
                "SELECT 2 FROM `b?`",
            ]
        );
    }

    #[test]
    fn what_was_read_before_is_skipped_and_counts_as_done() {
        let keys = keys(two(), 4);
        let scan = Arc::new(Scan::new(&keys));
        assert_eq!(asks(&scan, 0).unwrap(), "SELECT 2 FROM `b?`");
        let scanned = scan.scanned().unwrap();
        let done: Vec<_> = scanned.parts.iter().map(|part| part.ranges).collect();
        assert_eq!((scanned.upto, done), (4, vec![3, 1]));
        let plan: contend_plan::Plan = serde_json::from_value(json!({
            "version": 1, "server": {"socket": "/s"}, "workload": {"kind": "scan"},
            "load": {"connections": 2},
        }))
        .unwrap();
        let mut load = plan.load;
        keys.fit(&mut load).unwrap();
        assert_eq!(load.events, Some(1));
        assert!(keys.fit(&mut load).unwrap_err().starts_with("load.events"));
    }

    #[test]
    fn after_a_refusal_the_rest_of_that_name_is_passed_over() {
        let scan = Arc::new(Scan::new(&keys(two(), 0)));
        scan.marks().done(0, 0, true);
        assert_eq!((asks(&scan, 1), asks(&scan, 2)), (None, None));
        assert!(asks(&scan, 3).is_some());
        let scanned = scan.scanned().unwrap();
        assert_eq!(scanned.upto, 3);
        let refused: Vec<_> = scanned.parts.iter().map(|part| part.refused).collect();
        assert_eq!(refused, [true, false]);
    }

    #[test]
    fn done_is_done_up_to_the_first_that_is_not() {
        let scan = Arc::new(Scan::new(&keys(two(), 0)));
        for range in [1, 2, 4] {
            let (place, _) = scan.part_of(range);
            scan.marks().done(range, scan.name_of(place), false);
        }
        assert_eq!(scan.scanned().unwrap().upto, 0);
        scan.marks().done(0, 0, false);
        assert_eq!(scan.scanned().unwrap().upto, 3);
    }

    #[test]
    fn what_leaves_nothing_to_read_is_refused() {
        let refusal = |parts, skip| keys(parts, skip).check().unwrap_err();
        assert!(refusal(json!([]), 0).starts_with("workload.parts: their number: 0"));
        assert!(refusal(two(), 5).starts_with("workload.skip: 5 of 5 ranges"));
        let cut = |first: i64, last: i64, ranges: u64| {
            json!([{"name": "a", "statement": "SELECT",
                    "keys": {"first": first, "last": last, "ranges": ranges}}])
        };
        for (first, last, ranges) in [(1, 3, 4), (1, 3, 0), (3, 1, 1)] {
            let words = refusal(cut(first, last, ranges), 0);
            assert!(words.starts_with("workload.parts[0].keys: "), "{words}");
        }
        let words = refusal(cut(i64::MIN, i64::MAX, u64::MAX), 0);
        assert!(words.contains("at most 1000000000"), "{words}");
        let empty = json!([{"name": "a", "statement": " "}]);
        assert!(refusal(empty, 0).starts_with("workload.parts[0].statement"));
    }

    proptest! {
        #[test]
        fn ranges_leave_no_key_out_and_have_none_twice(
            (first, last) in (any::<i64>(), any::<i64>()).prop_map(|(a, b)| (a.min(b), a.max(b))),
            ranges in 1u64..50,
        ) {
            let width = (i128::from(last) - i128::from(first) + 1).min(50) as u64;
            let keys = KeyRange { first, last, ranges: ranges.min(width) };
            let mut next = i128::from(first);
            for range in 0..keys.ranges {
                let (low, high) = keys.ends(range);
                prop_assert_eq!(i128::from(low), next);
                prop_assert!(high >= low);
                next = i128::from(high) + 1;
            }
            prop_assert_eq!(next, i128::from(last) + 1);
        }
    }
}

//! What the model server's queries cost besides what they do, by name: for each a truth is known.
//!
//! The meaning, default and range of each stand here alone: command lines are read and checked by
//! them, and `contend-load schema model` prints them for everybody else.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// All knobs. By default all are off.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Knobs {
    /// Work with a segment's lock held, once per request of a page; nanoseconds of CPU time.
    #[schemars(range(max = 1_000_000_000))]
    pub under_lock_ns: u64,
    /// Work between a page request's two visits to its segment; nanoseconds of CPU time.
    #[schemars(range(max = 1_000_000_000))]
    pub outside_lock_ns: u64,
    /// Where the key cache gets a page from after a miss.
    pub miss: PagesFrom,
    /// An additional sleep per miss; nanoseconds.
    #[schemars(range(max = 1_000_000_000))]
    pub miss_ns: u64,
    /// Work under one lock for all queries, once per query; nanoseconds of CPU time.
    #[schemars(range(max = 1_000_000_000))]
    pub second_lock_ns: u64,
    /// Work under the lock of one row, the middle one, each time it is read; nanoseconds of CPU
    /// time.
    #[schemars(range(max = 1_000_000_000))]
    pub row_lock_ns: u64,
    /// A sleep before each answer; microseconds.
    #[schemars(range(max = 60_000_000))]
    pub delay_us: u64,
    /// Whether locks and control blocks of segments share cache lines.
    pub padding: Padding,
    /// The CPU time of a query is 1/speed of that at 1. Compare with speed 1, not without this
    /// knob: without it no clocks are read and no work is added.
    #[schemars(range(min = 1.0, max = 1.1))]
    pub speed: Option<f64>,
    /// Interval at which all queries stall, for stall_ms; seconds, 0: never.
    #[schemars(range(min = 0.0, max = 86_400.0))]
    pub stall_every_s: f64,
    /// Length of a stall; milliseconds.
    #[schemars(range(min = 0.0, max = 60_000.0))]
    pub stall_ms: f64,
    /// Work added to each query per second since the start; nanoseconds of CPU time.
    #[schemars(range(min = 0.0, max = 1_000_000_000.0))]
    pub leak_ns_per_s: f64,
    /// The kind of the locks.
    pub lock: LockKind,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PagesFrom {
    /// It is computed.
    #[default]
    Computed,
    /// It is read from a file.
    Read,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Padding {
    /// Each has its own cache lines.
    #[default]
    Apart,
    /// They share cache lines.
    Shared,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LockKind {
    /// pthread's adaptive mutex: it spins before it sleeps. MariaDB's key cache has this.
    #[default]
    Adaptive,
    /// pthread's normal mutex.
    Normal,
    /// The standard library's.
    Std,
    /// That of the crate parking_lot.
    ParkingLot,
    /// Passed to the thread that has waited longest.
    Fair,
}

impl Knobs {
    /// Turns a knob.
    ///
    /// # Errors
    /// There is no knob of that name, or it cannot have that value; in words for the user.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        // A word is a text; `null` takes a knob back that by default is not there.
        let value = serde_json::from_str(value).unwrap_or_else(|_| Value::from(value));
        let wrong = |words: &str| format!("knob {name}={value}: {words}");
        if let Some(words) = out_of_range(name, &value) {
            return Err(wrong(&words));
        }
        let mut all = self.told();
        all.insert(name.to_owned(), value.clone());
        *self = serde_json::from_value(all.into()).map_err(|error| wrong(&error.to_string()))?;
        Ok(())
    }

    /// All of them by name.
    pub fn told(&self) -> Map<String, Value> {
        match serde_json::to_value(self) {
            Ok(Value::Object(told)) => told,
            // A struct is an object.
            _ => Map::new(),
        }
    }
}

/// Why a number cannot be, if it is out of the range that the schema states.
fn out_of_range(name: &str, value: &Value) -> Option<String> {
    let schema = schemars::schema_for!(Knobs);
    let property = schema.get("properties")?.get(name)?;
    let bound = |bound: &str| property.get(bound).and_then(Value::as_f64);
    let (least, most) = (bound("minimum").unwrap_or(0.0), bound("maximum")?);
    let number = value.as_f64()?;
    (number < least || number > most).then(|| format!("use {least} to {most}"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn knobs_are_turned_by_name_and_what_cannot_be_is_refused_in_words() {
        let mut knobs = Knobs::default();
        for (name, value) in [
            ("under_lock_ns", "250"),
            ("lock", "parking_lot"),
            ("padding", "shared"),
            ("speed", "1.05"),
            ("miss", "read"),
            ("miss_ns", "0"),
            ("stall_ms", "20"),
        ] {
            knobs.set(name, value).unwrap();
        }
        let turned = Knobs {
            under_lock_ns: 250,
            lock: LockKind::ParkingLot,
            padding: Padding::Shared,
            speed: Some(1.05),
            miss: PagesFrom::Read,
            stall_ms: 20.0,
            ..Knobs::default()
        };
        assert_eq!(knobs, turned);
        for (name, value, words) in [
            (
                "under_lock",
                "1",
                "unknown field `under_lock`, expected one of `under_lock_ns`",
            ),
            ("under_lock_ns", "-1", "use 0 to 1000000000"),
            ("under_lock_ns", "much", "invalid type"),
            ("speed", "1.2", "use 1 to 1.1"),
            ("speed", "0.9", "use 1 to 1.1"),
            ("lock", "none", "unknown variant `none`"),
        ] {
            let refused = knobs.set(name, value).unwrap_err();
            assert!(refused.contains(words), "{refused}");
        }
        assert_eq!(knobs, turned);
    }
}

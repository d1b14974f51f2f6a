//! What the model server's queries cost besides what they do, by name: for each a truth is known.

use std::time::Duration;

/// All knobs. By default none of them is turned.
#[derive(Clone, Debug, PartialEq)]
pub struct Knobs {
    /// Work with a segment's lock held, for each request of a page; nanoseconds, spun.
    pub under_lock_ns: u64,
    /// Work between the two locks of a request, while the page is copied; nanoseconds, spun.
    pub outside_lock_ns: u64,
    /// What reading a page into the cache costs.
    pub miss: MissCost,
    /// Work under a second lock that every query takes once; nanoseconds, spun.
    pub second_lock_ns: u64,
    /// Work under the lock of the row that is read; nanoseconds, spun.
    pub row_lock_ns: u64,
    /// A delay before each answer; microseconds, slept.
    pub delay_us: u64,
    pub padding: Padding,
    /// A factor of the speed: all work that is spun on purpose takes less or more.
    pub speed: f64,
    /// All queries stand still for `stall_ms`, once every `stall_every_s`; 0: never.
    pub stall_every_s: f64,
    pub stall_ms: f64,
    /// Each second adds so much work to each query; nanoseconds, spun.
    pub leak_ns_per_s: f64,
    pub lock: LockKind,
    /// So many threads serve all connections; none: a thread for each connection.
    pub pool: Option<u32>,
}

/// What a miss costs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MissCost {
    /// The page is computed, and that is all.
    #[default]
    Nothing,
    /// Besides, the thread sleeps so long.
    Slept(Duration),
    /// The page is read from a file.
    Read,
}

/// Whether control blocks of segments share cache lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Padding {
    /// Each has lines of its own.
    #[default]
    Apart,
    /// They lie side by side.
    Shared,
}

/// The kind of a segment's lock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LockKind {
    /// pthread's adaptive mutex: it spins before it sleeps. MariaDB's key cache has this.
    #[default]
    Adaptive,
    /// pthread's normal mutex.
    Normal,
    /// The standard library's.
    Std,
    ParkingLot,
    /// Handed over to the thread that has waited longest.
    Fair,
}

impl Default for Knobs {
    fn default() -> Self {
        Self {
            under_lock_ns: 0,
            outside_lock_ns: 0,
            miss: MissCost::Nothing,
            second_lock_ns: 0,
            row_lock_ns: 0,
            delay_us: 0,
            padding: Padding::Apart,
            speed: 1.0,
            stall_every_s: 0.0,
            stall_ms: 0.0,
            leak_ns_per_s: 0.0,
            lock: LockKind::Adaptive,
            pool: None,
        }
    }
}

/// The longest that one piece of work may be asked to take.
const WORK_NS_MAX: u64 = 1_000_000_000;

impl Knobs {
    pub const NAMES: [&str; 14] = [
        "under_lock_ns",
        "outside_lock_ns",
        "miss_ns",
        "miss",
        "second_lock_ns",
        "row_lock_ns",
        "delay_us",
        "padding",
        "speed",
        "stall_every_s",
        "stall_ms",
        "leak_ns_per_s",
        "lock",
        "pool",
    ];

    /// Turns a knob.
    ///
    /// # Errors
    /// There is no knob of that name, or it cannot have that value; in words for the user.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        match name {
            "under_lock_ns" => self.under_lock_ns = whole(name, value, 0, WORK_NS_MAX)?,
            "outside_lock_ns" => self.outside_lock_ns = whole(name, value, 0, WORK_NS_MAX)?,
            "miss_ns" => {
                let ns = whole(name, value, 0, WORK_NS_MAX)?;
                self.miss = match ns {
                    0 => MissCost::Nothing,
                    ns => MissCost::Slept(Duration::from_nanos(ns)),
                };
            }
            "miss" => self.miss = one_of(name, value, &[("read", MissCost::Read)])?,
            "second_lock_ns" => self.second_lock_ns = whole(name, value, 0, WORK_NS_MAX)?,
            "row_lock_ns" => self.row_lock_ns = whole(name, value, 0, WORK_NS_MAX)?,
            "delay_us" => self.delay_us = whole(name, value, 0, 60_000_000)?,
            "padding" => {
                let choices = [("apart", Padding::Apart), ("shared", Padding::Shared)];
                self.padding = one_of(name, value, &choices)?;
            }
            "speed" => self.speed = number(name, value, 1.0, 1.1)?,
            "stall_every_s" => self.stall_every_s = number(name, value, 0.0, 86_400.0)?,
            "stall_ms" => self.stall_ms = number(name, value, 0.0, 60_000.0)?,
            "leak_ns_per_s" => self.leak_ns_per_s = number(name, value, 0.0, 1e9)?,
            "lock" => {
                let choices = [
                    ("adaptive", LockKind::Adaptive),
                    ("normal", LockKind::Normal),
                    ("std", LockKind::Std),
                    ("parking_lot", LockKind::ParkingLot),
                    ("fair", LockKind::Fair),
                ];
                self.lock = one_of(name, value, &choices)?;
            }
            "pool" => self.pool = Some(whole(name, value, 1, 10_000)?),
            _ => {
                let names = Self::NAMES.join(", ");
                return Err(format!("there is no knob {name:?}; there are {names}"));
            }
        }
        Ok(())
    }
}

fn whole<T: TryFrom<u64>>(name: &str, value: &str, low: u64, high: u64) -> Result<T, String> {
    let asked = value.parse().ok().filter(|n| (low..=high).contains(n));
    let asked = asked.and_then(|n| T::try_from(n).ok());
    asked.ok_or_else(|| format!("knob {name}={value}: a whole number from {low} to {high}"))
}

fn number(name: &str, value: &str, low: f64, high: f64) -> Result<f64, String> {
    let asked = value.parse().ok().filter(|n| (low..=high).contains(n));
    asked.ok_or_else(|| format!("knob {name}={value}: a number from {low} to {high}"))
}

fn one_of<T: Copy>(name: &str, value: &str, choices: &[(&str, T)]) -> Result<T, String> {
    let chosen = choices.iter().find(|(word, _)| *word == value);
    let names = || {
        choices
            .iter()
            .map(|(word, _)| *word)
            .collect::<Vec<_>>()
            .join(", ")
    };
    chosen
        .map(|(_, choice)| *choice)
        .ok_or_else(|| format!("knob {name}={value}: one of {}", names()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn every_knob_can_be_turned_by_its_name() {
        for name in Knobs::NAMES {
            let value = match name {
                "miss" => "read",
                "padding" => "shared",
                "speed" => "1.05",
                "lock" => "fair",
                _ => "7",
            };
            let mut knobs = Knobs::default();
            knobs.set(name, value).unwrap();
            assert_ne!(knobs, Knobs::default(), "{name}");
        }
    }

    #[test]
    fn what_cannot_be_is_refused_with_what_can() {
        let refused = |name, value| Knobs::default().set(name, value).unwrap_err();
        assert!(refused("miss_us", "1").contains("no knob \"miss_us\"; there are under_lock_ns,"));
        assert_eq!(
            refused("pool", "0"),
            "knob pool=0: a whole number from 1 to 10000"
        );
        assert_eq!(
            refused("speed", "2"),
            "knob speed=2: a number from 1 to 1.1"
        );
        assert!(refused("speed", "NaN").contains("a number from"));
        assert_eq!(
            refused("padding", "none"),
            "knob padding=none: one of apart, shared"
        );
    }
}

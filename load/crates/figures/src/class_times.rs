//! The times of the queries of one statement class, as recorded here or as reported by a host.
//!
//! A histogram has a quarter of a megabyte, and a run of 60 classes on 100 hosts has some twelve
//! thousand of them. Creating each one takes longer than all the rest of the addition. So a host's
//! report stays a short list, and is added to an existing histogram.

use super::Latency;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::de::Error as _;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// Written as pairs of numbers: by how many ns a time is longer than the one before, and how many
/// queries took it. A number is written as bytes of seven bits, the lowest first; the eighth bit
/// says that more follow. The bytes are written as base64.
#[derive(Clone, Debug, Default)]
pub enum ClassTimes {
    /// The workload has one class and every query is an event: the response times are then the query
    /// times, and recording them twice would only cost time.
    #[default]
    Absent,
    Recorded(Box<Latency>),
    Told(Vec<(u64, u64)>),
}

impl ClassTimes {
    /// No times yet.
    pub fn recorded() -> Self {
        Self::Recorded(Box::default())
    }

    /// None if they are absent.
    pub fn latency(&self) -> Option<Cow<'_, Latency>> {
        match self {
            Self::Absent => None,
            Self::Recorded(latency) => Some(Cow::Borrowed(latency)),
            Self::Told(pairs) => {
                let mut latency = Latency::new();
                add_told(&mut latency, pairs);
                Some(Cow::Owned(latency))
            }
        }
    }

    /// Adds the times of a different worker, interval or host, if there are any.
    pub fn merge(&mut self, other: &Self) {
        let add: &dyn Fn(&mut Latency) = match other {
            Self::Absent => return,
            Self::Recorded(latency) => &|sum| sum.merge(latency),
            Self::Told(pairs) => &|sum| add_told(sum, pairs),
        };
        let mut sum = match std::mem::take(self) {
            Self::Recorded(sum) => sum,
            told => Box::new(told.latency().map(Cow::into_owned).unwrap_or_default()),
        };
        add(&mut sum);
        *self = Self::Recorded(sum);
    }

    /// Forgets all times and keeps the memory.
    pub fn clear(&mut self) {
        match self {
            Self::Absent => {}
            Self::Recorded(latency) => latency.clear(),
            Self::Told(pairs) => pairs.clear(),
        }
    }
}

fn add_told(sum: &mut Latency, pairs: &[(u64, u64)]) {
    let mut time_ns = 0_u64;
    for &(longer_by_ns, count) in pairs {
        time_ns = time_ns.saturating_add(longer_by_ns);
        sum.record_many_ns(time_ns, count);
    }
}

impl PartialEq for ClassTimes {
    fn eq(&self, other: &Self) -> bool {
        self.latency() == other.latency()
    }
}

impl Serialize for ClassTimes {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Absent => serializer.serialize_none(),
            Self::Told(pairs) => serializer.serialize_str(&encode(pairs)),
            Self::Recorded(latency) => {
                let (mut pairs, mut before_ns) = (Vec::new(), 0);
                latency.each(|time_ns, count| {
                    pairs.push((time_ns - before_ns, count));
                    before_ns = time_ns;
                });
                serializer.serialize_str(&encode(&pairs))
            }
        }
    }
}

impl<'de> Deserialize<'de> for ClassTimes {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Some(text) = Option::<Cow<'_, str>>::deserialize(deserializer)? else {
            return Ok(Self::Absent);
        };
        let pairs = decode(&text).ok_or_else(|| D::Error::custom("no times of a class"))?;
        Ok(Self::Told(pairs))
    }
}

fn encode(pairs: &[(u64, u64)]) -> String {
    let mut bytes = Vec::new();
    for mut number in pairs.iter().flat_map(|&(time, count)| [time, count]) {
        while number > 0x7f {
            bytes.push(number as u8 | 0x80);
            number >>= 7;
        }
        bytes.push(number as u8);
    }
    STANDARD.encode(bytes)
}

/// Reads the text of [`encode`]; none if it is something else.
fn decode(text: &str) -> Option<Vec<(u64, u64)>> {
    let bytes = STANDARD.decode(text).ok()?;
    let mut bytes = bytes.iter().copied();
    let mut pairs = Vec::new();
    while let Some(first) = bytes.next() {
        let time = decode_number(first, &mut bytes)?;
        let next = bytes.next()?;
        pairs.push((time, decode_number(next, &mut bytes)?));
    }
    Some(pairs)
}

fn decode_number(first: u8, more: &mut impl Iterator<Item = u8>) -> Option<u64> {
    let (mut number, mut byte, mut shift) = (u64::from(first & 0x7f), first, 7);
    while byte > 0x7f {
        byte = more.next()?;
        let bits = u64::from(byte & 0x7f);
        // What does not fit in 64 bits was not written by us.
        number |= bits
            .checked_shl(shift)
            .filter(|moved| moved >> shift == bits)?;
        shift += 7;
    }
    Some(number)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    fn of(times: &[u64]) -> ClassTimes {
        let mut latency = Latency::new();
        times.iter().for_each(|time| latency.record_ns(*time));
        ClassTimes::Recorded(Box::new(latency))
    }

    fn told(times: &ClassTimes) -> ClassTimes {
        serde_json::from_str(&serde_json::to_string(times).unwrap()).unwrap()
    }

    #[test]
    fn a_class_without_times_stays_one() {
        assert_eq!(told(&ClassTimes::Absent), ClassTimes::Absent);
        assert_ne!(told(&of(&[])), ClassTimes::Absent);
    }

    #[test]
    fn no_pair_of_a_line_is_too_large() {
        let most = ClassTimes::Told(vec![(u64::MAX, u64::MAX); 2]);
        let mut sum = of(&[5]);
        sum.merge(&told(&most));
        assert_eq!(sum.latency().unwrap().count(), u64::MAX);
    }

    #[test]
    fn what_we_did_not_write_is_refused() {
        // Half a pair, a number without its end, one of more than 64 bits, no base64, no text.
        let bytes: [&[u8]; 3] = [
            &[1],
            &[1, 0x80],
            &[1, 255, 255, 255, 255, 255, 255, 255, 255, 255, 2],
        ];
        let texts = bytes.map(|bytes| format!("\"{}\"", STANDARD.encode(bytes)));
        for line in texts.iter().map(String::as_str).chain(["\"?\"", "[[1,1]]"]) {
            assert!(serde_json::from_str::<ClassTimes>(line).is_err(), "{line}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn told_times_add_up_as_recorded_ones_do(
            a in proptest::collection::vec(0u64..4_000_000_000_000, 0..50),
            b in proptest::collection::vec(0u64..4_000_000_000_000, 0..50),
        ) {
            let whole = of(&[a.clone(), b.clone()].concat());
            for mut sum in [of(&a), told(&of(&a)), told(&told(&of(&a)))] {
                sum.merge(&told(&of(&b)));
                prop_assert_eq!(&sum, &whole);
                let times = (sum.latency().unwrap(), whole.latency().unwrap());
                prop_assert_eq!(times.0.percentiles_us(), times.1.percentiles_us());
            }
        }
    }
}

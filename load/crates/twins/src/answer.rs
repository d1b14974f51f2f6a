//! The rows of an answer as two numbers: how many, and a sum that does not depend on their order.

use contend_wire::mysql::ResultRows;
use contend_wire::{Capabilities, Value, WireError};

/// Bytes of an answer that are kept and read only after its end, outside its time.
const KEPT_BYTES: usize = 4 << 20;
const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
/// In place of a length.
const NULL: u64 = u64::MAX;

/// Reads an answer as it comes.
pub struct AnswerDigest {
    rows: ResultRows,
    kept: Vec<u8>,
    pub count: u64,
    pub sum: u64,
}

impl AnswerDigest {
    pub fn new(capabilities: Capabilities) -> Self {
        Self {
            rows: ResultRows::new(&[], capabilities),
            kept: Vec::new(),
            count: 0,
            sum: 0,
        }
    }

    /// Takes a part of the answer. A long answer is read on the way.
    ///
    /// # Errors
    /// The server breaks the protocol.
    pub fn take(&mut self, piece: &[u8]) -> Result<(), WireError> {
        self.kept.extend_from_slice(piece);
        match self.kept.len() > KEPT_BYTES {
            true => self.read(),
            false => Ok(()),
        }
    }

    /// Reads the bytes that were kept.
    ///
    /// # Errors
    /// Like [`Self::take`].
    pub fn read(&mut self) -> Result<(), WireError> {
        self.rows.feed(&self.kept);
        self.kept.clear();
        loop {
            let mut hash = ODD;
            while self.rows.next_row(|value| hash = of_value(hash, value))? {
                self.count += 1;
                self.sum = self.sum.wrapping_add(mix(hash, ODD));
                hash = ODD;
            }
            if !self.rows.next_result()? {
                return Ok(());
            }
        }
    }
}

fn of_value(hash: u64, value: Value<'_>) -> u64 {
    // In text, all values are bytes.
    let Value::Bytes(bytes) = value else {
        return mix(hash, NULL);
    };
    let (parts, rest) = bytes.as_chunks();
    let mut last = [0; 8];
    last.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
    let hash = mix(hash, bytes.len() as u64);
    let parts = parts.iter().chain([&last]);
    parts.fold(hash, |hash, part| mix(hash, u64::from_le_bytes(*part)))
}

fn mix(hash: u64, part: u64) -> u64 {
    let product = u128::from(hash ^ part) * u128::from(ODD);
    // The sum keeps a product of 0 from swallowing what follows.
    (product as u64 ^ (product >> 64) as u64).wrapping_add(ODD)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// Count and sum of these rows, in pieces of this length.
    fn of(rows: &[&[u8]], piece: usize) -> (u64, u64) {
        let mut packets = vec![&b"\x02"[..], b"\x03def", b"\x03def", b"\xfe\0\0\x02\0"];
        packets.extend(rows);
        packets.push(b"\xfe\0\0\x02\0");
        let mut bytes = Vec::new();
        for (place, packet) in packets.iter().enumerate() {
            bytes.extend_from_slice(&[packet.len() as u8, 0, 0, place as u8 + 1]);
            bytes.extend_from_slice(packet);
        }
        let mut digest = AnswerDigest::new(Capabilities::NONE);
        bytes
            .chunks(piece)
            .for_each(|piece| digest.take(piece).unwrap());
        digest.read().unwrap();
        (digest.count, digest.sum)
    }

    #[test]
    fn the_order_of_rows_does_not_matter_and_all_else_does() {
        let whole = of(&[b"\x011\xfb", b"\x02ab\0"], 1000);
        assert_eq!(whole.0, 2);
        assert_eq!(of(&[b"\x02ab\0", b"\x011\xfb"], 3), whole);
        for other in [
            // An empty text is not NULL, a value has its column, and rows count.
            &[&b"\x011\0"[..], b"\x02ab\0"][..],
            &[b"\xfb\x011", b"\x02ab\0"],
            &[b"\x011\xfb", b"\x01a\x01b"],
            &[b"\x011\xfb"],
            &[b"\x011\xfb", b"\x02ab\0", b"\x02ab\0"],
        ] {
            assert_ne!(of(other, 1000), whole, "{other:?}");
        }
    }
}

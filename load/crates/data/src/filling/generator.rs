//! Makes rows on a separate thread, so that they are ready when the server needs them.
//!
//! A few buffers go round: full ones to the sender, empty ones back. Their number limits the
//! memory, and how far the generator can be ahead of the sender.

use crate::Content;
use std::ops::Range;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::Scope;

/// Size of a part: small enough to stay in the processor's cache until it is sent.
const PART_BYTES: usize = 256 * 1024;
/// Number of buffers that go round.
const PARTS: usize = 4;

/// Some rows, as the server reads them.
#[derive(Debug, Default)]
pub struct RowBatch {
    pub text: Vec<u8>,
    pub rows: u64,
    pub checksum: u64,
}

/// The parts of one table, in order.
pub struct Parts {
    full: Receiver<RowBatch>,
    empty: SyncSender<Vec<u8>>,
}

impl Parts {
    /// Starts to make the rows of a range of numbers. The thread ends with the last row, or when
    /// the parts are dropped.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub fn begin<'scope>(
        content: &'scope dyn Content,
        numbers: Range<u64>,
        scope: &'scope Scope<'scope, '_>,
    ) -> std::io::Result<Self> {
        let (full_in, full) = sync_channel(PARTS);
        let (empty, empty_out) = sync_channel(PARTS);
        for _ in 0..PARTS {
            // There is room for all of them.
            let _ = empty.send(Vec::with_capacity(PART_BYTES));
        }
        std::thread::Builder::new()
            .name("rows".to_owned())
            .spawn_scoped(scope, move || {
                generate(content, numbers, &full_in, &empty_out)
            })?;
        Ok(Self { full, empty })
    }

    /// The next rows; none after the last.
    pub fn next_part(&mut self) -> Option<RowBatch> {
        self.full.recv().ok()
    }

    /// Gives a buffer back.
    pub fn recycle(&mut self, text: Vec<u8>) {
        // After the last row the generator has ended and takes no buffer back.
        let _ = self.empty.send(text);
    }
}

fn generate(
    content: &dyn Content,
    numbers: Range<u64>,
    full: &SyncSender<RowBatch>,
    empty: &Receiver<Vec<u8>>,
) {
    let step = (PART_BYTES / content.bytes_max()).max(1) as u64;
    let mut first = numbers.start;
    while first < numbers.end {
        let Ok(mut text) = empty.recv() else {
            return;
        };
        text.clear();
        let end = first.saturating_add(step).min(numbers.end);
        let appended = content.append(&mut text, first..end);
        let part = RowBatch {
            text,
            rows: appended.rows,
            checksum: appended.checksum,
        };
        first = end;
        if full.send(part).is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::{KeyColumn, Rows};

    #[test]
    fn parts_are_the_table_in_order() {
        let rows = Rows::new(5, 10_000, &KeyColumn::RowNumber);
        let mut whole = Vec::new();
        let whole_sum = rows.append(&mut whole, 1..10_001).checksum;
        let (mut joined, mut sum, mut count, mut parts_seen) = (Vec::new(), 0u64, 0, 0);
        std::thread::scope(|scope| {
            let mut parts = Parts::begin(&rows, rows.numbers(), scope).unwrap();
            while let Some(part) = parts.next_part() {
                joined.extend_from_slice(&part.text);
                sum = sum.wrapping_add(part.checksum);
                count += part.rows;
                parts_seen += 1;
                assert!(part.text.len() <= PART_BYTES);
                parts.recycle(part.text);
            }
        });
        assert_eq!(joined, whole);
        assert_eq!((sum, count), (whole_sum, 10_000));
        assert!(parts_seen > PARTS);
    }

    #[test]
    fn who_stops_early_is_not_waited_for() {
        let rows = Rows::new(5, u64::MAX, &KeyColumn::RowNumber);
        std::thread::scope(|scope| {
            let mut parts = Parts::begin(&rows, rows.numbers(), scope).unwrap();
            assert!(parts.next_part().is_some());
        });
    }

    #[test]
    fn an_empty_table_has_no_parts() {
        let rows = Rows::new(5, 0, &KeyColumn::RowNumber);
        std::thread::scope(|scope| {
            assert!(
                Parts::begin(&rows, rows.numbers(), scope)
                    .unwrap()
                    .next_part()
                    .is_none()
            );
        });
    }
}

//! One direction of a connection: bytes on their way, each with the time at which it arrives.

use contend_figures::Latency;
use contend_reactor::clock::now_ns;
use std::collections::VecDeque;
use std::io;

/// A direction that holds this number of bytes takes no more until some have left. A sender that
/// fills a faster network than its receiver reads would otherwise fill the memory of this host.
const HELD_BYTES_MAX: usize = 4 << 20;

/// Emptied buffers that are kept for the next bytes.
const SPARE_MAX: usize = 256;

/// Bytes under way, in the order in which they came.
#[derive(Debug, Default)]
pub struct Pipe {
    chunks: VecDeque<Chunk>,
    held_bytes: usize,
}

/// What one read gave. Without bytes it is the end of the stream.
#[derive(Debug)]
struct Chunk {
    due_ns: u64,
    bytes: Vec<u8>,
    sent: usize,
}

/// The state of a pipe after a release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Released {
    /// All that was due has left.
    Due,
    /// The receiver takes no more for now.
    Stuck,
    /// The end of the stream was due.
    End,
}

impl Pipe {
    /// Takes bytes that are due at this time; none end the stream. Times never go back.
    pub fn put(&mut self, due_ns: u64, bytes: Vec<u8>) {
        self.held_bytes += bytes.len();
        self.chunks.push_back(Chunk {
            due_ns,
            bytes,
            sent: 0,
        });
    }

    pub fn is_full(&self) -> bool {
        self.held_bytes >= HELD_BYTES_MAX
    }

    /// Hands the due bytes to `send`, which returns how many it took. Notes in `passed` how late
    /// each chunk was when the first of its bytes left.
    ///
    /// # Errors
    /// Those of `send`.
    pub fn release(
        &mut self,
        passed: &mut Passed,
        spare: &mut Spare,
        mut send: impl FnMut(&[u8]) -> io::Result<usize>,
    ) -> io::Result<Released> {
        while let Some(chunk) = self.chunks.front_mut() {
            let now_ns = now_ns();
            if chunk.due_ns > now_ns {
                break;
            }
            let Some(unsent) = chunk.bytes.get(chunk.sent..).filter(|b| !b.is_empty()) else {
                return Ok(Released::End);
            };
            let taken = match send(unsent) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => 0,
                taken => taken?,
            };
            if chunk.sent == 0 && taken > 0 {
                passed.late.record_ns(now_ns - chunk.due_ns);
            }
            chunk.sent += taken;
            passed.bytes += taken as u64;
            self.held_bytes -= taken;
            if chunk.sent < chunk.bytes.len() {
                return Ok(Released::Stuck);
            }
            if let Some(chunk) = self.chunks.pop_front() {
                spare.give_back(chunk.bytes);
            }
        }
        Ok(Released::Due)
    }
}

/// What went through.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Passed {
    pub bytes: u64,
    /// How much later than due bytes left.
    pub late: Latency,
}

/// Buffers that were used before.
#[derive(Debug, Default)]
pub struct Spare(Vec<Vec<u8>>);

impl Spare {
    pub fn copy_of(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut copy = self.0.pop().unwrap_or_default();
        copy.extend_from_slice(bytes);
        copy
    }

    fn give_back(&mut self, mut bytes: Vec<u8>) {
        if self.0.len() < SPARE_MAX {
            bytes.clear();
            self.0.push(bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    const FAR_AWAY_NS: u64 = u64::MAX;

    fn pipe_of(chunks: &[&[u8]]) -> Pipe {
        let mut pipe = Pipe::default();
        chunks.iter().for_each(|bytes| pipe.put(1, bytes.to_vec()));
        pipe
    }

    #[test]
    fn what_is_not_due_stays_and_keeps_its_place() {
        let mut pipe = pipe_of(&[b"now"]);
        pipe.put(FAR_AWAY_NS, b"later".to_vec());
        let (mut passed, mut got) = (Passed::default(), Vec::new());
        let released = pipe.release(&mut passed, &mut Spare::default(), |bytes| {
            got.extend_from_slice(bytes);
            Ok(bytes.len())
        });
        assert_eq!((released.unwrap(), &*got), (Released::Due, &b"now"[..]));
        assert_eq!((passed.bytes, passed.late.count()), (3, 1));
        assert_eq!(pipe.held_bytes, 5);
    }

    #[test]
    fn the_end_comes_behind_the_bytes() {
        let mut pipe = pipe_of(&[b"x", b""]);
        let mut got = 0;
        let released = pipe.release(&mut Passed::default(), &mut Spare::default(), |bytes| {
            got += bytes.len();
            Ok(bytes.len())
        });
        assert_eq!((released.unwrap(), got), (Released::End, 1));
    }

    #[test]
    fn a_pipe_that_nobody_empties_is_full() {
        let mut pipe = pipe_of(&[&[0; HELD_BYTES_MAX - 1]]);
        assert!(!pipe.is_full());
        pipe.put(1, vec![0]);
        assert!(pipe.is_full());
    }

    proptest! {
        /// A receiver gets the same bytes in the same order, in pieces of any size.
        #[test]
        fn bytes_and_their_order_stay(
            chunks in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 1..40), 0..8),
            takes in proptest::collection::vec(0usize..30, 1..60),
        ) {
            let mut pipe = Pipe::default();
            let (mut passed, mut spare) = (Passed::default(), Spare::default());
            let mut got = Vec::new();
            for chunk in &chunks {
                pipe.put(1, spare.copy_of(chunk));
            }
            for take in takes {
                let mut left = take;
                let released = pipe.release(&mut passed, &mut spare, |bytes| {
                    let taken = left.min(bytes.len());
                    left -= taken;
                    got.extend_from_slice(bytes.get(..taken).unwrap_or_default());
                    Ok(taken)
                });
                let is_all = got.len() == chunks.concat().len();
                let expected = if is_all { Released::Due } else { Released::Stuck };
                prop_assert_eq!(released.unwrap(), expected);
            }
            prop_assert_eq!(passed.bytes as usize, got.len());
            let all = chunks.concat();
            prop_assert_eq!(Some(&*got), all.get(..got.len()));
        }
    }
}

//! The compressed protocol: packets travel in compressed packets of their own numbering.
//!
//! Header: compressed length (3), sequence number (1), length before compression (3), which is zero
//! where the content was not compressed.

use super::codec::Algorithm;
use crate::error::WireError;
use crate::mysql::frame::{first_command_bytes, wrong_sequence};

const HEADER_BYTES: usize = 7;
/// Shorter contents are not compressed; the servers do the same.
const WORTH_BYTES: usize = 50;
/// Content of one compressed packet of ours. The protocol allows 16 MB; this keeps buffers small.
const CONTENT_MAX: usize = 1 << 20;

/// Room that a connection keeps when nothing is torn.
const KEPT_BYTES: usize = 32 * 1024;

#[derive(Debug)]
pub(super) struct CompressionLayer {
    algorithm: Algorithm,
    /// The number of the next compressed packet, ours or theirs.
    sequence: u8,
    /// Answers that may still begin, if several commands were sent at once.
    beginnings: usize,
    /// Numbers that they may begin with: an answer goes on with its command's numbers.
    begin_at: Vec<u8>,
    incoming: Vec<u8>,
    /// Bytes of `incoming` that were read.
    start: usize,
}

/// A compressed packet that arrived.
struct Waiting<'i> {
    content: &'i [u8],
    /// Length before compression; zero: it was not compressed.
    claimed: usize,
    sequence: u8,
    /// Where it ends in `incoming`.
    end: usize,
}

impl CompressionLayer {
    pub fn new(algorithm: Algorithm) -> Self {
        Self {
            algorithm,
            sequence: 0,
            beginnings: 0,
            begin_at: Vec::new(),
            incoming: Vec::new(),
            start: 0,
        }
    }

    /// Takes bytes of the stream of compressed packets.
    pub fn feed(&mut self, bytes: &[u8]) {
        if self.start == self.incoming.len() {
            self.incoming.clear();
            // Thousands of connections share the machine's memory.
            self.incoming.shrink_to(KEPT_BYTES);
        } else {
            self.incoming.drain(..self.start);
        }
        self.start = 0;
        self.incoming.extend_from_slice(bytes);
    }

    /// Appends the content of one compressed packet. True: a further one waits.
    pub fn open(&mut self, packets: &mut Vec<u8>) -> Result<bool, WireError> {
        let Some(next) = self.next()? else {
            return Ok(false);
        };
        match next.claimed {
            0 => packets.extend_from_slice(next.content),
            claimed => self.algorithm.expand(next.content, claimed, packets)?,
        }
        let (end, sequence) = (next.end, next.sequence);
        if sequence != self.sequence {
            self.beginnings -= 1;
        }
        self.start = end;
        self.sequence = sequence.wrapping_add(1);
        Ok(self.next()?.is_some())
    }

    pub fn has_unread(&self) -> bool {
        self.start < self.incoming.len()
    }

    /// The next packet, where it is whole.
    fn next(&self) -> Result<Option<Waiting<'_>>, WireError> {
        let waiting = self.incoming.get(self.start..).unwrap_or_default();
        let Some((head, rest)) = waiting.split_first_chunk::<HEADER_BYTES>() else {
            return Ok(None);
        };
        let [a, b, c, sequence, d, e, f] = *head;
        let begins = self.beginnings > 0 && self.begin_at.contains(&sequence);
        if sequence != self.sequence && !begins {
            return Err(wrong_sequence(sequence, self.sequence));
        }
        let packed = u32::from_le_bytes([a, b, c, 0]) as usize;
        let claimed = u32::from_le_bytes([d, e, f, 0]) as usize;
        let end = self.start + HEADER_BYTES + packed;
        Ok(rest.get(..packed).map(|content| Waiting {
            content,
            claimed,
            sequence,
            end,
        }))
    }

    /// Appends commands, each in compressed packets of its own, which are counted from zero.
    ///
    /// Several commands in one compressed packet are not all answered: the server writes its answer
    /// over the commands it has not read yet, and then waits. MariaDB 10.11 and 11.8 and MySQL 9.7
    /// answer one or two of ten, with zlib.
    pub fn seal_commands(&mut self, packets: &[u8], out: &mut Vec<u8>) -> Result<(), WireError> {
        self.begin_at.clear();
        let (mut rest, mut commands) = (packets, 0);
        while !rest.is_empty() {
            let (command, more) = rest.split_at(first_command_bytes(rest));
            self.sequence = 0;
            self.seal(command, out)?;
            if !self.begin_at.contains(&self.sequence) {
                self.begin_at.push(self.sequence);
            }
            (rest, commands) = (more, commands + 1);
        }
        self.beginnings = if commands > 1 { commands } else { 0 };
        Ok(())
    }

    /// Appends `packets` as compressed packets that go on with the numbers.
    pub fn seal(&mut self, packets: &[u8], out: &mut Vec<u8>) -> Result<(), WireError> {
        for content in packets.chunks(CONTENT_MAX) {
            let at = out.len();
            out.extend_from_slice(&[0; HEADER_BYTES]);
            let mut before = 0;
            if content.len() >= WORTH_BYTES {
                self.algorithm.compress(content, out)?;
                before = content.len();
            }
            // Content that did not shrink is not compressed.
            if before == 0 || out.len() - at - HEADER_BYTES >= content.len() {
                out.truncate(at + HEADER_BYTES);
                out.extend_from_slice(content);
                before = 0;
            }
            let length = ((out.len() - at - HEADER_BYTES) as u32).to_le_bytes();
            let before = (before as u32).to_le_bytes();
            if let Some(head) = out.get_mut(at..at + HEADER_BYTES) {
                head.copy_from_slice(&[
                    length[0],
                    length[1],
                    length[2],
                    self.sequence,
                    before[0],
                    before[1],
                    before[2],
                ]);
            }
            self.sequence = self.sequence.wrapping_add(1);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    fn opened(layer: &mut CompressionLayer, bytes: &[u8], piece: usize) -> Vec<u8> {
        let mut packets = Vec::new();
        for part in bytes.chunks(piece) {
            layer.feed(part);
            while layer.open(&mut packets).unwrap() {}
        }
        packets
    }

    proptest! {
        #[test]
        fn packets_survive_any_cutting(
            packets in proptest::collection::vec(any::<u8>(), 0..300),
            times in 1usize..20,
            piece in 1usize..200,
        ) {
            let said: Vec<u8> = packets.repeat(times);
            for algorithm in [Algorithm::Zlib, Algorithm::Zstd] {
                let mut ours = CompressionLayer::new(algorithm);
                let mut theirs = CompressionLayer::new(algorithm);
                let mut sent = Vec::new();
                ours.seal(&said, &mut sent).unwrap();
                ours.seal(b"more", &mut sent).unwrap();
                let mut heard = said.clone();
                heard.extend_from_slice(b"more");
                prop_assert_eq!(opened(&mut theirs, &sent, piece), heard);
            }
        }
    }

    #[test]
    fn long_contents_are_cut_and_short_ones_left() {
        let said = vec![b'x'; CONTENT_MAX + 10];
        let mut layer = CompressionLayer::new(Algorithm::Zlib);
        let mut sent = Vec::new();
        layer.seal(&said, &mut sent).unwrap();
        assert!(sent.ends_with(b"\x0a\0\0\x01\0\0\0xxxxxxxxxx"));
        let mut theirs = CompressionLayer::new(Algorithm::Zlib);
        assert_eq!(opened(&mut theirs, &sent, 1000), said);
    }

    #[test]
    fn each_command_has_a_compressed_packet_that_is_counted_from_zero() {
        // A ping, a query in two packets, a ping.
        let said = b"\x01\0\0\0\x0e\x02\0\0\0\x03a\x01\0\0\x01b\x01\0\0\0\x0e";
        let mut layer = CompressionLayer::new(Algorithm::Zlib);
        let mut sent = Vec::new();
        layer.seal_commands(said, &mut sent).unwrap();
        let ping = b"\x05\0\0\0\0\0\0\x01\0\0\0\x0e".as_slice();
        let query = b"\x0b\0\0\0\0\0\0\x02\0\0\0\x03a\x01\0\0\x01b".as_slice();
        assert_eq!(sent, [ping, query, ping].concat());
    }

    #[test]
    fn as_many_answers_begin_as_commands_were_sent() {
        let ping = b"\x01\0\0\0\x0e";
        let answer = |sequence| [1, 0, 0, sequence, 0, 0, 0, b'x'];
        let mut layer = CompressionLayer::new(Algorithm::Zlib);
        layer
            .seal_commands(&ping.repeat(3), &mut Vec::new())
            .unwrap();
        let answers = [1, 2, 1, 1, 2, 3].map(answer).concat();
        assert_eq!(opened(&mut layer, &answers, 3), b"xxxxxx");
        layer.seal_commands(ping, &mut Vec::new()).unwrap();
        layer.feed(&[answer(1), answer(1)].concat());
        assert!(layer.open(&mut Vec::new()).is_err());
    }
}

//! Frames: a header of four bytes (length, sequence number) and up to 16 MB - 1 of payload.
//!
//! A packet is the payload of one frame, or of several where every frame but the last is full. The
//! writer half appends to a caller's buffer. The reader half gives whole packets to callers that
//! look inside (handshake, values); the request loop reads frames in place with
//! [`super::answer::AnswerReader::feed`] instead.

use crate::{Capabilities, WireError};

/// Length and sequence number.
pub const HEADER_BYTES: usize = 4;
/// A frame of this payload length is continued by the next one.
pub const PAYLOAD_MAX: usize = 0xff_ffff;

/// Reads a header: payload length and sequence number.
pub fn header(bytes: [u8; HEADER_BYTES]) -> (usize, u8) {
    let [a, b, c, sequence] = bytes;
    (u32::from_le_bytes([a, b, c, 0]) as usize, sequence)
}

pub fn wrong_sequence(got: u8, wanted: u8) -> WireError {
    WireError::theirs(format!(
        "a frame has sequence number {got} instead of {wanted}"
    ))
}

/// Appends one packet, whose payload `write` appends. Returns the sequence number after it.
#[inline]
pub fn put_packet(out: &mut Vec<u8>, sequence: u8, write: impl FnOnce(&mut Vec<u8>)) -> u8 {
    let start = out.len();
    out.extend_from_slice(&[0; HEADER_BYTES]);
    write(out);
    seal_packet(out, start, sequence)
}

/// Fills in the header of the packet that was begun at `start`, splitting it where it is long.
#[inline]
fn seal_packet(out: &mut Vec<u8>, start: usize, sequence: u8) -> u8 {
    let payload = out.len() - start - HEADER_BYTES;
    if payload >= PAYLOAD_MAX {
        return split_packet(out, start, sequence);
    }
    set_header(out, start, payload, sequence);
    sequence.wrapping_add(1)
}

/// Rare and long: one copy of the payload buys a simple rule for all the short packets.
#[cold]
fn split_packet(out: &mut Vec<u8>, start: usize, mut sequence: u8) -> u8 {
    let whole = out.split_off(start + HEADER_BYTES);
    out.truncate(start);
    let mut chunks = whole.chunks(PAYLOAD_MAX);
    loop {
        let chunk = chunks.next().unwrap_or_default();
        let at = out.len();
        out.extend_from_slice(&[0; HEADER_BYTES]);
        out.extend_from_slice(chunk);
        set_header(out, at, chunk.len(), sequence);
        sequence = sequence.wrapping_add(1);
        if chunk.len() < PAYLOAD_MAX {
            return sequence;
        }
    }
}

#[inline]
fn set_header(out: &mut [u8], at: usize, payload: usize, sequence: u8) {
    let length = (payload as u32).to_le_bytes();
    if let Some(header) = out.get_mut(at..at + HEADER_BYTES) {
        header.copy_from_slice(&[length[0], length[1], length[2], sequence]);
    }
}

/// The sequence number of the answer to the last of these whole packets.
///
/// It is 1 but for a packet that needs several frames, so short requests cost a comparison.
#[inline]
pub fn sequence_after(packets: &[u8]) -> u8 {
    if packets.len() < PAYLOAD_MAX {
        1
    } else {
        walk(packets)
    }
}

fn walk(packets: &[u8]) -> u8 {
    let mut rest = packets;
    let mut next = 1u8;
    while let Some((head, after)) = rest.split_first_chunk::<HEADER_BYTES>() {
        let (length, sequence) = header(*head);
        next = sequence.wrapping_add(1);
        rest = after.get(length..).unwrap_or_default();
    }
    next
}

/// Bytes of the first of these whole commands: its first frame, and those that go on with it, whose
/// numbers are not zero.
pub fn first_command_bytes(commands: &[u8]) -> usize {
    let mut rest = commands;
    while let Some((head, after)) = rest.split_first_chunk::<HEADER_BYTES>() {
        let (length, sequence) = header(*head);
        if sequence == 0 && rest.len() < commands.len() {
            return commands.len() - rest.len();
        }
        rest = after.get(length..).unwrap_or_default();
    }
    commands.len()
}

/// Gives whole packets out of bytes that arrive in any pieces.
///
/// Holds the received bytes that were not read yet, never more: a length that the server claims
/// reserves nothing. A packet over `packet_max` is refused.
#[derive(Debug)]
pub struct FrameReader {
    buffer: Vec<u8>,
    start: usize,
    sequence: u8,
    numbered: bool,
    packet_max: usize,
}

impl FrameReader {
    pub fn new(packet_max: usize) -> Self {
        Self {
            buffer: Vec::new(),
            start: 0,
            sequence: 0,
            numbered: true,
            packet_max,
        }
    }

    /// For the answers of a session with these capabilities: inside compressed packets the servers
    /// number frames arbitrarily.
    pub fn of_session(capabilities: Capabilities, packet_max: usize) -> Self {
        Self {
            numbered: !capabilities.is_compressed(),
            ..Self::new(packet_max)
        }
    }

    /// The sequence number that the next frame must have.
    pub fn expect_sequence(&mut self, sequence: u8) {
        self.sequence = sequence;
    }

    /// The sequence number after the last frame that was read: the number of our answer to it.
    pub fn next_sequence(&self) -> u8 {
        self.sequence
    }

    /// Takes bytes of the stream.
    pub fn feed(&mut self, bytes: &[u8]) {
        if self.start == self.buffer.len() {
            self.buffer.clear();
            self.start = 0;
        } else if self.start > self.buffer.len() / 2 {
            self.buffer.drain(..self.start);
            self.start = 0;
        }
        self.buffer.extend_from_slice(bytes);
    }

    /// Bytes that arrived and belong to no packet read so far.
    pub fn unread(&self) -> &[u8] {
        self.buffer.get(self.start..).unwrap_or_default()
    }

    /// The next whole packet, borrowed from the buffer, or none until more bytes arrive.
    pub fn next_packet(&mut self) -> Result<Option<&[u8]>, WireError> {
        let mut end = self.start;
        let mut payload = 0;
        let mut frames = 0u8;
        loop {
            let Some(head) = self.buffer.get(end..).and_then(|rest| rest.first_chunk()) else {
                return Ok(None);
            };
            let (length, sequence) = header(*head);
            let due = self.sequence.wrapping_add(frames);
            if sequence != due && self.numbered {
                return Err(wrong_sequence(sequence, due));
            }
            payload += length;
            if payload > self.packet_max {
                return Err(WireError::theirs(format!(
                    "a packet is longer than {} bytes",
                    self.packet_max
                )));
            }
            end += HEADER_BYTES + length;
            if end > self.buffer.len() {
                return Ok(None);
            }
            frames = frames.wrapping_add(1);
            if length < PAYLOAD_MAX {
                break;
            }
        }
        self.sequence = self.sequence.wrapping_add(frames);
        let begin = self.start + HEADER_BYTES;
        self.join(begin, payload);
        self.start = end;
        Ok(self.buffer.get(begin..begin + payload))
    }

    /// Moves the payloads of a packet of several frames together, over the headers between.
    fn join(&mut self, begin: usize, payload: usize) {
        let mut joined = begin + PAYLOAD_MAX.min(payload);
        let mut from = joined + HEADER_BYTES;
        while joined < begin + payload {
            let length = PAYLOAD_MAX.min(begin + payload - joined);
            self.buffer.copy_within(from..from + length, joined);
            joined += length;
            from += length + HEADER_BYTES;
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn packets_survive_any_cutting(
            packets in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..40), 1..6),
            piece in 1usize..50,
        ) {
            let mut stream = Vec::new();
            let mut sequence = 0;
            for packet in &packets {
                sequence = put_packet(&mut stream, sequence, |out| out.extend_from_slice(packet));
            }
            let mut reader = FrameReader::new(1024);
            let mut read = Vec::new();
            for bytes in stream.chunks(piece) {
                reader.feed(bytes);
                while let Some(packet) = reader.next_packet().unwrap() {
                    read.push(packet.to_vec());
                }
            }
            prop_assert_eq!(read, packets);
            prop_assert!(reader.unread().is_empty());
        }
    }

    #[test]
    fn long_packets_are_split_and_joined() {
        for length in [
            PAYLOAD_MAX - 1,
            PAYLOAD_MAX,
            PAYLOAD_MAX + 1,
            2 * PAYLOAD_MAX,
        ] {
            let payload: Vec<u8> = (0..length).map(|i| (i % 251) as u8).collect();
            let mut stream = b"before".to_vec();
            let next = put_packet(&mut stream, 0, |out| out.extend_from_slice(&payload));
            assert_eq!(usize::from(next), length / PAYLOAD_MAX + 1);
            assert_eq!(sequence_after(&stream[6..]), next);
            let mut reader = FrameReader::new(64 << 20);
            reader.feed(&stream[6..]);
            reader.feed(b"after");
            assert!(reader.next_packet().unwrap() == Some(&payload[..]));
            assert_eq!(reader.unread(), b"after");
            assert_eq!(reader.next_sequence(), next);
        }
    }

    #[test]
    fn refuses_wrong_sequences_and_endless_packets() {
        let mut reader = FrameReader::new(10);
        reader.feed(&[1, 0, 0, 7, 0]);
        assert!(matches!(reader.next_packet(), Err(WireError::Theirs(_))));
        let mut reader = FrameReader::new(10);
        reader.feed(&[11, 0, 0, 0]);
        assert!(matches!(reader.next_packet(), Err(WireError::Theirs(_))));
    }
}

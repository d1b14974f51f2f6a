//! The bytes of a log: a plain file, one of gzip or zstd, or standard input.

use crate::entry::{LogError, LogReader, TakeEntry};
use flate2::read::MultiGzDecoder;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};

const CHUNK: usize = 1 << 20;
/// Longest entry; servers send and take no longer statement by default.
pub const ENTRY_BYTES_MAX: usize = 64 << 20;
/// The beginning of a log that its format is known by.
pub const BEGINNING: usize = 64 << 10;

/// An open log.
pub struct LogInput {
    name: String,
    bytes: Box<dyn Read>,
    beginning: Vec<u8>,
    /// Lines and bytes read in this file.
    lines: u64,
}

impl LogInput {
    /// Opens a path; `-` is standard input. The beginning tells how it is compressed.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn open(path: &str) -> Result<Self, LogError> {
        let unread = |error: io::Error| LogError::io(&format!("cannot read {path}"), &error);
        let source: Box<dyn Read> = match path {
            "-" => Box::new(io::stdin()),
            _ => Box::new(File::open(path).map_err(unread)?),
        };
        Self::of(path, source).map_err(unread)
    }

    /// A log from its bytes; the name is for messages.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn of(name: &str, source: Box<dyn Read>) -> io::Result<Self> {
        let mut source = BufReader::with_capacity(CHUNK / 4, source);
        let first = source.fill_buf()?;
        let mut bytes: Box<dyn Read> = if first.starts_with(b"\x1f\x8b") {
            Box::new(MultiGzDecoder::new(source))
        } else if first.starts_with(b"\x28\xb5\x2f\xfd") {
            Box::new(zstd::Decoder::with_buffer(source)?)
        } else {
            Box::new(source)
        };
        let mut beginning = Vec::new();
        bytes
            .by_ref()
            .take(BEGINNING as u64)
            .read_to_end(&mut beginning)?;
        Ok(Self {
            name: name.to_owned(),
            bytes,
            beginning,
            lines: 0,
        })
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// The first [`BEGINNING`] bytes, or all if there are fewer.
    pub fn beginning(&self) -> &[u8] {
        &self.beginning
    }

    /// Reads it to its end. `offset` is where it begins in the whole log; returns its end.
    ///
    /// # Errors
    /// It cannot be read, an entry is too long, or `take` failed.
    pub fn read(
        mut self,
        reader: &mut dyn LogReader,
        mut offset: u64,
        take: &mut TakeEntry<'_>,
        progress: &mut dyn FnMut(u64) -> Result<(), LogError>,
    ) -> Result<u64, LogError> {
        let mut held = std::mem::take(&mut self.beginning);
        let mut is_end = held.len() < BEGINNING;
        let mut wanted = CHUNK;
        loop {
            if !is_end {
                is_end = self.fill(&mut held, wanted)?;
            }
            let done = reader.read(&held, offset, is_end, take)?.min(held.len());
            self.lines +=
                memchr::memchr_iter(b'\n', held.get(..done).unwrap_or_default()).count() as u64;
            offset += done as u64;
            held.drain(..done);
            progress(offset)?;
            if is_end {
                return Ok(offset + held.len() as u64);
            }
            // An entry that is not whole is read again from its beginning: twice as much, so that
            // a long one costs no more than twice.
            wanted = if done == 0 {
                held.len() * 2
            } else {
                held.len() + CHUNK
            };
            if held.len() >= ENTRY_BYTES_MAX {
                return Err(LogError::new(format!(
                    "{}, line {}: an entry is longer than {} MiB",
                    self.name,
                    self.lines + 1,
                    ENTRY_BYTES_MAX >> 20
                )));
            }
            wanted = wanted.min(ENTRY_BYTES_MAX);
        }
    }

    /// Reads until `wanted` bytes are held and returns whether that was the end.
    fn fill(&mut self, held: &mut Vec<u8>, wanted: usize) -> Result<bool, LogError> {
        let missing = wanted.saturating_sub(held.len()) as u64;
        let read = self.bytes.by_ref().take(missing).read_to_end(held);
        let read =
            read.map_err(|error| LogError::io(&format!("cannot read {}", self.name), &error))?;
        Ok((read as u64) < missing)
    }
}

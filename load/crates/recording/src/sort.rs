//! Sorts more records than memory holds.
//!
//! Records wait in a heap. When it is full, the first ones go to a file, and each record that is
//! too late for this file goes to the next. Logs are almost in order, so there is mostly one file.

use crate::entry::LogError;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

/// What a record takes besides its bytes.
const RECORD_COST: usize = 64;
/// A heap that is small is fast; one of a log in disorder grows up to this, for fewer files.
const MEMORY_MAX: usize = 64 << 20;
const BUFFER: usize = 64 << 10;

/// Where a record belongs: its moment, then its place in the log.
pub type SortKey = (i64, u64);

/// By file, then by key.
type WaitingRecord = Reverse<(u32, SortKey, Box<[u8]>)>;

pub struct RecordSorter {
    folder: PathBuf,
    memory: usize,
    held: usize,
    waiting: BinaryHeap<WaitingRecord>,
    files: Vec<PathBuf>,
    /// The file that is being written, and the last key in it.
    file: Option<BufWriter<File>>,
    last: Option<SortKey>,
}

impl RecordSorter {
    /// Records take about `memory` bytes at first; the others go to files in `folder`.
    pub fn new(folder: &Path, memory: usize) -> Self {
        Self {
            folder: folder.to_owned(),
            memory,
            held: 0,
            waiting: BinaryHeap::new(),
            files: Vec::new(),
            file: None,
            last: None,
        }
    }

    /// Adds a record. Keys are different from one another.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn add(&mut self, key: SortKey, record: Box<[u8]>) -> Result<(), LogError> {
        let run = self.run() + u32::from(self.last.is_some_and(|last| key < last));
        self.held += record.len() + RECORD_COST;
        self.waiting.push(Reverse((run, key, record)));
        while self.held > self.memory && self.waiting.len() > 1 {
            self.spill_one()?;
        }
        Ok(())
    }

    /// The number of the file that is being written.
    fn run(&self) -> u32 {
        u32::try_from(self.files.len()).unwrap_or(u32::MAX)
    }

    fn spill_one(&mut self) -> Result<(), LogError> {
        let Some(Reverse((run, key, record))) = self.waiting.pop() else {
            return Ok(());
        };
        let written = self.write(run, key, &record);
        written.map_err(|error| LogError::io("cannot write a temporary file", &error))?;
        self.held = self.held.saturating_sub(record.len() + RECORD_COST);
        Ok(())
    }

    fn write(&mut self, run: u32, key: SortKey, record: &[u8]) -> io::Result<()> {
        if self.file.is_none() || run > self.run() {
            if let Some(mut file) = self.file.take() {
                file.flush()?;
                self.files.push(self.path());
                self.memory = self.memory.max((self.memory * 2).min(MEMORY_MAX));
            }
            let file = File::create(self.path())?;
            self.file = Some(BufWriter::with_capacity(BUFFER, file));
        }
        if let Some(file) = &mut self.file {
            file.write_all(&key.0.to_le_bytes())?;
            file.write_all(&key.1.to_le_bytes())?;
            file.write_all(&(record.len() as u64).to_le_bytes())?;
            file.write_all(record)?;
        }
        self.last = Some(key);
        Ok(())
    }

    fn path(&self) -> PathBuf {
        self.folder.join(format!("run-{}", self.files.len()))
    }

    /// Passes all records on, in order.
    ///
    /// # Errors
    /// A file cannot be written or read, or `take` failed.
    pub fn finish(
        mut self,
        take: &mut dyn FnMut(&[u8]) -> Result<(), LogError>,
    ) -> Result<(), LogError> {
        if self.file.is_none() {
            while let Some(Reverse((_, _, record))) = self.waiting.pop() {
                take(&record)?;
            }
            return Ok(());
        }
        while !self.waiting.is_empty() {
            self.spill_one()?;
        }
        let broken = |error: io::Error| LogError::io("cannot read a temporary file", &error);
        if let Some(mut file) = self.file.take() {
            file.flush().map_err(broken)?;
            self.files.push(self.path());
        }
        let mut files = Vec::new();
        for path in &self.files {
            let file = File::open(path).map_err(broken)?;
            // It is read to its end through this handle.
            let _ = fs::remove_file(path);
            files.push(BufReader::with_capacity(BUFFER, file));
        }
        let mut first = BinaryHeap::new();
        for (place, file) in files.iter_mut().enumerate() {
            if let Some((key, record)) = next_record(file).map_err(broken)? {
                first.push(Reverse((key, place, record)));
            }
        }
        while let Some(Reverse((_, place, record))) = first.pop() {
            take(&record)?;
            let file = files.get_mut(place);
            let next = file.map(next_record).transpose().map_err(broken)?.flatten();
            if let Some((key, record)) = next {
                first.push(Reverse((key, place, record)));
            }
        }
        Ok(())
    }
}

fn next_record(file: &mut BufReader<File>) -> io::Result<Option<(SortKey, Vec<u8>)>> {
    let mut head = [[0; 8]; 3];
    for part in &mut head {
        match file.read_exact(part) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
            other => other?,
        }
    }
    let [moment, place, length] = head;
    let length = usize::try_from(u64::from_le_bytes(length)).map_err(io::Error::other)?;
    let mut record = vec![0; length];
    file.read_exact(&mut record)?;
    let key = (i64::from_le_bytes(moment), u64::from_le_bytes(place));
    Ok(Some((key, record)))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_order_is_that_of_the_keys(
            moments in proptest::collection::vec(-50i64..50, 0..200),
            memory in 1usize..20_000,
        ) {
            let folder = crate::testing::Folder::new();
            let mut sorter = RecordSorter::new(&folder.0, memory);
            let mut wanted = Vec::new();
            for (place, moment) in moments.into_iter().enumerate() {
                let key = (moment, place as u64);
                let record = format!("{moment} {place}").into_bytes();
                sorter.add(key, record.clone().into()).unwrap();
                wanted.push((key, record));
            }
            wanted.sort();
            let mut found = Vec::new();
            let mut take = |record: &[u8]| { found.push(record.to_vec()); Ok(()) };
            sorter.finish(&mut take).unwrap();
            let wanted: Vec<_> = wanted.into_iter().map(|(_, record)| record).collect();
            prop_assert_eq!(found, wanted);
            prop_assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 0);
        }
    }
}

//! The file of a recording.
//!
//! Blocks follow one another: statements in the order of their moments, sessions, the contents
//! (templates and names) and the directory of the blocks. Each is compressed and has a checksum.
//! The end of the file says where contents and directory are, so one statement is read without
//! the others.
//!
//! The name of a recording is the hash of what it holds: the same log gives the same name, however
//! it was divided into files or compressed.

use crate::entry::LogError;
use crate::stored::{self, StoredStatement};
use crate::times::TimeCounts;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::Path;

const MAGIC: &[u8; 8] = b"contrec\n";
const VERSION: u32 = 1;
const BLOCK_BYTES: usize = 1 << 20;
/// A block with one longest statement in it.
const BLOCK_BYTES_MAX: usize = 1 << 30;
const HEAD: u64 = 12;
const BLOCK_HEAD: usize = 12;
/// Places of contents and directory, the hash, a checksum, and four bytes.
const FOOT: usize = 16 + HASH + 8;
const HASH: usize = 32;
const LEVEL: i32 = 1;
/// Bytes of a session.
const SESSION: usize = 41;

/// Where a block of statements is.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct BlockPlace {
    at: u64,
    /// Number of its first statement.
    first: u64,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct RecordingDirectory {
    blocks: Vec<BlockPlace>,
    sessions: Vec<u64>,
    /// For each template: blocks and how many of its statements each holds.
    templates: Vec<Vec<(u32, u32)>>,
}

/// Sums over all statements of a template.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct TemplateRow {
    /// In hexadecimal, so that it survives readers without 64-bit integers.
    pub hash: String,
    /// Without values; bytes as latin-1.
    pub text: String,
    pub is_read: bool,
    pub calls: u64,
    /// Calls whose time was logged.
    pub timed: u64,
    pub total_us: u64,
    pub times: TimeCounts,
    /// Sums, and the calls that they were logged of.
    pub rows_sent: (u64, u64),
    pub rows_examined: (u64, u64),
    pub errors: u64,
}

/// What a recording holds besides its statements.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct RecordingContents {
    pub format: String,
    pub statements: u64,
    pub reads: u64,
    pub sessions: u64,
    /// Moments of the first statement and of the last end, in microseconds since 1970.
    pub period_us: Option<(i64, i64)>,
    pub exact_stamps: u64,
    pub interpolated_stamps: u64,
    pub false_stamps: u64,
    pub clock_set_back: u64,
    /// Entries that are not in the recording, by reason.
    pub left_out: BTreeMap<String, u64>,
    /// Bytes of the log that belonged to no entry.
    pub skipped_bytes: u64,
    /// What the format's reader says of the whole log.
    pub warnings: Vec<String>,
    pub log_bytes: u64,
    /// Names, as latin-1. The first database is none at all.
    pub databases: Vec<String>,
    pub users: Vec<String>,
    pub templates: Vec<TemplateRow>,
}

/// A session of the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecordedSession {
    pub number: u32,
    /// The server's number of the connection.
    pub thread: u64,
    /// Number of the user.
    pub user: u32,
    pub first_us: i64,
    pub last_us: i64,
    pub statements: u64,
    /// Its beginning and its end are in the log.
    pub has_begin: bool,
    pub has_end: bool,
}

impl RecordedSession {
    pub fn write(&self, out: &mut impl Write) -> io::Result<()> {
        out.write_all(&self.number.to_le_bytes())?;
        out.write_all(&self.thread.to_le_bytes())?;
        out.write_all(&self.user.to_le_bytes())?;
        out.write_all(&self.first_us.to_le_bytes())?;
        out.write_all(&self.last_us.to_le_bytes())?;
        out.write_all(&self.statements.to_le_bytes())?;
        out.write_all(&[u8::from(self.has_begin) | u8::from(self.has_end) << 1])
    }

    fn read(bytes: &[u8; SESSION]) -> Self {
        let long = |at: usize| {
            let mut long = [0; 8];
            long.iter_mut()
                .zip(bytes.iter().skip(at))
                .for_each(|(to, from)| *to = *from);
            long
        };
        let short = |at| (u64::from_le_bytes(long(at)) & u64::from(u32::MAX)) as u32;
        let flags = bytes.last().copied().unwrap_or_default();
        Self {
            number: short(0),
            thread: u64::from_le_bytes(long(4)),
            user: short(12),
            first_us: i64::from_le_bytes(long(16)),
            last_us: i64::from_le_bytes(long(24)),
            statements: u64::from_le_bytes(long(32)),
            has_begin: flags & 1 != 0,
            has_end: flags & 2 != 0,
        }
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Bytes as text that has the same bytes as latin-1.
pub fn latin1(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| char::from(*byte)).collect()
}

/// Writes a recording.
pub struct RecordingWriter {
    file: BufWriter<File>,
    at: u64,
    block: Vec<u8>,
    block_first: u64,
    statements: u64,
    of_block: BTreeMap<u32, u32>,
    directory: RecordingDirectory,
    hash: Sha256,
}

impl RecordingWriter {
    pub fn create(path: &Path) -> io::Result<Self> {
        let mut file = BufWriter::new(File::create(path)?);
        file.write_all(MAGIC)?;
        file.write_all(&VERSION.to_le_bytes())?;
        Ok(Self {
            file,
            at: HEAD,
            block: Vec::new(),
            block_first: 0,
            statements: 0,
            of_block: BTreeMap::new(),
            directory: RecordingDirectory::default(),
            hash: Sha256::new(),
        })
    }

    /// Adds a statement, already as bytes.
    pub fn add(&mut self, record: &[u8], template: u32) -> io::Result<()> {
        self.block.extend_from_slice(record);
        *self.of_block.entry(template).or_default() += 1;
        self.statements += 1;
        if self.block.len() >= BLOCK_BYTES {
            self.end_block()?;
        }
        Ok(())
    }

    fn end_block(&mut self) -> io::Result<()> {
        if self.block.is_empty() {
            return Ok(());
        }
        let number = u32::try_from(self.directory.blocks.len()).map_err(io::Error::other)?;
        for (template, count) in std::mem::take(&mut self.of_block) {
            let templates = &mut self.directory.templates;
            let place = template as usize;
            if templates.len() <= place {
                templates.resize_with(place + 1, Vec::new);
            }
            if let Some(blocks) = templates.get_mut(place) {
                blocks.push((number, count));
            }
        }
        self.directory.blocks.push(BlockPlace {
            at: self.at,
            first: self.block_first,
        });
        self.block_first = self.statements;
        let block = std::mem::take(&mut self.block);
        self.hash.update(&block);
        self.put(&block)?;
        self.block = block;
        self.block.clear();
        Ok(())
    }

    /// Writes a block and returns where it is.
    fn put(&mut self, raw: &[u8]) -> io::Result<u64> {
        let packed = zstd::bulk::compress(raw, LEVEL)?;
        let at = self.at;
        let length = |bytes: &[u8]| u32::try_from(bytes.len()).map_err(io::Error::other);
        self.file.write_all(&length(&packed)?.to_le_bytes())?;
        self.file.write_all(&length(raw)?.to_le_bytes())?;
        self.file
            .write_all(&crc32fast::hash(&packed).to_le_bytes())?;
        self.file.write_all(&packed)?;
        self.at += (BLOCK_HEAD + packed.len()) as u64;
        Ok(at)
    }

    /// Adds the sessions, written by [`RecordedSession::write`].
    pub fn add_sessions(&mut self, mut sessions: impl Read) -> io::Result<()> {
        self.end_block()?;
        let most = BLOCK_BYTES / SESSION * SESSION;
        loop {
            let mut block = Vec::new();
            sessions
                .by_ref()
                .take(most as u64)
                .read_to_end(&mut block)?;
            if block.is_empty() {
                return Ok(());
            }
            self.hash.update(&block);
            let at = self.put(&block)?;
            self.directory.sessions.push(at);
        }
    }

    /// Writes the contents and returns the recording's name and its bytes. The file is on the disk
    /// then.
    pub fn finish(mut self, contents: &RecordingContents) -> io::Result<(String, u64)> {
        self.end_block()?;
        let text = serde_json::to_vec(contents)?;
        self.hash.update(&text);
        let contents_at = self.put(&text)?;
        let directory = serde_json::to_vec(&self.directory)?;
        let directory_at = self.put(&directory)?;
        let hash = self.hash.finalize();
        let mut foot = Vec::new();
        foot.extend_from_slice(&contents_at.to_le_bytes());
        foot.extend_from_slice(&directory_at.to_le_bytes());
        foot.extend_from_slice(&hash);
        foot.extend_from_slice(&crc32fast::hash(&foot).to_le_bytes());
        foot.extend_from_slice(b"end\n");
        self.file.write_all(&foot)?;
        let file = self.file.into_inner().map_err(io::Error::other)?;
        file.sync_all()?;
        Ok((hexadecimal(&hash), self.at + foot.len() as u64))
    }
}

/// An open recording.
pub struct RecordingFile {
    file: File,
    bytes: u64,
    path: String,
    /// The hash of its content, in hexadecimal.
    pub name: String,
    pub contents: RecordingContents,
    directory: RecordingDirectory,
}

impl RecordingFile {
    /// # Errors
    /// It is not a recording of this version, or it is damaged.
    pub fn open(path: &Path) -> Result<Self, LogError> {
        let shown = path.display().to_string();
        let unread = |error: io::Error| LogError::io(&format!("cannot read {shown}"), &error);
        let mut file = File::open(path).map_err(unread)?;
        let bytes = file.metadata().map_err(unread)?.len();
        let mut head = [0; HEAD as usize];
        let is_ours = file.read_exact(&mut head).is_ok() && head.starts_with(MAGIC);
        if !is_ours {
            return Err(LogError::with_hint(
                format!("{shown} is not a recording"),
                "make one of a log with contend-load recording import",
            ));
        }
        if !head.ends_with(&VERSION.to_le_bytes()) {
            return Err(LogError::with_hint(
                format!("{shown} is a recording of a different version; this is version {VERSION}"),
                "import the log again",
            ));
        }
        let damaged = || LogError::with_hint(format!("{shown} is damaged"), "import the log again");
        let mut foot = [0; FOOT];
        file.seek(SeekFrom::End(-(FOOT as i64)))
            .and_then(|_| file.read_exact(&mut foot))
            .map_err(|_| damaged())?;
        let (places, rest) = foot.split_at(16 + HASH);
        let is_whole =
            rest.ends_with(b"end\n") && rest.starts_with(&crc32fast::hash(places).to_le_bytes());
        if !is_whole {
            return Err(damaged());
        }
        let place = |at: usize| {
            let place = places.get(at..at + 8).and_then(|part| part.try_into().ok());
            u64::from_le_bytes(place.unwrap_or_default())
        };
        let mut recording = Self {
            file,
            bytes,
            path: shown.clone(),
            name: hexadecimal(places.get(16..).unwrap_or_default()),
            contents: RecordingContents::default(),
            directory: RecordingDirectory::default(),
        };
        let contents = recording.block_at(place(0))?;
        recording.contents = serde_json::from_slice(&contents).map_err(|_| damaged())?;
        let directory = recording.block_at(place(8))?;
        recording.directory = serde_json::from_slice(&directory).map_err(|_| damaged())?;
        Ok(recording)
    }

    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    fn damaged(&self, at: u64) -> LogError {
        LogError::with_hint(
            format!("{} is damaged at byte {at}", self.path),
            "import the log again",
        )
    }

    fn block_at(&mut self, at: u64) -> Result<Vec<u8>, LogError> {
        let damaged = || self.damaged(at);
        let mut head = [0; BLOCK_HEAD];
        let mut file = &self.file;
        file.seek(SeekFrom::Start(at)).map_err(|_| damaged())?;
        file.read_exact(&mut head).map_err(|_| damaged())?;
        let word = |at: usize| {
            let word = head.get(at..at + 4).and_then(|part| part.try_into().ok());
            u32::from_le_bytes(word.unwrap_or_default())
        };
        let (length, raw) = (u64::from(word(0)), word(4) as usize);
        if at.saturating_add(length) > self.bytes || raw > BLOCK_BYTES_MAX {
            return Err(damaged());
        }
        let mut packed = Vec::new();
        file.take(length)
            .read_to_end(&mut packed)
            .map_err(|_| damaged())?;
        if crc32fast::hash(&packed) != word(8) {
            return Err(damaged());
        }
        let block = zstd::bulk::decompress(&packed, raw).map_err(|_| damaged())?;
        if block.len() == raw {
            Ok(block)
        } else {
            Err(damaged())
        }
    }

    /// The blocks with statements of a template, and how many each has.
    pub(crate) fn blocks_of(&self, template: u32) -> impl Iterator<Item = (usize, u32)> {
        let blocks = self.directory.templates.get(template as usize);
        let blocks = blocks.into_iter().flatten();
        blocks.map(|(block, count)| (*block as usize, *count))
    }

    /// Passes on the statements of a block, with their numbers.
    pub(crate) fn each_of_block(
        &mut self,
        block: usize,
        take: &mut dyn FnMut(u64, StoredStatement<'_>),
    ) -> Result<(), LogError> {
        let Some(place) = self.directory.blocks.get(block).copied() else {
            return Ok(());
        };
        let bytes = self.block_at(place.at)?;
        let mut rest = &bytes[..];
        let mut number = place.first;
        while !rest.is_empty() {
            let (statement, behind) = stored::read(rest).ok_or_else(|| self.damaged(place.at))?;
            take(number, statement);
            rest = behind;
            number += 1;
        }
        Ok(())
    }

    /// Passes on all statements, in order, with their numbers from 0.
    pub fn each(&mut self, take: &mut dyn FnMut(u64, StoredStatement<'_>)) -> Result<(), LogError> {
        (0..self.directory.blocks.len()).try_for_each(|block| self.each_of_block(block, take))
    }

    /// Passes on the statements with these numbers, in order.
    pub(crate) fn each_of(
        &mut self,
        numbers: Range<u64>,
        take: &mut dyn FnMut(u64, StoredStatement<'_>),
    ) -> Result<(), LogError> {
        let blocks = &self.directory.blocks;
        let behind = |number| blocks.partition_point(|block| block.first <= number);
        let last = blocks.partition_point(|block| block.first < numbers.end);
        for block in behind(numbers.start).saturating_sub(1)..last {
            self.each_of_block(block, &mut |number, statement| {
                if numbers.contains(&number) {
                    take(number, statement);
                }
            })?;
        }
        Ok(())
    }

    /// Passes on one statement by its number, if there is one.
    pub fn one(
        &mut self,
        number: u64,
        take: &mut dyn FnMut(u64, StoredStatement<'_>),
    ) -> Result<(), LogError> {
        self.each_of(number..number.saturating_add(1), take)
    }

    /// Passes on those statements of a template whose places among them are given, in ascending
    /// order from 0.
    pub fn of_template(
        &mut self,
        template: u32,
        places: &[u64],
        take: &mut dyn FnMut(u64, StoredStatement<'_>),
    ) -> Result<(), LogError> {
        let blocks = self.directory.templates.get(template as usize).cloned();
        let mut place = 0;
        let mut wanted = places.iter().copied().peekable();
        for (block, count) in blocks.unwrap_or_default() {
            let behind = place + u64::from(count);
            if wanted.peek().is_none_or(|wanted| *wanted >= behind) {
                place = behind;
                continue;
            }
            self.each_of_block(block as usize, &mut |number, statement| {
                if statement.template == template {
                    if wanted.next_if_eq(&place).is_some() {
                        take(number, statement);
                    }
                    place += 1;
                }
            })?;
        }
        Ok(())
    }

    /// The sessions, in the order of their ends.
    pub fn sessions(&mut self) -> Result<Vec<RecordedSession>, LogError> {
        let mut sessions = Vec::new();
        for at in self.directory.sessions.clone() {
            let block = self.block_at(at)?;
            let (parts, _) = block.as_chunks();
            sessions.extend(parts.iter().map(RecordedSession::read));
        }
        Ok(sessions)
    }
}

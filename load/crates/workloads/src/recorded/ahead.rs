//! The transactions that are sent next, read ahead of the load by a thread.
//!
//! They lie in a ring of chunks. A session copies its transaction out of its chunk; it waits for no
//! lock, and asks for no memory once its buffers have their size.

use super::{Classes, Copies};
use contend_figures::outcome::Failure;
use contend_random::Stream;
use contend_recording::{
    BlockStatement, LogError, RecordedTransactions, TransactionBlock, TransactionCounts,
};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};
use std::thread::{self, Thread};

/// Chunks of the ring; half of them are ahead of the load. A session that is further behind, which
/// takes a thread that was held up for long, gets a transaction of a later chunk.
const CHUNKS: u64 = 64;
/// Texts of a usual chunk.
const CHUNK_BYTES: u64 = 1 << 20;
const CHUNK_MIN: u64 = 4;
const CHUNK_MAX: u64 = 256;
/// Random streams of a seed. No other long stream has these numbers.
const BLOCKS_STREAM: u64 = (1 << 50) + 3;
const COPIES_STREAM: u64 = (1 << 50) + 4;

/// A statement to send.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SentStatement {
    pub class: u8,
    /// None: it is not in the log.
    pub template: Option<u32>,
    pub database: u32,
    ansi_quotes: bool,
    no_backslash_escapes: bool,
    text: Range<usize>,
}

/// A transaction to send; its memory is used again.
#[derive(Debug, Default)]
pub struct SentTransaction {
    text: Vec<u8>,
    pub statements: Vec<SentStatement>,
    pub rolls_back: bool,
}

impl SentStatement {
    /// `ANSI_QUOTES` and `NO_BACKSLASH_ESCAPES`.
    pub fn quotes(&self) -> (bool, bool) {
        (self.ansi_quotes, self.no_backslash_escapes)
    }
}

impl SentTransaction {
    pub fn text(&self, statement: &SentStatement) -> &[u8] {
        self.text.get(statement.text.clone()).unwrap_or_default()
    }
}

/// Transactions with numbers that follow one another.
#[derive(Debug, Default)]
struct AheadChunk {
    number: Option<u64>,
    text: Vec<u8>,
    statements: Vec<SentStatement>,
    /// Their statements, and whether they roll back.
    transactions: Vec<(Range<usize>, bool)>,
}

impl AheadChunk {
    fn clear(&mut self) {
        self.text.clear();
        self.statements.clear();
        self.transactions.clear();
    }

    fn add(&mut self, block: &TransactionBlock, statements: &[BlockStatement], classes: &Classes) {
        for statement in statements {
            let start = self.text.len();
            let text = block.text.get(statement.text.clone());
            self.text.extend_from_slice(text.unwrap_or_default());
            self.statements.push(SentStatement {
                class: classes.of(statement.template),
                template: statement.template,
                database: statement.database,
                ansi_quotes: statement.ansi_quotes,
                no_backslash_escapes: statement.no_backslash_escapes,
                text: start..self.text.len(),
            });
        }
    }

    /// Copies the transaction at a place.
    fn copy(&self, place: usize, to: &mut SentTransaction) {
        to.text.clear();
        to.statements.clear();
        let Some((range, rolls_back)) = self.transactions.get(place) else {
            return;
        };
        to.rolls_back = *rolls_back;
        let statements = self.statements.get(range.clone()).unwrap_or_default();
        let start = statements.first().map_or(0, |first| first.text.start);
        let end = statements.last().map_or(0, |last| last.text.end);
        let text = self.text.get(start..end).unwrap_or_default();
        to.text.extend_from_slice(text);
        let moved = statements.iter().map(|statement| SentStatement {
            text: statement.text.start - start..statement.text.end - start,
            ..statement.clone()
        });
        to.statements.extend(moved);
    }
}

/// Whether a transaction was there.
#[derive(Debug, PartialEq)]
pub enum AheadTaken {
    Copied,
    /// It is not read yet.
    Soon,
    /// The recording cannot be read.
    Failed(Box<Failure>),
}

/// The ring.
pub struct Ahead {
    chunks: Vec<RwLock<AheadChunk>>,
    /// Transactions of a chunk.
    length: u64,
    /// The last chunk that a session asked for.
    wanted: AtomicU64,
    reader: OnceLock<Thread>,
    error: OnceLock<Failure>,
    is_over: AtomicBool,
}

impl Ahead {
    pub fn new(counts: &TransactionCounts) -> Self {
        let mean_bytes = counts.bytes / counts.transactions.max(1);
        Self {
            chunks: (0..CHUNKS).map(|_| RwLock::default()).collect(),
            length: (CHUNK_BYTES / mean_bytes.max(1)).clamp(CHUNK_MIN, CHUNK_MAX),
            wanted: AtomicU64::new(0),
            reader: OnceLock::new(),
            error: OnceLock::new(),
            is_over: AtomicBool::new(false),
        }
    }

    /// Copies the transaction of an event.
    pub fn take(&self, cycle: u64, to: &mut SentTransaction) -> AheadTaken {
        let (mut number, place) = (cycle / self.length, (cycle % self.length) as usize);
        let wanted = self.wanted.load(Relaxed);
        if number > wanted {
            self.wanted.fetch_max(number, Relaxed);
            self.wake();
        } else if number + CHUNKS / 2 <= wanted {
            number = wanted;
        }
        let chunk = self.chunk(number).and_then(|chunk| chunk.try_read().ok());
        match chunk.filter(|chunk| chunk.number == Some(number)) {
            Some(chunk) => {
                chunk.copy(place, to);
                AheadTaken::Copied
            }
            None => match self.error.get() {
                Some(error) => AheadTaken::Failed(Box::new(error.clone())),
                None => AheadTaken::Soon,
            },
        }
    }

    /// No further transaction is taken.
    pub fn end(&self) {
        self.is_over.store(true, Relaxed);
        self.wake();
    }

    fn wake(&self) {
        if let Some(reader) = self.reader.get() {
            reader.unpark();
        }
    }

    fn chunk(&self, number: u64) -> Option<&RwLock<AheadChunk>> {
        self.chunks.get((number % CHUNKS) as usize)
    }

    /// Puts a chunk into the ring as soon as there is room. False: no more are wanted.
    fn put(&self, chunk: &mut AheadChunk) -> bool {
        let number = chunk.number.unwrap_or_default();
        while number >= self.wanted.load(Relaxed) + CHUNKS / 2 {
            if self.is_over.load(Relaxed) {
                return false;
            }
            thread::park();
        }
        if let Some(place) = self.chunk(number) {
            let mut place = place.write().unwrap_or_else(PoisonError::into_inner);
            std::mem::swap(&mut *place, chunk);
        }
        !self.is_over.load(Relaxed)
    }
}

/// What the thread reads from.
pub struct AheadSource {
    pub recorded: RecordedTransactions,
    pub copies: Copies,
    pub classes: Classes,
}

/// Starts to read ahead, and waits for the first chunk.
///
/// # Errors
/// There can be no thread, or the recording cannot be read.
pub fn start(source: AheadSource, ahead: Arc<Ahead>, seed: u64) -> Result<(), Failure> {
    let told = Arc::clone(&ahead);
    let (is_begun, begun) = mpsc::channel::<()>();
    let name = "recording".to_owned();
    let thread = thread::Builder::new().name(name).spawn(move || {
        if let Err(error) = read(source, &told, seed, is_begun) {
            // It is the first: the thread ends with it.
            drop(told.error.set(Failure {
                hint: error.hint,
                ..Failure::plain(error.message)
            }));
        }
    });
    let thread = thread
        .map_err(|error| Failure::plain(format!("cannot start a thread: {error}")))?
        .thread()
        .clone();
    // There is one.
    drop(ahead.reader.set(thread));
    // It may have waited for room before it was known.
    ahead.wake();
    // Nothing is sent: the other end is dropped.
    let _ = begun.recv();
    match ahead.error.get() {
        Some(error) => Err(error.clone()),
        None => Ok(()),
    }
}

/// Reads until no more is wanted. `is_begun` is dropped when the first chunk is there.
fn read(
    mut source: AheadSource,
    ahead: &Ahead,
    seed: u64,
    is_begun: Sender<()>,
) -> Result<(), LogError> {
    let mut is_begun = Some(is_begun);
    let mut blocks = Stream::new(seed, BLOCKS_STREAM);
    let mut chances = Stream::new(seed, COPIES_STREAM);
    let mut chunk = AheadChunk {
        number: Some(0),
        ..AheadChunk::default()
    };
    loop {
        let place = blocks.below(source.recorded.blocks() as u64);
        let block = source.recorded.block(place as usize)?;
        for transaction in &block.transactions {
            let copies = source.copies.of.get(&transaction.leader);
            let copies = copies.unwrap_or(&source.copies.others) + chances.unit();
            let statements = block.statements.get(transaction.statements.clone());
            for _ in 0..copies as u64 {
                let start = chunk.statements.len();
                chunk.add(&block, statements.unwrap_or_default(), &source.classes);
                let end = chunk.statements.len();
                chunk
                    .transactions
                    .push((start..end, transaction.rolls_back));
                if (chunk.transactions.len() as u64) < ahead.length {
                    continue;
                }
                let next = chunk.number.map(|number| number + 1);
                if !ahead.put(&mut chunk) {
                    return Ok(());
                }
                drop(is_begun.take());
                chunk.clear();
                chunk.number = next;
            }
        }
    }
}

//! The transactions of a recording, read in blocks of some seconds.
//!
//! Statements of sessions lie between one another in a recording. A first pass finds where blocks
//! begin, and which sessions are inside a transaction there; no text is kept. Then any block can be
//! read by itself: it has all transactions that begin in it, whole, in the order of their
//! beginnings.

mod follow;

use crate::entry::LogError;
use crate::file::{RecordingContents, RecordingFile};
use crate::stored::StoredStatement;
use crate::undone::lasts;
use follow::{After, Before, Follower, SessionTransaction};
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::path::Path;

/// A block ends after this number of statements, or bytes of them, however short it is.
const BLOCK_STATEMENTS: u64 = 50_000;
const BLOCK_BYTES: u64 = 64 << 20;

/// A statement of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockStatement {
    /// None for the end or the beginning of a transaction that is in no statement of the log.
    pub template: Option<u32>,
    pub database: u32,
    pub ansi_quotes: bool,
    pub no_backslash_escapes: bool,
    /// Where it is in the text of the block.
    pub text: Range<usize>,
}

/// A transaction of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransactionPart {
    /// Places of its statements.
    pub statements: Range<usize>,
    pub rolls_back: bool,
    /// The template of its statement that takes longest, by the means as logged.
    pub leader: u32,
}

/// The transactions that begin in a few seconds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TransactionBlock {
    pub text: Vec<u8>,
    pub statements: Vec<BlockStatement>,
    pub transactions: Vec<TransactionPart>,
}

/// The sum over all blocks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TransactionCounts {
    pub transactions: u64,
    /// By their leaders.
    pub led: BTreeMap<u32, u64>,
    /// Statements that are sent, by template, and the bytes of all.
    pub statements: BTreeMap<u32, u64>,
    pub bytes: u64,
    /// Transactions that are too long, or whose end is not in the log.
    pub not_whole: u64,
}

/// Where a block is, and what must be known at its beginning.
#[derive(Debug, Default)]
struct BlockBegin {
    first: u64,
    /// The first statement of the next block.
    next: u64,
    /// Behind the last statement of its transactions.
    behind: u64,
    sessions: Vec<(u32, SessionTransaction)>,
    /// Statements that are the last of their session, inside a transaction of this block.
    last: Vec<u64>,
}

/// The transactions of a recording.
pub struct RecordedTransactions {
    recording: RecordingFile,
    blocks: Vec<BlockBegin>,
    writes: bool,
    /// As logged, for each template.
    mean_us: Vec<u64>,
    pub counts: TransactionCounts,
}

impl RecordedTransactions {
    /// Finds the blocks, each `block_us` long. Without `writes`, a transaction is its reads.
    ///
    /// # Errors
    /// It is not a recording, or it is damaged.
    pub fn open(path: &Path, block_us: i64, writes: bool) -> Result<Self, LogError> {
        let mut recording = RecordingFile::open(path)?;
        let mut finder = BlockFinder::new(&mut recording, block_us, writes)?;
        recording.each(&mut |number, statement| finder.take(number, &statement))?;
        finder.finish();
        let BlockFinder {
            blocks,
            mean_us,
            counts,
            ..
        } = finder;
        Ok(Self {
            recording,
            blocks,
            writes,
            mean_us,
            counts,
        })
    }

    pub fn contents(&self) -> &RecordingContents {
        &self.recording.contents
    }

    pub fn writes(&self) -> bool {
        self.writes
    }

    /// Number of blocks. Each has a transaction.
    pub fn blocks(&self) -> usize {
        self.blocks.len()
    }

    /// Reads a block.
    ///
    /// # Errors
    /// The recording is damaged.
    pub fn block(&mut self, place: usize) -> Result<TransactionBlock, LogError> {
        let Some(begin) = self.blocks.get(place) else {
            return Ok(TransactionBlock::default());
        };
        let mut gatherer = Gatherer {
            begin,
            writes: self.writes,
            mean_us: &self.mean_us,
            follower: Follower {
                sessions: begin.sessions.iter().copied().collect(),
                writes: self.writes,
            },
            text: Vec::new(),
            open: BTreeMap::new(),
            done: BTreeMap::new(),
        };
        let numbers = begin.first..begin.behind;
        self.recording.each_of(numbers, &mut |number, statement| {
            gatherer.take(number, &statement);
        })?;
        Ok(gatherer.finish())
    }
}

/// Chooses the leader among the statements of a transaction.
#[derive(Clone, Copy, Debug, Default)]
struct Leader(Option<(u64, u32)>);

impl Leader {
    fn take(&mut self, template: u32, mean_us: &[u64]) {
        let mean_us = mean_us.get(template as usize).copied().unwrap_or_default();
        if self.0.is_none_or(|(most, _)| mean_us > most) {
            self.0 = Some((mean_us, template));
        }
    }

    /// None without a statement.
    fn template(self) -> Option<u32> {
        self.0.map(|(_, template)| template)
    }
}

/// The first pass.
struct BlockFinder {
    block_us: i64,
    follower: Follower,
    /// Statements of each session that are still to come, and whether its end is in the log.
    rest: HashMap<u32, (u64, bool)>,
    mean_us: Vec<u64>,
    blocks: Vec<BlockBegin>,
    /// Beginning of the last block, and bytes of its texts.
    begun_us: i64,
    block_bytes: u64,
    open: HashMap<u64, Leader>,
    counts: TransactionCounts,
}

impl BlockFinder {
    fn new(recording: &mut RecordingFile, block_us: i64, writes: bool) -> Result<Self, LogError> {
        let sessions = recording.sessions()?.into_iter();
        let rest = sessions.map(|session| (session.number, (session.statements, session.has_end)));
        let templates = recording.contents.templates.iter();
        Ok(Self {
            block_us,
            follower: Follower {
                writes,
                ..Follower::default()
            },
            rest: rest.collect(),
            mean_us: templates
                .map(|row| row.total_us / row.timed.max(1))
                .collect(),
            blocks: Vec::new(),
            begun_us: 0,
            block_bytes: 0,
            open: HashMap::new(),
            counts: TransactionCounts::default(),
        })
    }

    fn take(&mut self, number: u64, statement: &StoredStatement<'_>) {
        self.turn_block(number, statement.begin_us);
        self.block_bytes += statement.text.len() as u64;
        let is_last = self.is_last(statement.session);
        let placed = self.follower.place(number, statement, is_last);
        match placed.before {
            Some(Before::Ends(first)) => self.end(first, number + 1),
            Some(Before::LeftOut(first)) => {
                self.open.remove(&first);
                self.counts.not_whole += 1;
            }
            None => {}
        }
        let Some(first) = placed.of else {
            return;
        };
        let writes = self.follower.writes;
        let leader = self.open.entry(first).or_default();
        let is_sent = match placed.is_frame {
            true => writes,
            false => {
                let is_undone = || lasts(statement.text, statement.mode()).is_none();
                statement.is_read || writes && is_undone()
            }
        };
        if is_sent {
            let sent = &mut self.counts.statements;
            *sent.entry(statement.template).or_default() += 1;
            self.counts.bytes += statement.text.len() as u64;
            if !placed.is_frame {
                leader.take(statement.template, &self.mean_us);
            }
        }
        if placed.after == Some(After::Lost)
            && let Some(block) = self.block_of(first)
        {
            block.last.push(number);
        }
        if placed.after.is_some() {
            self.end(first, number + 1);
        }
    }

    /// Begins a block if the one before is over.
    fn turn_block(&mut self, number: u64, begin_us: i64) {
        if let Some(block) = self.blocks.last_mut() {
            let is_over = begin_us.saturating_sub(self.begun_us) >= self.block_us
                || number - block.first >= BLOCK_STATEMENTS
                || self.block_bytes >= BLOCK_BYTES;
            if !is_over {
                return;
            }
            block.next = number;
        }
        (self.begun_us, self.block_bytes) = (begin_us, 0);
        let sessions = self.follower.sessions.iter();
        self.blocks.push(BlockBegin {
            first: number,
            next: u64::MAX,
            sessions: sessions
                .map(|(session, state)| (*session, *state))
                .collect(),
            ..BlockBegin::default()
        });
    }

    /// The session has no further statement. An open transaction is then over, if the log says so,
    /// or if it does not matter how it ended.
    fn is_last(&mut self, session: u32) -> bool {
        let Some((rest, has_end)) = self.rest.get_mut(&session) else {
            return false;
        };
        *rest = rest.saturating_sub(1);
        let is_last = *rest == 0 && (*has_end || !self.follower.writes);
        if *rest == 0 {
            self.rest.remove(&session);
        }
        is_last
    }

    fn block_of(&mut self, first: u64) -> Option<&mut BlockBegin> {
        let behind = self.blocks.partition_point(|block| block.first <= first);
        self.blocks.get_mut(behind.checked_sub(1)?)
    }

    fn end(&mut self, first: u64, behind: u64) {
        let leader = self.open.remove(&first).unwrap_or_default();
        let Some(leader) = leader.template() else {
            return;
        };
        self.counts.transactions += 1;
        *self.counts.led.entry(leader).or_default() += 1;
        if let Some(block) = self.block_of(first) {
            block.behind = block.behind.max(behind);
        }
    }

    fn finish(&mut self) {
        // Nothing is read from blocks without a transaction.
        self.blocks.retain(|block| block.behind > 0);
        self.counts.not_whole += self.open.len() as u64;
    }
}

/// The statements of a transaction.
#[derive(Debug, Default)]
struct GatheredTransaction {
    statements: Vec<BlockStatement>,
    rolls_back: bool,
    leader: Leader,
}

/// Gathers the transactions of one block.
struct Gatherer<'b> {
    begin: &'b BlockBegin,
    writes: bool,
    mean_us: &'b [u64],
    follower: Follower,
    text: Vec<u8>,
    open: BTreeMap<u64, GatheredTransaction>,
    done: BTreeMap<u64, GatheredTransaction>,
}

impl Gatherer<'_> {
    fn take(&mut self, number: u64, statement: &StoredStatement<'_>) {
        let is_last = self.begin.last.binary_search(&number).is_ok();
        let placed = self.follower.place(number, statement, is_last);
        match placed.before {
            Some(Before::Ends(first)) => {
                self.put_frame(first, b"COMMIT");
                self.end(first, false);
            }
            Some(Before::LeftOut(first)) => drop(self.open.remove(&first)),
            None => {}
        }
        let Some(first) = placed.of else {
            return;
        };
        if !(self.begin.first..self.begin.next).contains(&first) {
            return;
        }
        self.open.entry(first).or_default();
        if placed.begins_unsaid {
            self.put_frame(first, b"START TRANSACTION");
        }
        let is_sent = match placed.is_frame {
            true => self.writes,
            false => statement.why_not(self.writes).is_none(),
        };
        if is_sent {
            let text = self.put_text(statement.text);
            if let Some(transaction) = self.open.get_mut(&first) {
                if !placed.is_frame {
                    transaction.leader.take(statement.template, self.mean_us);
                }
                transaction.statements.push(BlockStatement {
                    template: Some(statement.template),
                    database: statement.database,
                    ansi_quotes: statement.ansi_quotes,
                    no_backslash_escapes: statement.no_backslash_escapes,
                    text,
                });
            }
        }
        match placed.after {
            Some(After::Ends { rolls_back }) => self.end(first, rolls_back),
            Some(After::Lost) => {
                self.put_frame(first, b"ROLLBACK");
                self.end(first, true);
            }
            None => {}
        }
    }

    fn put_text(&mut self, text: &[u8]) -> Range<usize> {
        let start = self.text.len();
        self.text.extend_from_slice(text);
        start..self.text.len()
    }

    /// Adds a beginning or an end that the log does not have. Reads have neither.
    fn put_frame(&mut self, first: u64, text: &[u8]) {
        if !self.writes || !self.open.contains_key(&first) {
            return;
        }
        let text = self.put_text(text);
        if let Some(transaction) = self.open.get_mut(&first) {
            let last = transaction.statements.last();
            let frame = BlockStatement {
                template: None,
                database: last.map_or(0, |last| last.database),
                ansi_quotes: last.is_some_and(|last| last.ansi_quotes),
                no_backslash_escapes: last.is_some_and(|last| last.no_backslash_escapes),
                text,
            };
            transaction.statements.push(frame);
        }
    }

    fn end(&mut self, first: u64, rolls_back: bool) {
        let Some(transaction) = self.open.remove(&first) else {
            return;
        };
        let rolls_back = rolls_back && self.writes;
        let transaction = GatheredTransaction {
            rolls_back,
            ..transaction
        };
        self.done.insert(first, transaction);
    }

    fn finish(self) -> TransactionBlock {
        let mut block = TransactionBlock {
            text: self.text,
            ..TransactionBlock::default()
        };
        for transaction in self.done.into_values() {
            let Some(leader) = transaction.leader.template() else {
                continue;
            };
            let start = block.statements.len();
            block.statements.extend(transaction.statements);
            block.transactions.push(TransactionPart {
                statements: start..block.statements.len(),
                rolls_back: transaction.rolls_back,
                leader,
            });
        }
        block
    }
}

#[cfg(test)]
mod tests;

//! The transactions of a recording, read in blocks of some seconds.
//!
//! Statements of sessions lie between one another in a recording. A first pass finds where blocks
//! begin, and which sessions are inside a transaction there; no text is kept. Then any block can be
//! read by itself: it has all transactions that begin in it, whole, in the order of their
//! beginnings.

use crate::boundary::{Boundary, boundary};
use crate::entry::LogError;
use crate::file::{RecordingContents, RecordingFile};
use crate::stored::StoredStatement;
use crate::undone::lasts;
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::path::Path;

/// A block ends after this number of statements, or bytes of them, however short it is.
const BLOCK_STATEMENTS: u64 = 50_000;
const BLOCK_BYTES: u64 = 64 << 20;
/// Transactions with more statements, or that take longer, are left out; of reads alone, they are
/// divided.
const TRANSACTION_STATEMENTS: u32 = 10_000;
const TRANSACTION_US: i64 = 60_000_000;

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
    /// Of each template.
    mean_us: Vec<u64>,
    pub counts: TransactionCounts,
}

impl RecordedTransactions {
    /// Finds the blocks of so many microseconds. Without `writes`, a transaction is its reads.
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

/// A session's transaction, and whether each statement is one of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct SessionTransaction {
    no_autocommit: bool,
    open: Option<OpenTransaction>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct OpenTransaction {
    /// The number of its first statement.
    first: u64,
    begun_us: i64,
    statements: u32,
    is_left_out: bool,
}

/// What becomes of the transaction before a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Before {
    /// It is committed, or divided.
    Ends(u64),
    LeftOut(u64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum After {
    /// The statement says so, or is alone.
    Ends { rolls_back: bool },
    /// The session is over.
    Lost,
}

/// The place of a statement. Transactions go by the numbers of their first statements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct PlacedStatement {
    before: Option<Before>,
    of: Option<u64>,
    /// It begins, divides or ends its transaction.
    is_frame: bool,
    /// Its transaction begins with it, and it does not say so.
    begins_unsaid: bool,
    after: Option<After>,
}

/// Follows the transactions of sessions.
#[derive(Debug, Default)]
struct Follower {
    /// Those that are not as they were at their beginnings.
    sessions: HashMap<u32, SessionTransaction>,
    writes: bool,
}

impl Follower {
    fn place(
        &mut self,
        number: u64,
        statement: &StoredStatement<'_>,
        is_last: bool,
    ) -> PlacedStatement {
        let known = self.sessions.get(&statement.session).copied();
        let mut session = known.unwrap_or_default();
        let new = OpenTransaction {
            first: number,
            begun_us: statement.begin_us,
            statements: 1,
            is_left_out: false,
        };
        let mut placed = PlacedStatement::default();
        let end = |session: &mut SessionTransaction| {
            let open = session.open.take().filter(|open| !open.is_left_out);
            open.map(|open| Before::Ends(open.first))
        };
        match boundary(statement.text, statement.mode()) {
            Boundary::Begin => {
                placed.before = end(&mut session);
                session.open = Some(new);
                (placed.of, placed.is_frame) = (Some(number), true);
            }
            Boundary::End { rolls_back, chains } => {
                if let Some(open) = session.open.take()
                    && !open.is_left_out
                {
                    (placed.of, placed.is_frame) = (Some(open.first), true);
                    placed.after = Some(After::Ends { rolls_back });
                }
                session.open = chains.then_some(OpenTransaction {
                    is_left_out: true,
                    ..new
                });
            }
            Boundary::Autocommit(is_on) => {
                if is_on {
                    placed.before = end(&mut session);
                }
                session.no_autocommit = !is_on;
            }
            Boundary::Commits => placed.before = end(&mut session),
            Boundary::Distributed { begins } => {
                placed.before = end(&mut session);
                session.open = begins.then_some(OpenTransaction {
                    is_left_out: true,
                    ..new
                });
            }
            inside => {
                placed.is_frame = inside == Boundary::Savepoint;
                match &mut session.open {
                    Some(open) if !open.is_left_out => {
                        open.statements += 1;
                        let is_long = open.statements > TRANSACTION_STATEMENTS
                            || statement.begin_us.saturating_sub(open.begun_us) > TRANSACTION_US;
                        placed.of = Some(open.first);
                        if is_long && self.writes {
                            placed.before = Some(Before::LeftOut(open.first));
                            (placed.of, open.is_left_out) = (None, true);
                        } else if is_long {
                            placed.before = Some(Before::Ends(open.first));
                            (placed.of, *open) = (Some(number), new);
                        }
                    }
                    Some(_) => {}
                    None if session.no_autocommit => {
                        session.open = Some(new);
                        (placed.of, placed.begins_unsaid) = (Some(number), true);
                    }
                    None if placed.is_frame => {}
                    None => {
                        placed.of = Some(number);
                        placed.after = Some(After::Ends { rolls_back: false });
                    }
                }
            }
        }
        if is_last {
            let open = session.open.filter(|open| !open.is_left_out);
            placed.after = placed.after.or(open.map(|_| After::Lost));
            session = SessionTransaction::default();
        }
        if session == SessionTransaction::default() {
            self.sessions.remove(&statement.session);
        } else {
            self.sessions.insert(statement.session, session);
        }
        placed
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
    /// Of the last block.
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
        // Of blocks without a transaction nothing is read.
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
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::testing::{Folder, general_log, import};
    use std::fs;

    /// The texts of the transactions of all blocks, with a `!` in front of those that roll back.
    fn of(log: &str, block_us: i64, writes: bool) -> (Vec<Vec<Vec<String>>>, TransactionCounts) {
        let folder = Folder::new();
        let path = import(&folder, log);
        let mut recorded = RecordedTransactions::open(&path, block_us, writes).unwrap();
        let blocks = (0..recorded.blocks()).map(|place| texts(&recorded.block(place).unwrap()));
        let blocks: Vec<Vec<Vec<String>>> = blocks.collect();
        let found: usize = blocks.iter().map(Vec::len).sum();
        assert_eq!(found as u64, recorded.counts.transactions);
        assert_eq!(recorded.counts.led.values().sum::<u64>(), found as u64);
        (blocks, recorded.counts)
    }

    fn texts(block: &TransactionBlock) -> Vec<Vec<String>> {
        let text = |statement: &BlockStatement| {
            String::from_utf8_lossy(&block.text[statement.text.clone()]).into_owned()
        };
        let of = |transaction: &TransactionPart| {
            let sign = transaction.rolls_back.then(|| "!".to_owned());
            let statements = &block.statements[transaction.statements.clone()];
            sign.into_iter()
                .chain(statements.iter().map(text))
                .collect()
        };
        block.transactions.iter().map(of).collect()
    }

    fn one_block(entries: &[(u64, u32, &str)], writes: bool) -> Vec<Vec<String>> {
        let (blocks, _) = of(&general_log(entries), 60_000_000, writes);
        assert!(blocks.len() <= 1);
        blocks.into_iter().next().unwrap_or_default()
    }

    #[test]
    fn transactions_are_whole_and_in_the_order_of_their_beginnings() {
        let entries = [
            (0, 7, "BEGIN"),
            (1, 8, "SELECT 1"),
            (2, 7, "UPDATE t SET a = 1"),
            (3, 9, "START TRANSACTION"),
            (4, 9, "SELECT 2"),
            (5, 8, "INSERT INTO t VALUES (1)"),
            (6, 9, "ROLLBACK"),
            (7, 7, "SELECT 3"),
            (8, 7, "COMMIT"),
            (9, 7, "COMMIT"),
        ];
        assert_eq!(
            one_block(&entries, true),
            [
                vec!["BEGIN", "UPDATE t SET a = 1", "SELECT 3", "COMMIT"],
                vec!["SELECT 1"],
                vec!["!", "START TRANSACTION", "SELECT 2", "ROLLBACK"],
                vec!["INSERT INTO t VALUES (1)"],
            ]
        );
        // Without writes, a transaction is its reads.
        assert_eq!(
            one_block(&entries, false),
            [["SELECT 3"], ["SELECT 1"], ["SELECT 2"]]
        );
    }

    #[test]
    fn without_autocommit_a_transaction_lasts_until_it_is_ended_or_its_session_is() {
        let entries = [
            (0, 7, "SET autocommit=0"),
            (1, 7, "SELECT 1"),
            (2, 7, "SELECT 2"),
            (3, 7, "COMMIT"),
            (4, 7, "SELECT 3"),
            (5, 7, "SET autocommit=1"),
            (6, 7, "SELECT 4"),
            (7, 8, "SET autocommit=0"),
            (8, 8, "SELECT 5"),
            (9, 8, "quit"),
            (10, 9, "SET autocommit=0"),
            (11, 9, "SELECT 6"),
        ];
        let begin = "START TRANSACTION";
        assert_eq!(
            one_block(&entries, true),
            [
                vec![begin, "SELECT 1", "SELECT 2", "COMMIT"],
                vec![begin, "SELECT 3", "COMMIT"],
                vec!["SELECT 4"],
                vec!["!", begin, "SELECT 5", "ROLLBACK"],
            ]
        );
        // How the last one ended is not known, and does not matter to reads.
        let reads = one_block(&entries, false);
        let lengths: Vec<usize> = reads.iter().map(Vec::len).collect();
        assert_eq!(lengths, [2, 1, 1, 1, 1]);
        assert_eq!(reads.last().unwrap(), &["SELECT 6"]);
    }

    #[test]
    fn what_is_not_allowed_is_never_sent_and_what_commits_ends_its_transaction() {
        let entries = [
            (0, 7, "BEGIN"),
            (1, 7, "UPDATE t SET a = 1"),
            (2, 7, "SET GLOBAL max_connections = 5"),
            (3, 7, "SELECT GET_LOCK('a', 1)"),
            (4, 7, "KILL 5"),
            (5, 7, "SELECT 1"),
            (6, 7, "COMMIT"),
            (7, 7, "LOCK TABLES t WRITE"),
            (8, 7, "DROP TABLE t"),
            (9, 7, "BEGIN"),
            (10, 7, "CALL p()"),
            (11, 7, "COMMIT"),
            (12, 7, "XA START 'a'"),
            (13, 7, "UPDATE t SET a = 2"),
            (14, 7, "XA COMMIT 'a'"),
            (15, 7, "SELECT 2 FOR UPDATE"),
        ];
        assert_eq!(
            one_block(&entries, true),
            [
                vec!["BEGIN", "UPDATE t SET a = 1", "COMMIT"],
                vec!["SELECT 1"],
                vec!["SELECT 2 FOR UPDATE"],
            ]
        );
        assert_eq!(one_block(&entries, false), [["SELECT 1"]]);
    }

    #[test]
    fn blocks_have_what_begins_in_them_and_any_is_read_alone() {
        let mut entries = Vec::new();
        let texts: Vec<String> = (0..40).map(|n| format!("SELECT {n}")).collect();
        for (place, text) in texts.iter().enumerate() {
            entries.push((place as u64 * 250, 5, text.as_str()));
        }
        // One that begins in the second block and ends in the fourth, and one without an end.
        entries.push((2_100, 6, "BEGIN"));
        entries.push((3_100, 6, "UPDATE t SET a = 1"));
        entries.push((6_100, 6, "COMMIT"));
        entries.push((1_100, 7, "BEGIN"));
        entries.push((9_100, 7, "UPDATE t SET a = 2"));
        entries.sort_unstable();
        let log = general_log(&entries);
        let (blocks, counts) = of(&log, 2_000_000, true);
        let lengths: Vec<usize> = blocks.iter().map(Vec::len).collect();
        assert_eq!(lengths, [8, 9, 8, 8, 8]);
        assert!(blocks[1].contains(&vec![
            "BEGIN".to_owned(),
            "UPDATE t SET a = 1".to_owned(),
            "COMMIT".to_owned(),
        ]));
        assert_eq!(counts.not_whole, 1);
        let (whole, _) = of(&log, 60_000_000, true);
        assert_eq!(blocks.concat(), whole.concat());
    }

    #[test]
    fn long_transactions_are_left_out_and_those_of_reads_divided() {
        let entries = [
            (0, 7, "BEGIN"),
            (10, 7, "SELECT 1"),
            (70_000, 7, "SELECT 2"),
            (70_001, 7, "COMMIT"),
            (70_002, 7, "SELECT 3"),
        ];
        let log = general_log(&entries);
        let (blocks, counts) = of(&log, 5_000_000, true);
        assert_eq!(
            (blocks.concat(), counts.not_whole),
            (vec![vec!["SELECT 3".to_owned()]], 1)
        );
        let (blocks, counts) = of(&log, 5_000_000, false);
        assert_eq!((blocks.concat().len(), counts.not_whole), (3, 0));
    }

    #[test]
    fn a_damaged_recording_is_an_error_when_its_block_is_read() {
        let folder = Folder::new();
        let path = import(
            &folder,
            &general_log(&[(0, 7, "SELECT 1"), (1, 7, "SELECT 2")]),
        );
        let mut recorded = RecordedTransactions::open(&path, 1_000_000, false).unwrap();
        let mut bytes = fs::read(&path).unwrap();
        bytes[30] ^= 1;
        // In place: the file that is open is the one that is damaged.
        let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
        std::os::unix::fs::FileExt::write_all_at(&file, &bytes, 0).unwrap();
        assert!(
            recorded
                .block(0)
                .unwrap_err()
                .message
                .contains("is damaged")
        );
        assert!(RecordedTransactions::open(&path, 1_000_000, false).is_err());
    }
}

//! Transactions of small logs, block by block.
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

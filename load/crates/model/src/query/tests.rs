//! The acts of a query, compared with those observed on a server.

#![allow(clippy::unwrap_used)]
use super::super::page::search;
use super::*;
use proptest::prelude::*;
use std::collections::BTreeMap;

const ALONE: Parting = Parting {
    descriptor: 0,
    segments: 1,
};

#[test]
fn the_row_of_an_id_is_found_by_one_walk_down_the_primary_key() {
    let mut page_copy = [0; crate::PAGE_BYTES];
    let mut asked = |index: &Index, id| {
        let mut query = PointQuery::new(index);
        let (mut walks, mut requests, mut read) = (0, 0, None);
        let mut seen = ActResult::Nothing;
        query.begin_by_id(&[id], ALONE);
        loop {
            let act = query.next(seen);
            seen = ActResult::Nothing;
            match act {
                Act::EnterIndex => walks += 1,
                Act::Find { page, .. } => {
                    requests += 1;
                    seen = ActResult::Find(Find::Hit(page));
                }
                Act::Copy { page, .. } => index.write(page, &mut page_copy),
                Act::Search { key, side, .. } => {
                    seen = ActResult::InPage(search(&page_copy, key, side));
                }
                Act::Row(row) => read = Some(row),
                Act::Done => return (walks, requests, read),
                _ => {}
            }
        }
    };
    for rows in [1, 127, 128, 11_812, 12_000] {
        let index = Index::new(rows);
        for id in [0, 1, 64, 126, 127, 128, rows / 2, rows - 1, rows, rows + 1] {
            let (walks, _, read) = asked(&index, id);
            let wanted = (1..=rows).contains(&id).then_some(id);
            assert_eq!((walks, read), (1, wanted), "{id} of {rows}");
        }
    }
    // Observed of MariaDB 10.11: a key in a page above is looked for in the leaf before it too.
    let index = Index::new(100_000);
    let requests = [500, 126, 127, 8_001, 100_000, 200_000].map(|id| asked(&index, id).1);
    assert_eq!(requests, [3, 3, 4, 4, 3, 3]);
}

/// All acts of a query that finds every page in the cache.
fn acts(index: &Index, keys: &[u32]) -> Vec<Act> {
    let mut query = PointQuery::new(index);
    query.begin(keys, ALONE);
    let (mut acts, mut seen) = (Vec::new(), ActResult::Nothing);
    loop {
        let act = query.next(seen);
        acts.push(act);
        seen = match act {
            Act::Find { page, .. } => ActResult::Find(Find::Hit(page)),
            Act::Search { page, key, side } => ActResult::InPage(index.child(page, key, side)),
            Act::Done => return acts,
            _ => ActResult::Nothing,
        };
    }
}

fn pages(acts: &[Act]) -> Vec<u32> {
    let pages = acts.iter().map(|act| match act {
        Act::Find { page, .. } => Some(*page),
        _ => None,
    });
    pages.flatten().collect()
}

fn count(acts: &[Act], wanted: impl Fn(&Act) -> bool) -> usize {
    acts.iter().filter(|act| wanted(act)).count()
}

#[test]
fn a_key_asks_for_the_pages_that_a_server_asks_for() {
    // Observed on MariaDB 10.11 with 64 segments, which distinguish pages.
    let index = Index::new(100_000);
    let asked = |key| {
        let mut times = BTreeMap::new();
        let acts = acts(&index, &[key]);
        for page in pages(&acts) {
            *times.entry(page).or_insert(0) += 1;
        }
        let locks = count(&acts, |act| *act == Act::EnterIndex);
        (times.into_iter().collect::<Vec<_>>(), locks)
    };
    let inside = vec![(1004, 3), (1081, 3), (1599, 3)];
    assert_eq!(asked(25_450), (inside, 3));
    let last_in_leaf = vec![(1105, 4), (1174, 5), (1599, 4)];
    assert_eq!(asked(38_226), (last_in_leaf, 4));
    let above = vec![(1104, 2), (1105, 2), (1174, 4), (1599, 3)];
    assert_eq!(asked(38_100), (above, 3));
    let in_root = vec![(1079, 2), (1080, 2), (1081, 2), (1174, 2), (1599, 4)];
    assert_eq!(asked(35_052), (in_root, 3));
    let last_in_page_above = vec![(1543, 2), (1544, 2), (1546, 5), (1599, 4)];
    assert_eq!(asked(93_345), (last_in_page_above, 4));
    let last_of_all = vec![(1597, 4), (1598, 4), (1599, 4)];
    assert_eq!(asked(100_000), (last_of_all, 4));
    let not_there = vec![(1597, 3), (1598, 3), (1599, 3)];
    assert_eq!(asked(100_005), (not_there, 2));
}

#[test]
fn estimates_of_all_keys_come_first_then_their_rows_in_order() {
    let index = Index::new(100_000);
    let acts = acts(&index, &[70_000, 500, 70_000, 9]);
    let rows: Vec<usize> = (0..)
        .zip(&acts)
        .filter(|(_, act)| matches!(act, Act::Row(_)))
        .map(|(at, _)| at)
        .collect();
    assert_eq!(
        rows.iter().map(|at| acts[*at]).collect::<Vec<_>>(),
        [9, 500, 70_000].map(Act::Row)
    );
    assert_eq!(pages(&acts[..rows[0]]).len(), 7 * 3);
    let enters = |acts: &[Act]| count(acts, |act| *act == Act::EnterIndex);
    assert_eq!((enters(&acts[..rows[0]]), enters(&acts)), (4, 9));
    assert_eq!(acts[acts.len() - 2..], [Act::Query, Act::Done]);
}

#[test]
fn many_keys_are_not_estimated() {
    let index = Index::new(100_000);
    let keys: Vec<u32> = (0..200).map(|n| 25_450 + 127 * n).collect();
    assert_eq!(pages(&acts(&index, &keys[1..])).len(), 199 * 9);
    assert_eq!(pages(&acts(&index, &keys)).len(), 200 * 3);
}

#[test]
fn nothing_is_asked_for_no_key() {
    assert_eq!(acts(&Index::new(9), &[]), [Act::Query, Act::Done]);
}

#[test]
fn a_point_costs_nine_requests_and_a_little() {
    let index = Index::new(1_000_000);
    let all: usize = (0..127 * 92)
        .map(|n| pages(&acts(&index, &[500_000 + n])).len())
        .sum();
    // Among 127 keys one is the last in its leaf, and one is above.
    let mean = all as f64 / (127.0 * 92.0);
    assert!((mean - (9.0 + 6.0 / 127.0)).abs() < 0.001, "{mean}");
}

proptest! {
    #[test]
    fn every_lock_is_given_back_and_every_block_released(
        rows in 1u32..300_000,
        keys in proptest::collection::vec(any::<u32>(), 0..20),
        more in proptest::collection::vec(0u32..40_000, 0..20),
        segments in 1u32..65,
    ) {
        let index = Index::new(rows);
        let parting = Parting { descriptor: 44, segments };
        let keys = [keys, more].concat();
        let mut query = PointQuery::new(&index);
        query.begin(&keys, parting);
        let (mut inside, mut locked, mut used) = (false, None, None);
        let (mut seen, mut found, mut finds) = (ActResult::Nothing, Vec::new(), 0u32);
        loop {
            let act = query.next(seen);
            seen = ActResult::Nothing;
            match act {
                Act::EnterIndex => prop_assert!(!std::mem::replace(&mut inside, true)),
                Act::LeaveIndex => prop_assert!(std::mem::replace(&mut inside, false)),
                Act::Lock { seg } => prop_assert_eq!(locked.replace(seg), None),
                Act::Unlock { seg } => prop_assert_eq!(locked.take(), Some(seg)),
                Act::Find { seg, page } => {
                    prop_assert!(inside && used.is_none());
                    prop_assert_eq!((locked, seg), (Some(seg), parting.segment_of(page)));
                    finds += 1;
                    let block = finds;
                    let find = [Find::Hit(block), Find::Miss(block), Find::Wait(block), Find::Full];
                    let find = find[finds as usize % 4];
                    used = (find != Find::Full).then_some(block);
                    seen = ActResult::Find(find);
                }
                Act::AwaitPage { seg, block } | Act::Arrived { seg, block } => {
                    prop_assert_eq!((locked, used), (Some(seg), Some(block)));
                }
                Act::AwaitBlock { seg } => prop_assert_eq!((locked, used), (Some(seg), None)),
                Act::ReadPage { block, .. } | Act::Copy { block, .. } => {
                    prop_assert_eq!((locked, used), (None, Some(block)));
                }
                Act::Release { seg, block } => {
                    prop_assert_eq!((locked, used.take()), (Some(seg), Some(block)));
                }
                Act::Search { page, key, side } => {
                    prop_assert!(inside && locked.is_none());
                    seen = ActResult::InPage(index.child(page, key, side));
                }
                Act::Row(row) => {
                    prop_assert!(!inside && locked.is_none());
                    found.push(row);
                }
                Act::Point | Act::Query => prop_assert!(!inside),
                Act::Done => break,
            }
        }
        let mut wanted: Vec<u32> = keys.into_iter().filter(|k| (1..=rows).contains(k)).collect();
        wanted.sort_unstable();
        wanted.dedup();
        prop_assert_eq!(found, wanted);
    }
}

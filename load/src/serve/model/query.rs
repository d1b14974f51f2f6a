//! What a query of the study does, `SELECT id, k, c, pad FROM sbtest WHERE k IN (…)`, act by act.
//!
//! Keys are looked up in order, each once. First the optimizer estimates how many rows each key
//! has: two walks from the root of `k`, to where its rows begin and to where they end. Then each key
//! is looked for again, its row is read, and the server looks for a next row with the same key. That
//! is three walks, and more for a key at the edge of a page:
//!
//! - a key that is in a page above could be in a leaf before it too: the third walk goes down to
//!   that leaf, and back; the next row is looked for in the leaf behind it;
//! - behind the last entry of a page the next one is looked for from the root, which is a fourth
//!   walk: from a leaf it goes down to the same leaf, and back to the page above that has the next
//!   entry.
//!
//! If the query has 200 keys or more (`eq_range_index_dive_limit`), nothing is estimated.
//! `docs/decisions/0044` says how this was observed.

use super::cache::Find;
use super::index::{InPage, Index, Side};

/// How the pages of the index are parted among segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parting {
    /// The file descriptor of the index.
    pub descriptor: u32,
    /// Segments, at least 1.
    pub segments: u32,
}

impl Parting {
    /// The segment of a page, from 0.
    #[inline]
    pub fn segment_of(self, page: u32) -> u32 {
        page.wrapping_add(self.descriptor) % self.segments.max(1)
    }
}

/// What a driver is to do next. `seg` is the number of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// Take the read lock of the index.
    EnterIndex,
    LeaveIndex,
    /// Take the lock of a segment.
    Lock {
        seg: u32,
    },
    Unlock {
        seg: u32,
    },
    /// Call `find` of the segment, and tell what it found.
    Find {
        seg: u32,
        page: u32,
    },
    /// Wait until the page has arrived in the block that another thread is reading it into. The
    /// lock is held before and after, and not while waiting.
    AwaitPage {
        seg: u32,
        block: u32,
    },
    /// Wait until a block of the segment is released. The lock as for `AwaitPage`.
    AwaitBlock {
        seg: u32,
    },
    /// Read the page into the block; the lock is not held.
    ReadPage {
        seg: u32,
        block: u32,
        page: u32,
    },
    /// Call `arrived` of the segment, and wake those that wait for the page.
    Arrived {
        seg: u32,
        block: u32,
    },
    /// Copy the page out of the block; the lock is not held.
    Copy {
        seg: u32,
        block: u32,
        page: u32,
    },
    /// Call `release` of the segment, and wake those that wait for a block if it says so.
    Release {
        seg: u32,
        block: u32,
    },
    /// Search the copy of the page for the key, and tell what was found.
    Search {
        page: u32,
        key: u32,
        side: Side,
    },
    /// Read the row of this number.
    Row(u32),
    /// What a point costs besides.
    Point,
    /// What the query costs besides.
    Query,
    /// The query is over.
    Done,
}

/// What came of the last act.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// Nothing that matters; also before the first act.
    Nothing,
    Find(Find),
    InPage(InPage),
}

/// Keys from which on nothing is estimated: `eq_range_index_dive_limit` of the server.
pub const ESTIMATED_MAX: usize = 199;

/// One query after another: [`Self::begin`] with its keys, then [`Self::next`] until `Done`.
/// Nothing is allocated once the longest query was seen.
#[derive(Clone, Debug)]
pub struct PointQuery {
    key_root: u32,
    primary_root: u32,
    /// Of the key that is walked down.
    root: u32,
    parting: Parting,
    /// In order, each once.
    keys: Vec<u32>,
    /// The key that is looked up, by its place.
    at: usize,
    walk: Walk,
    then: Then,
    page: u32,
    seg: u32,
    block: u32,
    /// A page above to which the walk may have to come back, and what was found in it.
    passed: Option<(u32, InPage)>,
    /// The page that is asked for now is one to which the walk comes back.
    back: bool,
    /// The row that was found, and where its key is.
    row: Option<(u32, KeyAt)>,
}

/// What a walk is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Walk {
    /// Estimates: to where the rows of the key begin, to where they end.
    Begin,
    End,
    /// To the row.
    Row,
    /// To a next row: from where the key was found, or from the root.
    Next,
    NextFromRoot,
    /// To the row of a key that has one at most.
    Only,
}

/// Where the key of the row is: the next row with the same key would lie
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum KeyAt {
    /// in the same leaf;
    Leaf,
    /// below the same page above;
    Above,
    /// anywhere: it is the last of its page.
    PageEnd,
}

/// What is due when a driver asks for the next act.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Then {
    Enter,
    Lock,
    Find,
    Found,
    ReadPage,
    LockForArrival,
    Arrived,
    UnlockArrived,
    Copy,
    LockForRelease,
    Release,
    UnlockReleased,
    Search,
    Searched,
    Leave,
    Left,
    Point,
    NextKey,
    Query,
    Done,
}

impl PointQuery {
    pub fn new(index: &Index) -> Self {
        Self {
            key_root: index.root(),
            primary_root: index.primary_root(),
            root: index.root(),
            parting: Parting {
                descriptor: 0,
                segments: 1,
            },
            keys: Vec::new(),
            at: 0,
            walk: Walk::Begin,
            then: Then::Done,
            page: 0,
            seg: 0,
            block: 0,
            passed: None,
            back: false,
            row: None,
        }
    }

    /// A query for the rows of these values of `id` begins. Each has one row at most, so nothing is
    /// estimated and no next row is looked for: one walk down the primary key each.
    pub fn begin_by_id(&mut self, keys: &[u32], parting: Parting) {
        self.begin(keys, parting);
        (self.root, self.walk) = (self.primary_root, Walk::Only);
    }

    /// A query for the rows of these keys begins. The parting holds for all of it.
    pub fn begin(&mut self, keys: &[u32], parting: Parting) {
        self.root = self.key_root;
        self.keys.clear();
        self.keys.extend_from_slice(keys);
        self.keys.sort_unstable();
        self.keys.dedup();
        self.parting = parting;
        self.at = 0;
        self.walk = match self.keys.len() {
            ..=ESTIMATED_MAX => Walk::Begin,
            _ => Walk::Row,
        };
        self.then = match self.keys.is_empty() {
            true => Then::Query,
            false => Then::Enter,
        };
    }

    /// How many keys are looked up: those of the query, each once.
    pub fn points(&self) -> usize {
        self.keys.len()
    }

    /// The next act; `seen` is what came of the last one.
    #[inline]
    pub fn next(&mut self, seen: Seen) -> Act {
        let (seg, block, page) = (self.seg, self.block, self.page);
        let (then, act) = match self.then {
            Then::Enter => (self.entered(), Act::EnterIndex),
            Then::Lock => (Then::Find, Act::Lock { seg }),
            Then::Find => (Then::Found, Act::Find { seg, page }),
            Then::Found => self.found(seen),
            Then::ReadPage => (Then::LockForArrival, Act::ReadPage { seg, block, page }),
            Then::LockForArrival => (Then::Arrived, Act::Lock { seg }),
            Then::Arrived => (Then::UnlockArrived, Act::Arrived { seg, block }),
            Then::UnlockArrived => (Then::Copy, Act::Unlock { seg }),
            Then::Copy => (Then::LockForRelease, Act::Copy { seg, block, page }),
            Then::LockForRelease => (Then::Release, Act::Lock { seg }),
            Then::Release => (Then::UnlockReleased, Act::Release { seg, block }),
            Then::UnlockReleased if self.back => (Then::Leave, Act::Unlock { seg }),
            Then::UnlockReleased => (Then::Search, Act::Unlock { seg }),
            Then::Search => (Then::Searched, self.search()),
            Then::Searched => {
                self.then = self.searched(seen);
                return self.next(Seen::Nothing);
            }
            Then::Leave => (Then::Left, Act::LeaveIndex),
            Then::Left => {
                let (then, row) = self.left();
                self.then = then;
                return match row {
                    Some(row) => Act::Row(row),
                    None => self.next(Seen::Nothing),
                };
            }
            Then::Point => (Then::NextKey, Act::Point),
            Then::NextKey => {
                self.then = self.next_key();
                return self.next(Seen::Nothing);
            }
            Then::Query => (Then::Done, Act::Query),
            Then::Done => (Then::Done, Act::Done),
        };
        self.then = then;
        act
    }

    /// The lock of the index is taken.
    fn entered(&mut self) -> Then {
        match (self.walk, self.row) {
            (Walk::Next, Some((_, KeyAt::Above))) => Then::Search,
            (Walk::Next, _) => Then::Leave,
            _ => self.at_root(),
        }
    }

    fn at_root(&mut self) -> Then {
        self.passed = None;
        self.ask_for(self.root, false)
    }

    fn ask_for(&mut self, page: u32, back: bool) -> Then {
        self.page = page;
        self.seg = self.parting.segment_of(page);
        self.back = back;
        Then::Lock
    }

    fn found(&mut self, seen: Seen) -> (Then, Act) {
        let (seg, page) = (self.seg, self.page);
        let find = match seen {
            Seen::Find(find) => find,
            // Not told what was found: ask again rather than use a block that is not ours.
            _ => return (Then::Found, Act::Find { seg, page }),
        };
        match find {
            Find::Hit(block) => {
                self.block = block;
                (Then::Copy, Act::Unlock { seg })
            }
            Find::Miss(block) => {
                self.block = block;
                (Then::ReadPage, Act::Unlock { seg })
            }
            Find::Wait(block) => {
                self.block = block;
                (Then::UnlockArrived, Act::AwaitPage { seg, block })
            }
            Find::Full => (Then::Find, Act::AwaitBlock { seg }),
        }
    }

    fn search(&self) -> Act {
        Act::Search {
            page: self.page,
            key: self.keys.get(self.at).copied().unwrap_or(0),
            side: match self.walk {
                Walk::Begin | Walk::Row | Walk::Only => Side::Before,
                Walk::End | Walk::Next | Walk::NextFromRoot => Side::Behind,
            },
        }
    }

    fn searched(&mut self, seen: Seen) -> Then {
        let Seen::InPage(in_page) = seen else {
            return Then::Leave;
        };
        let InPage { child, row, more } = in_page;
        if let Some(child) = child {
            let to_come_back = match self.walk {
                Walk::Row | Walk::Only => row.is_some(),
                Walk::NextFromRoot => more,
                _ => false,
            };
            if to_come_back {
                self.passed = Some((self.page, in_page));
            }
            return self.ask_for(child, false);
        }
        match self.walk {
            Walk::Begin => {
                self.walk = Walk::End;
                self.at_root()
            }
            Walk::End | Walk::Next => Then::Leave,
            Walk::Row | Walk::Only => {
                let (found, back) = match (row, self.passed) {
                    (None, Some((page, above))) => (above, Some(page)),
                    _ => (in_page, None),
                };
                let at = match (found.more, back) {
                    (false, _) => KeyAt::PageEnd,
                    (true, None) => KeyAt::Leaf,
                    (true, Some(_)) => KeyAt::Above,
                };
                self.row = found.row.map(|row| (row, at));
                match back {
                    Some(page) => self.ask_for(page, true),
                    None => Then::Leave,
                }
            }
            Walk::NextFromRoot => match self.passed {
                Some((page, _)) if !more => self.ask_for(page, true),
                _ => Then::Leave,
            },
        }
    }

    /// The lock of the index is given back: what is due, and the row to be read before.
    fn left(&mut self) -> (Then, Option<u32>) {
        match (self.walk, self.row) {
            (Walk::Begin | Walk::End, _) => (Then::NextKey, None),
            (Walk::Only, Some((row, _))) => (Then::Point, Some(row)),
            (Walk::Row, Some((row, _))) => {
                self.walk = Walk::Next;
                (Then::Enter, Some(row))
            }
            (Walk::Next, Some((_, KeyAt::PageEnd))) => {
                self.walk = Walk::NextFromRoot;
                (Then::Enter, None)
            }
            _ => (Then::Point, None),
        }
    }

    fn next_key(&mut self) -> Then {
        let estimated = matches!(self.walk, Walk::Begin | Walk::End);
        self.at += 1;
        self.row = None;
        let all = self.at == self.keys.len();
        if all {
            self.at = 0;
        }
        self.walk = match self.walk {
            Walk::Only => Walk::Only,
            _ if estimated && !all => Walk::Begin,
            _ => Walk::Row,
        };
        match all && !estimated {
            true => Then::Query,
            false => Then::Enter,
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    const ALONE: Parting = Parting {
        descriptor: 0,
        segments: 1,
    };

    #[test]
    fn the_row_of_an_id_is_found_by_one_walk_down_the_primary_key() {
        let mut page_copy = [0; crate::serve::model::PAGE_BYTES];
        let mut asked = |index: &Index, id| {
            let mut query = PointQuery::new(index);
            let (mut walks, mut requests, mut read) = (0, 0, None);
            let mut seen = Seen::Nothing;
            query.begin_by_id(&[id], ALONE);
            loop {
                let act = query.next(seen);
                seen = Seen::Nothing;
                match act {
                    Act::EnterIndex => walks += 1,
                    Act::Find { page, .. } => {
                        requests += 1;
                        seen = Seen::Find(Find::Hit(page));
                    }
                    Act::Copy { page, .. } => index.write(page, &mut page_copy),
                    Act::Search { key, side, .. } => {
                        seen = Seen::InPage(Index::search(&page_copy, key, side));
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
        let (mut acts, mut seen) = (Vec::new(), Seen::Nothing);
        loop {
            let act = query.next(seen);
            acts.push(act);
            seen = match act {
                Act::Find { page, .. } => Seen::Find(Find::Hit(page)),
                Act::Search { page, key, side } => Seen::InPage(index.child(page, key, side)),
                Act::Done => return acts,
                _ => Seen::Nothing,
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
        // Observed of MariaDB 10.11 with 64 segments, which tell pages apart.
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
        // Of 127 keys one is the last in its leaf, and one is above.
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
            let (mut seen, mut found, mut finds) = (Seen::Nothing, Vec::new(), 0u32);
            loop {
                let act = query.next(seen);
                seen = Seen::Nothing;
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
                        seen = Seen::Find(find);
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
                        seen = Seen::InPage(index.child(page, key, side));
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
}

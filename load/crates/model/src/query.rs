//! What a query of the study does, `SELECT id, k, c, pad FROM sbtest WHERE k IN (…)`, act by act.
//!
//! Keys are looked up in order, each once. First the optimizer estimates how many rows each key
//! has: two walks from the root of `k`, to the start and to the end of its rows. Then each key is
//! looked for again, its row is read, and the server looks for a next row with the same key. That
//! is three walks, and more for a key at the edge of a page:
//!
//! - a key that is in a page above could be in a leaf before it too: the third walk goes down to
//!   that leaf, and back. The next row is looked for in the leaf behind it;
//! - behind the last entry of a page the next one is looked for from the root, which is a fourth
//!   walk. From a leaf it goes down to the same leaf, and back to the page above that has the next
//!   entry.
//!
//! If the query has 200 keys or more (`eq_range_index_dive_limit`), nothing is estimated.
//! `docs/decisions/0044` describes how this was observed.

use super::cache::Find;
use super::index::Index;
use super::page::{InPage, KeySide};

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

/// The next act of a driver. `seg` is the number of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// Take the read lock of the index: once for both walks of an estimate, once for the walk to a
    /// row, once or twice to look for a next row.
    EnterIndex,
    LeaveIndex,
    /// Take the lock of a segment.
    Lock {
        seg: u32,
    },
    Unlock {
        seg: u32,
    },
    /// Call `find` of the segment, and return its result.
    Find {
        seg: u32,
        page: u32,
    },
    /// Wait until the page has arrived in the block that a different thread is reading it into. The
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
    /// Call `release` of the segment, and wake the threads that wait for a block if it asks for it.
    Release {
        seg: u32,
        block: u32,
    },
    /// Search the copy of the page for the key, and return the result.
    Search {
        page: u32,
        key: u32,
        side: KeySide,
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
pub enum ActResult {
    /// Nothing that matters; also before the first act.
    Nothing,
    Find(Find),
    InPage(InPage),
}

/// Most keys of a query that are estimated: one less than the server's `eq_range_index_dive_limit`.
pub const ESTIMATED_MAX: usize = 199;

/// One query after another: [`Self::begin`] with its keys, then [`Self::next`] until `Done`.
/// Nothing is allocated once the longest query was seen.
#[derive(Clone, Debug)]
pub struct PointQuery {
    key_root: u32,
    primary_root: u32,
    /// The tree of the key that is walked down.
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
    /// A page above to which the walk may have to come back, and the result of its search.
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

/// The place of the row's key, which decides where a next row with the same key would be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum KeyAt {
    /// In a leaf, with an entry behind it.
    Leaf,
    /// In a page above, with an entry behind it.
    Above,
    /// It is the last entry of its page.
    PageEnd,
}

/// The next step when a driver asks for an act.
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

    /// A query for the rows of these keys begins. The parting applies to the whole query.
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

    /// After `EnterIndex`: the walk begins one of the query's parts.
    #[inline]
    pub fn begins_part(&self) -> bool {
        matches!(self.walk, Walk::Begin | Walk::Row | Walk::Only)
    }

    /// Parts of the query: each key is estimated, and looked for. A query of too many keys has only
    /// the second of each.
    pub fn parts(&self) -> usize {
        match self.keys.len() {
            keys @ ..=ESTIMATED_MAX => 2 * keys,
            keys => keys,
        }
    }

    /// The next act; `seen` is the result of the last one.
    #[inline]
    pub fn next(&mut self, seen: ActResult) -> Act {
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
                return self.next(ActResult::Nothing);
            }
            Then::Leave => (Then::Left, Act::LeaveIndex),
            Then::Left => {
                let (then, row) = self.left();
                self.then = then;
                return match row {
                    Some(row) => Act::Row(row),
                    None => self.next(ActResult::Nothing),
                };
            }
            Then::Point => (Then::NextKey, Act::Point),
            Then::NextKey => {
                self.then = self.next_key();
                return self.next(ActResult::Nothing);
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

    fn found(&mut self, seen: ActResult) -> (Then, Act) {
        let (seg, page) = (self.seg, self.page);
        let find = match seen {
            ActResult::Find(find) => find,
            // The result is missing: ask again rather than use a block that is not ours.
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
                Walk::Begin | Walk::Row | Walk::Only => KeySide::Before,
                Walk::End | Walk::Next | Walk::NextFromRoot => KeySide::Behind,
            },
        }
    }

    fn searched(&mut self, seen: ActResult) -> Then {
        let ActResult::InPage(in_page) = seen else {
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

    /// The lock of the index is released: the next step, and the row to be read before it.
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
mod tests;

//! What a query of the study does, `SELECT id, k, c, pad FROM sbtest WHERE k IN (…)`, act by act.
//!
//! Keys are looked up in order, each once. First the optimizer estimates how many rows each key
//! has: two walks from the root of `k`, to where its rows begin and to where they end. Then each key
//! is looked for again, and its row is read. `docs/decisions/0044` says what of this was observed.

use super::cache::Find;
use super::index::{InPage, Index};

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
    /// Take the read lock of the index: once a walk.
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

/// One query after another: [`Self::begin`] with its keys, then [`Self::next`] until `Done`.
/// Nothing is allocated once the longest query was seen.
#[derive(Clone, Debug)]
pub struct PointQuery {
    key_root: u32,
    primary_root: u32,
    /// Of the key that is walked down.
    root: u32,
    /// It is the primary key: an entry that is found in a page above is the only one.
    unique: bool,
    parting: Parting,
    /// In order, each once.
    keys: Vec<u32>,
    /// The keys are estimated first, one after another, then they are read.
    reads: bool,
    at: usize,
    /// Whether the first of the two walks of an estimate is over.
    begins: bool,
    then: Then,
    page: u32,
    seg: u32,
    block: u32,
    /// The page above at which the key was passed on the way down, and its row.
    passed: Option<(u32, u32)>,
    row: Option<u32>,
}

/// What is due when a driver asks for the next act.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Then {
    Enter,
    Ask,
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
    Walked,
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
            unique: false,
            parting: Parting {
                descriptor: 0,
                segments: 1,
            },
            keys: Vec::new(),
            reads: false,
            at: 0,
            begins: false,
            then: Then::Done,
            page: 0,
            seg: 0,
            block: 0,
            passed: None,
            row: None,
        }
    }

    /// A query for the rows of these values of `id` begins. Each has one row at most, so nothing is
    /// estimated: one walk down the primary key each.
    pub fn begin_by_id(&mut self, keys: &[u32], parting: Parting) {
        self.begin(keys, parting);
        (self.root, self.unique, self.reads) = (self.primary_root, true, true);
    }

    /// A query for the rows of these keys begins. The parting holds for all of it.
    pub fn begin(&mut self, keys: &[u32], parting: Parting) {
        (self.root, self.unique) = (self.key_root, false);
        self.keys.clear();
        self.keys.extend_from_slice(keys);
        self.keys.sort_unstable();
        self.keys.dedup();
        self.parting = parting;
        (self.reads, self.at, self.begins) = (false, 0, false);
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
            Then::Enter => {
                self.passed = None;
                self.row = None;
                self.turn_to(self.root);
                (Then::Ask, Act::EnterIndex)
            }
            Then::Ask => (Then::Find, Act::Lock { seg }),
            Then::Find => (Then::Found, Act::Find { seg, page }),
            Then::Found => return self.found(seen),
            Then::ReadPage => (Then::LockForArrival, Act::ReadPage { seg, block, page }),
            Then::LockForArrival => (Then::Arrived, Act::Lock { seg }),
            Then::Arrived => (Then::UnlockArrived, Act::Arrived { seg, block }),
            Then::UnlockArrived => (Then::Copy, Act::Unlock { seg }),
            Then::Copy => (Then::LockForRelease, Act::Copy { seg, block, page }),
            Then::LockForRelease => (Then::Release, Act::Lock { seg }),
            Then::Release => (Then::UnlockReleased, Act::Release { seg, block }),
            Then::UnlockReleased if self.row.is_some() => (Then::Leave, Act::Unlock { seg }),
            Then::UnlockReleased => (Then::Search, Act::Unlock { seg }),
            Then::Search => (
                Then::Searched,
                Act::Search {
                    page,
                    key: self.key(),
                },
            ),
            Then::Searched => return self.searched(seen),
            Then::Leave => (Then::Walked, Act::LeaveIndex),
            Then::Walked => return self.walked(),
            Then::Point => (Then::NextKey, Act::Point),
            Then::NextKey => return self.next_key(),
            Then::Query => (Then::Done, Act::Query),
            Then::Done => (Then::Done, Act::Done),
        };
        self.then = then;
        act
    }

    fn key(&self) -> u32 {
        self.keys.get(self.at).copied().unwrap_or(0)
    }

    fn turn_to(&mut self, page: u32) {
        self.page = page;
        self.seg = self.parting.segment_of(page);
    }

    fn found(&mut self, seen: Seen) -> Act {
        let seg = self.seg;
        let Seen::Find(find) = seen else {
            // Not told what was found: ask again rather than use a block that is not ours.
            self.then = Then::Found;
            return Act::Find {
                seg,
                page: self.page,
            };
        };
        match find {
            Find::Hit(block) => {
                self.block = block;
                self.then = Then::Copy;
                Act::Unlock { seg }
            }
            Find::Miss(block) => {
                self.block = block;
                self.then = Then::ReadPage;
                Act::Unlock { seg }
            }
            Find::Wait(block) => {
                self.block = block;
                self.then = Then::UnlockArrived;
                Act::AwaitPage { seg, block }
            }
            Find::Full => {
                self.then = Then::Find;
                Act::AwaitBlock { seg }
            }
        }
    }

    fn searched(&mut self, seen: Seen) -> Act {
        let in_page = match seen {
            Seen::InPage(in_page) => in_page,
            _ => InPage {
                child: None,
                row: None,
            },
        };
        match in_page {
            InPage { row: Some(row), .. } if self.unique => {
                self.row = Some(row);
                self.then = Then::Leave;
            }
            InPage {
                child: Some(child),
                row,
            } => {
                if let Some(row) = row {
                    self.passed = Some((self.page, row));
                }
                self.turn_to(child);
                self.then = Then::Ask;
            }
            InPage { child: None, row } => {
                self.row = row;
                self.then = Then::Leave;
                if let (None, Some((page, row))) = (row, self.passed) {
                    // No row before it has the key: back to the page that has it.
                    self.row = Some(row);
                    self.turn_to(page);
                    self.then = Then::Ask;
                }
            }
        }
        self.next(Seen::Nothing)
    }

    fn walked(&mut self) -> Act {
        if !self.reads {
            self.begins = !self.begins;
            self.then = match self.begins {
                true => Then::Enter,
                false => Then::NextKey,
            };
            return self.next(Seen::Nothing);
        }
        self.then = Then::Point;
        match self.row {
            Some(row) => Act::Row(row),
            None => self.next(Seen::Nothing),
        }
    }

    fn next_key(&mut self) -> Act {
        self.at += 1;
        self.then = Then::Enter;
        if self.at == self.keys.len() {
            if self.reads {
                self.then = Then::Query;
            }
            self.at = 0;
            self.reads = true;
        }
        self.next(Seen::Nothing)
    }
}

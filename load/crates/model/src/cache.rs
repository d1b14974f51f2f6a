//! One segment of the key cache: a hash of the pages in it, its blocks, and the order in which
//! blocks are given to other pages.
//!
//! The rules are those that MariaDB 10.11 was observed to follow (`docs/decisions/0044`). They
//! differ from the manual's description of midpoint insertion:
//!
//! - Unused blocks are in one order. A new page gets the first of them; a released block goes to
//!   the end. That is all until a block gets old.
//! - One block of that order is marked. If the block is taken out, the mark moves to the block
//!   before it, from the first to the last. Whenever a block is released, the marked one is
//!   checked. If it was not used for more than `key_cache_age_threshold` percent of the blocks in
//!   releases, it becomes the first in the order, and is warm from then on.
//! - A released block becomes hot if it was used three times or more since its page came, and more
//!   than `key_cache_division_limit` percent of the blocks are warm. It is not warm any longer,
//!   goes behind the marked block, and has the mark.
//!
//! The driver holds the segment's lock whenever it calls; nothing here waits or allocates.

use super::sizes::BLOCKS_MIN;

/// Uses after which a block may turn hot.
const USES_TO_HOT: u8 = 3;
/// No block, no page.
const NONE: u32 = u32::MAX;

/// What came of asking for a page. The block is in use by the asking thread until it releases it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Find {
    /// The page is in this block.
    Hit(u32),
    /// The asking thread must read the page into this block, then report its arrival.
    Miss(u32),
    /// Another thread is reading the page into this block; wait until it has arrived.
    Wait(u32),
    /// All blocks are in use; wait until one is released, then ask again. Nothing was counted.
    Full,
}

/// What a segment counted, and its blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SegmentCounts {
    pub read_requests: u64,
    pub reads: u64,
    /// Blocks that hold a page.
    pub used_blocks: u32,
    pub unused_blocks: u32,
}

/// A block's control data: half a cache line.
#[derive(Clone, Debug)]
struct Block {
    page: u32,
    /// The next block in the same bucket of the hash.
    same_hash: u32,
    /// Its neighbours in the order, which is a ring; only for an unused block with a page.
    before: u32,
    after: u32,
    /// The threads that use it.
    users: u32,
    uses_to_hot: u8,
    /// It outlives its page, as the server's does.
    warm: bool,
    arrived: bool,
    /// The release, by its number, at which it was last used.
    released: u64,
}

/// A segment; see the module's comment. The fields that every request writes come last, so that
/// control blocks side by side do share cache lines.
#[derive(Debug)]
#[repr(C)]
pub struct Segment {
    blocks: Box<[Block]>,
    /// The first block of each bucket.
    buckets: Box<[u32]>,
    /// The bits of a page's hash that select its bucket.
    shift: u32,
    /// Blocks are hot only if more than this number are warm.
    warm_min: u32,
    /// Releases after which the marked block is old.
    age_max: u64,
    /// Blocks that hold a page.
    used: u32,
    /// The first block that holds none; each has the next one after it.
    unused: u32,
    warm: u32,
    /// The last block of the order; the first comes after it.
    last: u32,
    /// The block with the mark.
    mark: u32,
    releases: u64,
    reads: u64,
    read_requests: u64,
}

impl Segment {
    /// A segment of `blocks` blocks, at least [`BLOCKS_MIN`], all unused. `division_limit` and
    /// `age_threshold` are percentages, like the variables of the server.
    pub fn new(blocks: u32, division_limit: u32, age_threshold: u32) -> Self {
        let blocks = blocks.max(BLOCKS_MIN);
        let buckets = (blocks.saturating_mul(5) / 4).next_power_of_two();
        let block = |number| Block {
            page: NONE,
            same_hash: NONE,
            before: NONE,
            after: if number + 1 < blocks {
                number + 1
            } else {
                NONE
            },
            users: 0,
            uses_to_hot: USES_TO_HOT,
            warm: false,
            arrived: false,
            released: 0,
        };
        let mut segment = Self {
            blocks: (0..blocks).map(block).collect(),
            buckets: vec![NONE; buckets as usize].into_boxed_slice(),
            shift: 32 - buckets.trailing_zeros(),
            warm_min: 0,
            age_max: 0,
            used: 0,
            unused: 0,
            warm: 0,
            last: NONE,
            mark: NONE,
            releases: 0,
            reads: 0,
            read_requests: 0,
        };
        segment.set_limits(division_limit, age_threshold);
        segment
    }

    /// Changes the two percentages; blocks stay where they are until they are used again.
    pub fn set_limits(&mut self, division_limit: u32, age_threshold: u32) {
        let blocks = u64::from(self.blocks());
        let share = |percent: u32| blocks * u64::from(percent) / 100;
        self.warm_min = u32::try_from(share(division_limit) + 1).unwrap_or(u32::MAX);
        self.age_max = share(age_threshold);
    }

    /// Asks for a page.
    #[inline]
    pub fn find(&mut self, page: u32) -> Find {
        let bucket = self.bucket(page);
        let mut number = self.buckets.get(bucket).copied().unwrap_or(NONE);
        while let Some(block) = self.blocks.get_mut(number as usize) {
            if block.page == page {
                block.users += 1;
                let (first_user, arrived) = (block.users == 1, block.arrived);
                self.read_requests += 1;
                if first_user {
                    self.take_out(number);
                }
                return match arrived {
                    true => Find::Hit(number),
                    false => Find::Wait(number),
                };
            }
            number = block.same_hash;
        }
        let Some(number) = self.take() else {
            return Find::Full;
        };
        self.read_requests += 1;
        self.reads += 1;
        self.give(number, page);
        Find::Miss(number)
    }

    /// The page that was to be read into a block is there. Threads that wait for it may go on.
    #[inline]
    pub fn arrived(&mut self, block: u32) {
        if let Some(block) = self.blocks.get_mut(block as usize) {
            block.arrived = true;
        }
    }

    /// Whether the page of a block is there.
    pub fn has_arrived(&self, block: u32) -> bool {
        let block = self.blocks.get(block as usize);
        block.is_some_and(|block| block.arrived)
    }

    /// A thread no longer uses a block. True if it can now be taken for a new page: then a thread
    /// that found all blocks in use may ask again.
    #[inline]
    pub fn release(&mut self, block: u32) -> bool {
        let number = block;
        let (releases, warm, warm_min) = (self.releases, self.warm, self.warm_min);
        let Some(block) = self.blocks.get_mut(number as usize) else {
            return false;
        };
        if block.users != 1 {
            block.users = block.users.saturating_sub(1);
            return false;
        }
        block.users = 0;
        block.uses_to_hot = block.uses_to_hot.saturating_sub(1);
        block.released = releases;
        self.releases += 1;
        if block.uses_to_hot == 0 && warm > warm_min {
            if std::mem::replace(&mut block.warm, false) {
                self.warm -= 1;
            }
            self.put_behind(self.mark, number);
            self.mark = number;
        } else {
            self.put_behind(self.last, number);
            self.last = number;
        }
        self.look_at_mark();
        true
    }

    /// Takes all unused pages out, as LOAD INDEX INTO CACHE does before it asks for each page of
    /// the index, one after another.
    pub fn empty(&mut self) {
        while let Some(last) = self.blocks.get(self.last as usize) {
            let number = last.after;
            self.take_out(number);
            self.unhash(number);
            if let Some(block) = self.blocks.get_mut(number as usize) {
                block.page = NONE;
                block.after = std::mem::replace(&mut self.unused, number);
                if std::mem::replace(&mut block.warm, false) {
                    self.warm -= 1;
                }
            }
            self.used -= 1;
        }
    }

    pub fn blocks(&self) -> u32 {
        self.blocks.len() as u32
    }

    pub fn counters(&self) -> SegmentCounts {
        SegmentCounts {
            read_requests: self.read_requests,
            reads: self.reads,
            used_blocks: self.used,
            unused_blocks: self.blocks() - self.used,
        }
    }

    /// READ_REQUESTS and READS are counted from 0 again, as FLUSH STATUS does.
    pub fn forget_counts(&mut self) {
        (self.read_requests, self.reads) = (0, 0);
    }

    #[inline]
    fn bucket(&self, page: u32) -> usize {
        // Pages of a segment are `segments` apart, so their low bits hold little information.
        (page.wrapping_mul(0x9e37_79b1) >> self.shift) as usize
    }

    /// A block for a new page, no longer in the order nor in the hash.
    fn take(&mut self) -> Option<u32> {
        if let Some(block) = self.blocks.get(self.unused as usize) {
            self.used += 1;
            return Some(std::mem::replace(&mut self.unused, block.after));
        }
        let number = self.blocks.get(self.last as usize)?.after;
        self.take_out(number);
        self.unhash(number);
        Some(number)
    }

    fn give(&mut self, number: u32, page: u32) {
        let bucket = self.bucket(page);
        let Some(first) = self.buckets.get_mut(bucket) else {
            return;
        };
        let same_hash = std::mem::replace(first, number);
        if let Some(block) = self.blocks.get_mut(number as usize) {
            block.page = page;
            block.same_hash = same_hash;
            block.users = 1;
            block.uses_to_hot = USES_TO_HOT;
            block.arrived = false;
        }
    }

    fn unhash(&mut self, number: u32) {
        let Some(Block {
            page, same_hash, ..
        }) = self.blocks.get(number as usize)
        else {
            return;
        };
        let (bucket, behind) = (self.bucket(*page), *same_hash);
        let Some(first) = self.buckets.get_mut(bucket) else {
            return;
        };
        if *first == number {
            *first = behind;
            return;
        }
        let mut at = *first;
        while let Some(block) = self.blocks.get_mut(at as usize) {
            if block.same_hash == number {
                block.same_hash = behind;
                return;
            }
            at = block.same_hash;
        }
    }

    /// Takes a block out of the order.
    #[inline]
    fn take_out(&mut self, number: u32) {
        let Some(block) = self.blocks.get(number as usize) else {
            return;
        };
        let (mut before, after) = (block.before, block.after);
        if after == number {
            before = NONE;
        }
        if let Some(block) = self.blocks.get_mut(before as usize) {
            block.after = after;
        }
        if let Some(block) = self.blocks.get_mut(after as usize) {
            block.before = before;
        }
        for place in [&mut self.last, &mut self.mark] {
            if *place == number {
                *place = before;
            }
        }
    }

    /// Puts a block into the order behind a given one. The only block there is the last one, and
    /// has the mark.
    #[inline]
    fn put_behind(&mut self, before: u32, number: u32) {
        let after = match self.blocks.get_mut(before as usize) {
            Some(block) => std::mem::replace(&mut block.after, number),
            None => number,
        };
        if let Some(block) = self.blocks.get_mut(after as usize) {
            block.before = number;
        }
        let Some(block) = self.blocks.get_mut(number as usize) else {
            return;
        };
        block.after = after;
        if before == NONE {
            block.before = number;
            (self.last, self.mark) = (number, number);
        } else {
            block.before = before;
        }
    }

    /// Makes the marked block the first in the order, if it is old.
    #[inline]
    fn look_at_mark(&mut self) {
        let number = self.mark;
        let Some(block) = self.blocks.get_mut(number as usize) else {
            return;
        };
        if self.releases - block.released <= self.age_max {
            return;
        }
        if !std::mem::replace(&mut block.warm, true) {
            self.warm += 1;
        }
        self.take_out(number);
        self.put_behind(self.last, number);
    }
}

#[cfg(test)]
mod tests;

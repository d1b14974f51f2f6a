//! One segment of the key cache: a hash of the pages in it, its blocks, and the order in which
//! blocks are given to other pages.
//!
//! That order is what MariaDB's manual calls midpoint insertion. A block that nobody uses is in one
//! of two chains, warm or hot; a page that comes new gets the first block of the warm chain, or of
//! the hot one if the warm one is empty. A released block goes to the end of the warm chain; after
//! three uses it goes to the end of the hot chain instead, as long as more than
//! `key_cache_division_limit` percent of the blocks are warm. Whenever a block is released, the
//! first block of the hot chain is looked at: if it was not used for more than
//! `key_cache_age_threshold` percent of the blocks in releases, it becomes the first of the warm chain.
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
    /// The asking thread is to read the page into this block, then to say that it arrived.
    Miss(u32),
    /// Another thread is reading the page into this block; wait until it has arrived.
    Wait(u32),
    /// All blocks are in use; wait until one is released, then ask again. Nothing was counted.
    Full,
}

/// What a segment counted, and its blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    pub read_requests: u64,
    pub reads: u64,
    /// Blocks that hold a page.
    pub used_blocks: u32,
    pub unused_blocks: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Warmth {
    Warm,
    Hot,
}

/// A block's control data: half a cache line.
#[derive(Clone, Debug)]
struct Block {
    page: u32,
    /// The next block in the same bucket of the hash.
    same_hash: u32,
    /// Its neighbours in the chain of its warmth; only of a block that nobody uses.
    before: u32,
    after: u32,
    /// The threads that use it.
    users: u32,
    uses_to_hot: u8,
    warmth: Warmth,
    arrived: bool,
    /// The release, by its number, at which it was last used.
    released: u64,
}

/// A chain of blocks that nobody uses, the next to be taken first.
#[derive(Clone, Copy, Debug)]
struct Chain {
    first: u32,
    last: u32,
}

/// A segment; see the module's comment. What every request writes comes last, so that control
/// blocks that lie side by side do share cache lines.
#[derive(Debug)]
#[repr(C)]
pub struct Segment {
    blocks: Box<[Block]>,
    /// The first block of each bucket.
    buckets: Box<[u32]>,
    /// Of a page's hash, the bits that are its bucket.
    shift: u32,
    /// Blocks turn hot only if more than so many are warm.
    warm_min: u64,
    /// Releases after which an unused hot block turns warm.
    age_max: u64,
    used: u32,
    warm: u64,
    chains: [Chain; 2],
    releases: u64,
    reads: u64,
    read_requests: u64,
}

impl Segment {
    /// A segment of so many blocks, at least [`BLOCKS_MIN`], all unused. `division_limit` and
    /// `age_threshold` are percentages, as the variables of the server.
    pub fn new(blocks: u32, division_limit: u32, age_threshold: u32) -> Self {
        let blocks = blocks.max(BLOCKS_MIN);
        let buckets = (blocks.saturating_mul(5) / 4).next_power_of_two();
        let block = Block {
            page: NONE,
            same_hash: NONE,
            before: NONE,
            after: NONE,
            users: 0,
            uses_to_hot: USES_TO_HOT,
            warmth: Warmth::Warm,
            arrived: false,
            released: 0,
        };
        let chain = Chain {
            first: NONE,
            last: NONE,
        };
        let mut segment = Self {
            blocks: vec![block; blocks as usize].into_boxed_slice(),
            buckets: vec![NONE; buckets as usize].into_boxed_slice(),
            shift: 32 - buckets.trailing_zeros(),
            warm_min: u64::MAX,
            age_max: 0,
            used: 0,
            warm: 0,
            chains: [chain; 2],
            releases: 0,
            reads: 0,
            read_requests: 0,
        };
        segment.set_limits(division_limit, age_threshold);
        segment
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
                    self.unchain(number);
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
        self.blocks
            .get(block as usize)
            .is_some_and(|block| block.arrived)
    }

    /// A thread no longer uses a block. Whether it can now be taken for another page: then a thread
    /// that found all blocks in use may ask again.
    #[inline]
    pub fn release(&mut self, block: u32) -> bool {
        let number = block;
        let (releases, warm, warm_min) = (self.releases, self.warm, self.warm_min);
        let Some(block) = self.blocks.get_mut(number as usize) else {
            return false;
        };
        block.users = block.users.saturating_sub(1);
        if block.users > 0 {
            return false;
        }
        block.uses_to_hot = block.uses_to_hot.saturating_sub(1);
        block.released = releases;
        if block.uses_to_hot == 0 && block.warmth == Warmth::Warm && warm > warm_min {
            block.warmth = Warmth::Hot;
            self.warm -= 1;
        }
        self.releases += 1;
        self.append(number);
        self.cool();
        true
    }

    /// Puts a page into the cache without asking for it, as LOAD INDEX INTO CACHE does, if there is
    /// an unused block and the page is not there: then the block to read it into, which is in use
    /// until it has arrived and is released.
    pub fn load(&mut self, page: u32) -> Option<u32> {
        let bucket = self.bucket(page);
        let mut number = self.buckets.get(bucket).copied().unwrap_or(NONE);
        while let Some(block) = self.blocks.get(number as usize) {
            if block.page == page {
                return None;
            }
            number = block.same_hash;
        }
        let unused = (self.used as usize) < self.blocks.len();
        let number = unused.then(|| self.take()).flatten()?;
        self.give(number, page);
        Some(number)
    }

    /// Changes the two percentages; blocks stay where they are until they are used again.
    pub fn set_limits(&mut self, division_limit: u32, age_threshold: u32) {
        let blocks = u64::from(self.blocks());
        let share = |percent: u32| blocks * u64::from(percent) / 100;
        self.warm_min = match division_limit {
            0..100 => share(division_limit) + 1,
            _ => u64::MAX,
        };
        self.age_max = share(age_threshold);
    }

    pub fn blocks(&self) -> u32 {
        self.blocks.len() as u32
    }

    pub fn counters(&self) -> Counters {
        Counters {
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
        // Pages of a segment are `segments` apart, so their low bits say little.
        (page.wrapping_mul(0x9e37_79b1) >> self.shift) as usize
    }

    /// A block for a new page, no longer in a chain nor in the hash.
    fn take(&mut self) -> Option<u32> {
        if (self.used as usize) < self.blocks.len() {
            self.used += 1;
            self.warm += 1;
            return Some(self.used - 1);
        }
        let [warm, hot] = self.chains;
        let number = [warm.first, hot.first].into_iter().find(|n| *n != NONE)?;
        self.unchain(number);
        self.unhash(number);
        let block = self.blocks.get_mut(number as usize)?;
        if block.warmth == Warmth::Hot {
            block.warmth = Warmth::Warm;
            self.warm += 1;
        }
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

    /// Takes a block out of its chain.
    #[inline]
    fn unchain(&mut self, number: u32) {
        let Some(block) = self.blocks.get(number as usize) else {
            return;
        };
        let (before, after, warmth) = (block.before, block.after, block.warmth);
        match self.blocks.get_mut(before as usize) {
            Some(block) => block.after = after,
            None => self.chains[warmth as usize].first = after,
        }
        match self.blocks.get_mut(after as usize) {
            Some(block) => block.before = before,
            None => self.chains[warmth as usize].last = before,
        }
    }

    /// Puts a block at the end of its chain.
    #[inline]
    fn append(&mut self, number: u32) {
        let Some(block) = self.blocks.get_mut(number as usize) else {
            return;
        };
        let chain = &mut self.chains[block.warmth as usize];
        let last = std::mem::replace(&mut chain.last, number);
        (block.before, block.after) = (last, NONE);
        match self.blocks.get_mut(last as usize) {
            Some(last) => last.after = number,
            None => chain.first = number,
        }
    }

    /// Moves the first hot block to the beginning of the warm chain, if it was long unused.
    #[inline]
    fn cool(&mut self) {
        let number = self.chains[Warmth::Hot as usize].first;
        let Some(block) = self.blocks.get(number as usize) else {
            return;
        };
        if self.releases - block.released <= self.age_max {
            return;
        }
        self.unchain(number);
        let chain = &mut self.chains[Warmth::Warm as usize];
        let first = std::mem::replace(&mut chain.first, number);
        match self.blocks.get_mut(first as usize) {
            Some(first) => first.before = number,
            None => chain.last = number,
        }
        if let Some(block) = self.blocks.get_mut(number as usize) {
            (block.before, block.after) = (NONE, first);
            block.warmth = Warmth::Warm;
        }
        self.warm += 1;
    }
}

#[cfg(test)]
mod tests;

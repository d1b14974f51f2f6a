//! The key cache and the index in virtual time: segments of the core, each behind a lock that takes
//! time. Cache lines go from CPU to CPU with their content.

use super::agenda::Ps;
use super::demands::ServerPs;
use super::line::{Distances, SharedLine};
use super::lock::{Attempt, GivenBack, LockWaiting, Tried, VirtualLock};
use super::machine::{Machine, Moment};
use crate::{Find, Index, Parting, Segment};
use contend_random::Stream;
use std::collections::VecDeque;

#[derive(Debug)]
pub struct VirtualKeyCache {
    /// The index of each table.
    pub index: Index,
    tables: Vec<CachedTable>,
    segments: Vec<LockedSegment>,
    waiting: LockWaiting,
    pub distances: Distances,
    chance: Stream,
}

/// A table's index file.
#[derive(Debug)]
struct CachedTable {
    parting: Parting,
    /// The number of its page 0 among those of all tables.
    first: u32,
    /// The read lock of the index: a thread that takes it writes to its line.
    line: SharedLine,
}

#[derive(Debug)]
struct LockedSegment {
    lock: VirtualLock,
    cache: Segment,
    /// The other fields of a segment that are written with its lock held.
    line: SharedLine,
    /// The line of each block that is written at each use.
    block_lines: Vec<SharedLine>,
    /// Threads that wait until a page has arrived in a block, and those that wait for any block.
    for_page: Vec<(u32, u32)>,
    for_block: VecDeque<u32>,
}

impl VirtualKeyCache {
    /// With the index of each table in it, as far as it has space.
    pub fn new(
        index: Index,
        partings: impl Iterator<Item = Parting>,
        segments: impl Iterator<Item = Segment>,
        waiting: LockWaiting,
        distances: Distances,
        chance: Stream,
    ) -> Self {
        let segments = segments.map(|cache| LockedSegment {
            lock: VirtualLock::free(),
            block_lines: vec![SharedLine::new(); cache.blocks() as usize],
            cache,
            line: SharedLine::new(),
            for_page: Vec::new(),
            for_block: VecDeque::new(),
        });
        let pages = index.pages();
        let tables = partings.zip(0..).map(|(parting, number)| CachedTable {
            parting,
            first: pages * number,
            line: SharedLine::new(),
        });
        let mut new = Self {
            segments: segments.collect(),
            tables: tables.collect(),
            index,
            waiting,
            distances,
            chance,
        };
        for table in &new.tables {
            for page in 1..pages {
                let segment = &mut new.segments[table.parting.segment_of(page) as usize].cache;
                // Each page is asked for once, with no thread besides this one.
                if let Find::Miss(block) = segment.find(table.first + page) {
                    segment.arrived(block);
                    segment.release(block);
                }
            }
        }
        new.segments
            .iter_mut()
            .for_each(|one| one.cache.forget_counts());
        new
    }

    pub fn tables(&self) -> u32 {
        self.tables.len() as u32
    }

    /// How the pages of a table are parted.
    pub fn parting_of(&self, table: u32) -> Parting {
        self.tables[table as usize].parting
    }

    /// A thread enters the index of a table, or leaves it: how long its line takes to come.
    #[inline]
    pub fn pass_index(&mut self, table: u32, moment: Moment) -> Ps {
        let line = &mut self.tables[table as usize].line;
        line.take(moment.cpu, moment.now_ps, &mut self.distances)
    }

    /// A thread tries to get the lock of a segment.
    #[inline]
    pub fn look(&mut self, seg: u32, attempt: &mut Attempt, moment: Moment) -> Tried {
        self.segments[seg as usize].lock.look(
            attempt,
            moment,
            &self.waiting,
            &mut self.distances,
            &mut self.chance,
        )
    }

    #[inline]
    pub fn give_back(&mut self, seg: u32, moment: Moment) -> GivenBack {
        let lock = &mut self.segments[seg as usize].lock;
        lock.give_back(moment, &self.waiting, &mut self.distances)
    }

    /// Wakes a thread that waits for the lock of a segment, if one sleeps; returns the cost.
    pub fn wake_waiter(&mut self, seg: u32, moment: Moment, machine: &mut Machine) -> Ps {
        match self.segments[seg as usize].lock.wakes() {
            Some(thread) => machine.wake(moment, thread),
            None => 0,
        }
    }

    /// With the lock held: the segment's result for a page of a table, and how long cache lines
    /// take to come.
    #[inline]
    pub fn find(
        &mut self,
        table: u32,
        seg: u32,
        page: u32,
        moment: Moment,
        demands: &ServerPs,
    ) -> (Find, Ps) {
        let segment = &mut self.segments[seg as usize];
        let found = segment.cache.find(self.tables[table as usize].first + page);
        let moves_ps = match found {
            Find::Hit(block) | Find::Miss(block) | Find::Wait(block) => {
                segment.lines_come(block, moment, demands, &mut self.distances)
            }
            Find::Full => 0,
        };
        (found, moves_ps)
    }

    /// With the lock held: a block is released, and a thread that waits for one is woken.
    #[inline]
    pub fn release(
        &mut self,
        seg: u32,
        block: u32,
        moment: Moment,
        demands: &ServerPs,
        machine: &mut Machine,
    ) -> Ps {
        let segment = &mut self.segments[seg as usize];
        let moves_ps = segment.lines_come(block, moment, demands, &mut self.distances);
        let is_free = segment.cache.release(block);
        match is_free.then(|| segment.for_block.pop_front()).flatten() {
            Some(thread) => moves_ps + self.waiting.syscall_ps + machine.wake(moment, thread),
            None => moves_ps,
        }
    }

    /// With the lock held: a page has arrived, and all who wait for it are woken.
    pub fn arrived(&mut self, seg: u32, block: u32, moment: Moment, machine: &mut Machine) -> Ps {
        let segment = &mut self.segments[seg as usize];
        segment.cache.arrived(block);
        let mut takes_ps = 0;
        for (_, thread) in segment
            .for_page
            .extract_if(.., |(for_block, _)| *for_block == block)
        {
            takes_ps += self.waiting.syscall_ps + machine.wake(moment, thread);
        }
        takes_ps
    }

    /// A thread will wait until a page has arrived in this block, or for any block.
    pub fn await_page(&mut self, seg: u32, block: Option<u32>, thread: u32) {
        let segment = &mut self.segments[seg as usize];
        match block {
            Some(block) => segment.for_page.push((block, thread)),
            None => segment.for_block.push_back(thread),
        }
    }

    pub fn syscall_ps(&self) -> Ps {
        self.waiting.syscall_ps
    }

    pub fn each(&self) -> impl Iterator<Item = (&VirtualLock, &Segment)> {
        self.segments.iter().map(|one| (&one.lock, &one.cache))
    }
}

impl LockedSegment {
    /// The lines written to at a visit come to this CPU. Several lines of the same thing come one
    /// after the other.
    #[inline]
    fn lines_come(
        &mut self,
        block: u32,
        moment: Moment,
        demands: &ServerPs,
        distances: &mut Distances,
    ) -> Ps {
        let mut moves_ps = 0;
        if demands.lock_lines > 1 {
            let one_ps = self.line.take(moment.cpu, moment.now_ps, distances);
            moves_ps += one_ps * Ps::from(demands.lock_lines - 1);
        }
        if demands.block_lines > 0
            && let Some(line) = self.block_lines.get_mut(block as usize)
        {
            let one_ps = line.take(moment.cpu, moment.now_ps, distances);
            moves_ps += one_ps * Ps::from(demands.block_lines);
        }
        moves_ps
    }
}

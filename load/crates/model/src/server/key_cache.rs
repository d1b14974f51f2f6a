//! The key cache of the model server: the segments of the core, each with a real lock, and the
//! memory of their blocks.
//!
//! A request visits its segment twice. In between it uses its block without the lock: a block in
//! use is given to no second page, so no thread writes to it once its page has arrived.

use super::counts::{ThreadCounts, Visits};
use super::locks::{AnyLock, HeldLock};
use super::spin::Spinner;
use crate::{ControlBlocks, KeyCacheSizes, Knobs, PAGE_BYTES, Parting, Segment, SegmentCounts};
use std::alloc::{Layout, alloc_zeroed};
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};

/// The memory of a block.
pub type BlockPage = [u8; PAGE_BYTES];

pub struct KeyCache {
    pub sizes: KeyCacheSizes,
    pub parting: Parting,
    control: ControlBlocks<Guarded>,
    parts: Box<[SegmentMemory]>,
}

/// A segment's control block and its lock.
struct Guarded {
    lock: AnyLock,
    segment: UnsafeCell<Segment>,
}

// SAFETY: every thread that touches the segment holds the lock.
unsafe impl Sync for Guarded {}

/// What else belongs to a segment.
struct SegmentMemory {
    pages: Box<[UnsafeCell<BlockPage>]>,
    events: Events,
}

// SAFETY: a page is written by the one thread that reads it in. It is read by those that use its
// block after it has arrived, which they learn under the segment's lock.
unsafe impl Sync for SegmentMemory {}

/// Where threads sleep until a page has arrived or a block was released.
#[derive(Default)]
struct Events {
    /// Changed with the segment's lock held.
    sleepers: AtomicU32,
    number: Mutex<u64>,
    happened: Condvar,
}

/// A visit to a segment: its lock is held until this is dropped.
pub struct SegmentVisit<'c> {
    held: HeldLock<'c>,
    guarded: &'c Guarded,
    part: &'c SegmentMemory,
    visits: Option<&'c Visits>,
    /// If this visit is timed: when it began.
    since: Option<u64>,
    spinner: Spinner,
}

/// Which visits are timed: one in 64, at unequal distances, because visits of a query alternate
/// between asking for a page and giving it back.
#[derive(Debug)]
pub struct Sampling {
    left: u32,
    next: u32,
}

impl Default for Sampling {
    fn default() -> Self {
        Self { left: 0, next: 63 }
    }
}

impl Sampling {
    #[inline]
    fn takes(&mut self) -> bool {
        if self.left > 0 {
            self.left -= 1;
            return false;
        }
        self.left = self.next - 1;
        self.next = 128 - self.next;
        true
    }
}

impl KeyCache {
    /// Segments of `blocks` blocks each, empty; none if the host has no memory for them.
    pub fn new(sizes: KeyCacheSizes, parting: Parting, blocks: u32, knobs: &Knobs) -> Option<Self> {
        let part = |_| {
            Some(SegmentMemory {
                pages: pages(blocks)?,
                events: Events::default(),
            })
        };
        let parts = (0..parting.segments).map(part).collect::<Option<_>>()?;
        let guarded = (0..parting.segments).map(|_| Guarded {
            lock: AnyLock::new(knobs.lock),
            segment: UnsafeCell::new(Segment::new(
                blocks,
                sizes.key_cache_division_limit,
                sizes.key_cache_age_threshold,
            )),
        });
        Some(Self {
            sizes,
            parting,
            control: ControlBlocks::new(knobs.padding, guarded),
            parts,
        })
    }

    /// Takes the lock of a segment, and counts that. There is a segment of that number.
    #[inline]
    pub fn visit<'c>(
        &'c self,
        segment: u32,
        counts: &'c ThreadCounts,
        sampling: &mut Sampling,
        spinner: Spinner,
    ) -> Option<SegmentVisit<'c>> {
        let segment = segment as usize;
        let (guarded, part) = (self.control.get(segment)?, self.parts.get(segment)?);
        let visits = counts.visits(segment);
        let (held, since) = if sampling.takes() {
            let (held, waited_ticks) = spinner.timed(|| guarded.lock.hold());
            if let Some(visits) = visits {
                visits.waited_ticks.add(waited_ticks);
            }
            (held, Some(spinner.now()))
        } else {
            (guarded.lock.hold(), None)
        };
        if let Some(visits) = visits {
            visits.visits.add(1);
            visits.waits.add(u64::from(held.waited));
        }
        Some(SegmentVisit {
            held,
            guarded,
            part,
            visits,
            since,
            spinner,
        })
    }

    /// Reads a page into its block.
    ///
    /// # Safety
    /// `find` or `load` gave the block to this thread to read the page into, and the thread has not
    /// reported its arrival yet.
    pub unsafe fn fill<T>(
        &self,
        segment: u32,
        block: u32,
        read: impl FnOnce(&mut BlockPage) -> T,
    ) -> Option<T> {
        let page = self.page(segment, block)?;
        // SAFETY: until the page has arrived only this thread touches the block.
        Some(read(unsafe { &mut *page.get() }))
    }

    /// Copies a page out of its block.
    ///
    /// # Safety
    /// This thread uses the block, and its page has arrived.
    #[inline]
    pub unsafe fn copy(&self, segment: u32, block: u32, out: &mut BlockPage) {
        if let Some(page) = self.page(segment, block) {
            // SAFETY: no thread writes to a block that is used and whose page has arrived.
            out.copy_from_slice(unsafe { &*page.get() });
        }
    }

    #[inline]
    fn page(&self, segment: u32, block: u32) -> Option<&UnsafeCell<BlockPage>> {
        self.parts.get(segment as usize)?.pages.get(block as usize)
    }

    /// What each segment has counted, each looked at with its lock held.
    pub fn counters(&self) -> Vec<SegmentCounts> {
        let counters = |guarded: &Guarded| {
            let _held = guarded.lock.hold();
            // SAFETY: the lock is held.
            unsafe { &*guarded.segment.get() }.counters()
        };
        self.control.iter().map(counters).collect()
    }

    /// Changes the order in which blocks are taken out, for all segments.
    pub fn set_limits(&mut self, sizes: KeyCacheSizes) {
        self.sizes = sizes;
        for guarded in self.control.iter() {
            let _held = guarded.lock.hold();
            // SAFETY: the lock is held.
            let segment = unsafe { &mut *guarded.segment.get() };
            segment.set_limits(
                sizes.key_cache_division_limit,
                sizes.key_cache_age_threshold,
            );
        }
    }
}

impl<'c> SegmentVisit<'c> {
    #[inline]
    pub fn segment(&mut self) -> &mut Segment {
        // SAFETY: the lock is held as long as this visit, and the borrow is no longer.
        unsafe { &mut *self.guarded.segment.get() }
    }

    /// Wakes those that sleep until something happens in this segment.
    #[inline]
    pub fn tell(&self) {
        if self.part.events.sleepers.load(Ordering::Relaxed) > 0 {
            self.part.events.tell();
        }
    }

    /// Leaves until something has happened in this segment, and comes back. The time of a visit
    /// that is timed ends when it leaves.
    pub fn sleep(self) -> Self {
        let (guarded, part, visits, spinner) = (self.guarded, self.part, self.visits, self.spinner);
        part.events.sleepers.fetch_add(1, Ordering::Relaxed);
        // Read and changed with the lock held: no event can be missed.
        let seen = part.events.number();
        drop(self);
        part.events.wait(seen);
        let held = guarded.lock.hold();
        part.events.sleepers.fetch_sub(1, Ordering::Relaxed);
        Self {
            held,
            guarded,
            part,
            visits,
            since: None,
            spinner,
        }
    }
}

impl Drop for SegmentVisit<'_> {
    #[inline]
    fn drop(&mut self) {
        if let (Some(since), Some(visits)) = (self.since, self.visits) {
            visits.sampled.add(1);
            let held_ticks = self.spinner.now().wrapping_sub(since);
            visits.held_ticks.add(held_ticks);
        }
        // Dropping `held` releases the lock.
        let _ = &self.held;
    }
}

impl Events {
    fn number(&self) -> u64 {
        *self.number.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self) {
        *self.number.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.happened.notify_all();
    }

    fn wait(&self, seen: u64) {
        let mut number = self.number.lock().unwrap_or_else(PoisonError::into_inner);
        while *number == seen {
            number = self
                .happened
                .wait(number)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// Memory of `blocks` blocks, all zeros; none if the host does not have it. The kernel provides it
/// when it is first written to.
fn pages(blocks: u32) -> Option<Box<[UnsafeCell<BlockPage>]>> {
    let layout = Layout::array::<UnsafeCell<BlockPage>>(blocks as usize).ok()?;
    if layout.size() == 0 {
        return Some(Box::default());
    }
    // SAFETY: the layout has a size.
    let memory = unsafe { alloc_zeroed(layout) }.cast::<UnsafeCell<BlockPage>>();
    if memory.is_null() {
        return None;
    }
    let slice = std::ptr::slice_from_raw_parts_mut(memory, blocks as usize);
    // SAFETY: it was allocated with the layout of such a slice, and zeros are pages.
    Some(unsafe { Box::from_raw(slice) })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn one_visit_in_64_is_timed_and_both_of_a_pair_come_in_turn() {
        let mut sampling = Sampling::default();
        let timed: Vec<usize> = (0..64_000).filter(|_| sampling.takes()).collect();
        assert_eq!(timed.len(), 1000);
        let odd = timed.iter().filter(|place| *place % 2 == 1).count();
        assert_eq!(odd, 500);
    }
}

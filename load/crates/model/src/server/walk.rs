//! Executes the core's acts of a query, with real locks, real memory and real time.

use super::counts::{Counting, ThreadCounts, Timing};
use super::key_cache::{BlockPage, KeyCache, Sampling, SegmentVisit};
use super::model::Model;
use crate::{Act, ActResult, Find, Index, ModelRow, PAGE_BYTES, PagesFrom, PointQuery, search};
use std::io;
use std::os::unix::fs::FileExt as _;
use std::time::Duration;

/// The parts that a thread walks with, one query after another.
pub struct Walker {
    query: PointQuery,
    /// The page that is being searched.
    page: BlockPage,
    sampling: Sampling,
}

impl Walker {
    pub fn new(index: &Index) -> Self {
        Self {
            query: PointQuery::new(index),
            page: [0; PAGE_BYTES],
            sampling: Sampling::default(),
        }
    }

    /// Looks keys up, and hands over their rows in order; returns the number of points.
    ///
    /// # Errors
    /// A row or a page could not be read from its file.
    #[inline]
    pub fn look_up(
        &mut self,
        keys: &[u32],
        by_id: bool,
        model: &Model,
        cache: &KeyCache,
        counts: &ThreadCounts,
        mut take: impl FnMut(&ModelRow),
    ) -> io::Result<usize> {
        let (knobs, work, spinner) = (&model.knobs, &model.work, model.spinner);
        match by_id {
            true => self.query.begin_by_id(keys, cache.parting),
            false => self.query.begin(keys, cache.parting),
        }
        let mut visit: Option<SegmentVisit<'_>> = None;
        let mut reading = None;
        let mut failed = None;
        let mut seen = ActResult::Nothing;
        loop {
            let act = self
                .query
                .next(std::mem::replace(&mut seen, ActResult::Nothing));
            match act {
                Act::EnterIndex => reading = Some(model.index_lock.read()),
                Act::LeaveIndex => drop(reading.take()),
                Act::Lock { seg } => visit = cache.visit(seg, counts, &mut self.sampling, spinner),
                Act::Unlock { .. } => drop(visit.take()),
                Act::Find { page, .. } => {
                    if let Some(visit) = &mut visit {
                        let found = visit.segment().find(page);
                        if work.under_lock > 0 && found != Find::Full {
                            counts.time(Timing::UnderLock, spinner.spin(work.under_lock));
                        }
                        seen = ActResult::Find(found);
                    }
                }
                Act::AwaitPage { block, .. } => {
                    let begun = spinner.now();
                    while let Some(inside) = visit.take() {
                        visit = Some(inside.sleep());
                        if visit
                            .as_mut()
                            .is_some_and(|v| v.segment().has_arrived(block))
                        {
                            break;
                        }
                    }
                    counts.time(Timing::PageWaits, spinner.now().wrapping_sub(begun));
                }
                Act::AwaitBlock { .. } => {
                    let begun = spinner.now();
                    visit = visit.take().map(SegmentVisit::sleep);
                    counts.time(Timing::BlockWaits, spinner.now().wrapping_sub(begun));
                }
                Act::ReadPage { seg, block, page } => {
                    let read = |out: &mut BlockPage| model.read_page(page, out);
                    // SAFETY: the core asks for it after `find` gave this thread the block to fill.
                    let (read, ticks) = spinner.timed(|| unsafe { cache.fill(seg, block, read) });
                    counts.time(Timing::Misses, ticks);
                    failed = read.and_then(Result::err).or(failed);
                }
                Act::Arrived { block, .. } => {
                    if let Some(visit) = &mut visit {
                        visit.segment().arrived(block);
                        visit.tell();
                    }
                }
                Act::Copy { seg, block, .. } => {
                    // SAFETY: this thread has found the block or filled it, and has not released it.
                    unsafe { cache.copy(seg, block, &mut self.page) };
                    if work.outside_lock > 0 {
                        counts.time(Timing::OutsideLock, spinner.spin(work.outside_lock));
                    }
                }
                Act::Release { block, .. } => {
                    if let Some(visit) = &mut visit
                        && visit.segment().release(block)
                    {
                        visit.tell();
                    }
                }
                Act::Search { key, side, .. } => {
                    seen = ActResult::InPage(search(&self.page, key, side));
                }
                Act::Row(number) => {
                    if work.row_lock > 0 && number == work.locked_row {
                        let held = model.row_lock.hold();
                        counts.count(Counting::RowLockWaits, u64::from(held.waited));
                        counts.time(Timing::RowLock, spinner.spin(work.row_lock));
                    }
                    match model.rows.row(number) {
                        Ok(row) => {
                            counts.count(Counting::Rows, 1);
                            take(&row);
                        }
                        Err(error) => failed = Some(error),
                    }
                }
                Act::Point => {}
                Act::Query => {
                    if work.second_lock > 0 {
                        let held = model.second_lock.hold();
                        counts.count(Counting::SecondLockWaits, u64::from(held.waited));
                        counts.time(Timing::SecondLock, spinner.spin(work.second_lock));
                    }
                    if knobs.leak_ns_per_s > 0.0 {
                        counts.time(Timing::Leak, spinner.spin(model.leaked()));
                    }
                }
                Act::Done => break,
            }
        }
        let points = self.query.points();
        counts.count(Counting::Points, points as u64);
        failed.map_or(Ok(points), Err)
    }
}

impl Model {
    /// Reads a page of the index into its block, as the knobs say. Even after an error the page is
    /// there: others may wait for it.
    fn read_page(&self, page: u32, out: &mut BlockPage) -> io::Result<()> {
        if self.knobs.miss_ns > 0 {
            std::thread::sleep(Duration::from_nanos(self.knobs.miss_ns));
        }
        if let (PagesFrom::Read, Some(file)) = (self.knobs.miss, &self.index_file) {
            let read = file.read_exact_at(out, super::files::page_offset(page));
            if read.is_err() {
                self.index.write(page, out);
            }
            return read;
        }
        self.index.write(page, out);
        Ok(())
    }

    /// Takes the unused pages out of the cache, and asks for the pages of the index, one after
    /// another, as LOAD INDEX INTO CACHE does.
    ///
    /// # Errors
    /// A page could not be read.
    pub fn load_index(&self, cache: &KeyCache, counts: &ThreadCounts) -> io::Result<()> {
        let mut sampling = Sampling::default();
        let mut visit = |segment| cache.visit(segment, counts, &mut sampling, self.spinner);
        for segment in 0..cache.parting.segments {
            if let Some(mut visit) = visit(segment) {
                visit.segment().empty();
            }
        }
        let mut all_read = Ok(());
        for page in 1..self.index.pages() {
            let segment = cache.parting.segment_of(page);
            let found = visit(segment).map(|mut visit| visit.segment().find(page));
            let block = match found {
                Some(Find::Miss(block)) => {
                    let read = |out: &mut BlockPage| self.read_page(page, out);
                    // SAFETY: `find` has just given this thread the block to fill.
                    let read = unsafe { cache.fill(segment, block, read) };
                    all_read = all_read.and(read.unwrap_or(Ok(())));
                    block
                }
                // A different thread has read it, or does just now: it is there or will be.
                Some(Find::Hit(block) | Find::Wait(block)) => block,
                // All blocks are in use: there is no place for it.
                Some(Find::Full) | None => continue,
            };
            if let Some(mut visit) = visit(segment) {
                if let Some(Find::Miss(_)) = found {
                    visit.segment().arrived(block);
                }
                visit.segment().release(block);
                visit.tell();
            }
        }
        all_read
    }
}

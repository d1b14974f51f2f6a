//! The plainest driver: one thread that does what queries say, with nobody beside it. What is
//! counted so is what a server counts at one connection.

use super::cache::{Counters, Segment};
use super::index::{Index, PAGE_BYTES};
use super::query::{Act, Parting, PointQuery, Seen};
use super::sizes::{KeyCacheSizes, SegmentsError};

/// A key cache of its own, with memory for its blocks.
#[derive(Debug)]
pub struct Alone {
    index: Index,
    parting: Parting,
    segments: Vec<Segment>,
    /// The content of each segment's blocks.
    memory: Vec<Box<[[u8; PAGE_BYTES]]>>,
    query: PointQuery,
}

impl Alone {
    /// # Errors
    /// The key cache cannot be had so.
    pub fn new(index: Index, descriptor: u32, sizes: KeyCacheSizes) -> Result<Self, SegmentsError> {
        let segments = sizes.segments();
        let blocks = sizes.blocks_each()?;
        let segment = |_| {
            let (limit, age) = (
                sizes.key_cache_division_limit,
                sizes.key_cache_age_threshold,
            );
            Segment::new(blocks, limit, age)
        };
        let memory = |_| vec![[0; PAGE_BYTES]; blocks as usize].into_boxed_slice();
        Ok(Self {
            parting: Parting {
                descriptor,
                segments,
            },
            segments: (0..segments).map(segment).collect(),
            memory: (0..segments).map(memory).collect(),
            query: PointQuery::new(&index),
            index,
        })
    }

    /// Asks one query; returns the numbers of the rows it read, in the order in which it did.
    pub fn ask(&mut self, keys: &[u32]) -> Vec<u32> {
        let mut rows = Vec::new();
        let mut page_copy = [0; PAGE_BYTES];
        let mut seen = Seen::Nothing;
        self.query.begin(keys, self.parting);
        loop {
            let act = self.query.next(seen);
            seen = Seen::Nothing;
            match act {
                Act::Find { seg, page } => {
                    if let Some(segment) = self.segments.get_mut(seg as usize) {
                        seen = Seen::Find(segment.find(page));
                    }
                }
                Act::ReadPage { seg, block, page } => {
                    let memory = self.memory.get_mut(seg as usize);
                    if let Some(place) = memory.and_then(|m| m.get_mut(block as usize)) {
                        self.index.write(page, place);
                    }
                }
                Act::Arrived { seg, block } => {
                    if let Some(segment) = self.segments.get_mut(seg as usize) {
                        segment.arrived(block);
                    }
                }
                Act::Copy { seg, block, .. } => {
                    let memory = self.memory.get(seg as usize);
                    if let Some(content) = memory.and_then(|m| m.get(block as usize)) {
                        page_copy = *content;
                    }
                }
                Act::Release { seg, block } => {
                    if let Some(segment) = self.segments.get_mut(seg as usize) {
                        segment.release(block);
                    }
                }
                Act::Search { key, side, .. } => {
                    seen = Seen::InPage(Index::search(&page_copy, key, side));
                }
                Act::Row(row) => rows.push(row),
                Act::Done => return rows,
                Act::EnterIndex
                | Act::LeaveIndex
                | Act::Lock { .. }
                | Act::Unlock { .. }
                | Act::AwaitPage { .. }
                | Act::AwaitBlock { .. }
                | Act::Point
                | Act::Query => {}
            }
        }
    }

    /// What each segment counted.
    pub fn counters(&self) -> Vec<Counters> {
        self.segments.iter().map(Segment::counters).collect()
    }
}

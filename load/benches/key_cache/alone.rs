//! The plainest driver: one thread that executes queries, alone. Its counts are those of a server
//! with one connection.

use contend_model::{
    Act, ActResult, Index, KeyCacheSizes, PAGE_BYTES, Parting, PointQuery, Segment, SegmentCounts,
    SegmentsError, search,
};

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
    /// The key cache cannot be created with these sizes.
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
        let mut seen = ActResult::Nothing;
        self.query.begin(keys, self.parting);
        loop {
            let act = self.query.next(seen);
            seen = ActResult::Nothing;
            match act {
                Act::Find { seg, page } => {
                    if let Some(segment) = self.segments.get_mut(seg as usize) {
                        seen = ActResult::Find(segment.find(page));
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
                    seen = ActResult::InPage(search(&page_copy, key, side));
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
    pub fn counters(&self) -> Vec<SegmentCounts> {
        self.segments.iter().map(Segment::counters).collect()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use contend_model::Find;

    impl Alone {
        /// LOAD INDEX INTO CACHE.
        pub fn load_index(&mut self) {
            self.segments.iter_mut().for_each(Segment::empty);
            for page in 1..self.index.pages() {
                let seg = self.parting.segment_of(page) as usize;
                let (Some(segment), Some(memory)) =
                    (self.segments.get_mut(seg), self.memory.get_mut(seg))
                else {
                    continue;
                };
                if let Find::Hit(block) | Find::Miss(block) = segment.find(page) {
                    if let Some(place) = memory.get_mut(block as usize) {
                        self.index.write(page, place);
                    }
                    segment.arrived(block);
                    segment.release(block);
                }
            }
        }
    }

    fn alone(key_buffer_size: u64, key_cache_segments: u32) -> Alone {
        let sizes = KeyCacheSizes {
            key_buffer_size,
            key_cache_segments,
            key_cache_division_limit: 30,
            key_cache_age_threshold: 300,
        };
        Alone::new(Index::new(100_000), 45, sizes).unwrap()
    }

    #[test]
    fn a_loaded_index_that_fits_is_read_once() {
        let mut alone = alone(8 << 20, 64);
        assert_eq!(alone.ask(&[5, 99_999]), [5, 99_999]);
        alone.load_index();
        let count = |alone: &Alone| {
            let counters = alone.counters();
            let requests: u64 = counters.iter().map(|segment| segment.read_requests).sum();
            let used: u32 = counters.iter().map(|segment| segment.used_blocks).sum();
            (
                requests,
                counters.iter().map(|segment| segment.reads).sum::<u64>(),
                used,
            )
        };
        // As on a server: 18 requests, 5 of them misses; then all pages but the header.
        assert_eq!(count(&alone), (18 + 1_599, 5 + 1_599, 1_599));
        assert_eq!(alone.ask(&[7, 25_450, 200_000]), [7, 25_450]);
        assert_eq!(count(&alone), (18 + 1_599 + 27, 5 + 1_599, 1_599));
    }

    #[test]
    fn rows_are_found_however_small_the_cache_is() {
        let mut alone = alone(16 << 10, 0);
        for start in (1..=100_000).step_by(997) {
            let keys: Vec<u32> = (start..start + 50).collect();
            let wanted: Vec<u32> = keys.iter().copied().filter(|key| *key <= 100_000).collect();
            assert_eq!(alone.ask(&keys), wanted);
        }
        let [counted] = alone.counters()[..] else {
            unreachable!("one segment");
        };
        assert!(counted.reads > 100 && counted.reads < counted.read_requests);
        assert_eq!((counted.used_blocks, counted.unused_blocks), (8, 0));
    }
}

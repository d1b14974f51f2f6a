//! The segment beside a slow one, and its rules one by one.

#![allow(clippy::unwrap_used, clippy::panic)]
use super::*;
use proptest::prelude::*;
use std::collections::HashMap;

/// The same rules with lists that are searched from end to end.
#[derive(Debug, Default)]
struct Slow {
    blocks: usize,
    warm_min: Option<usize>,
    age_max: u64,
    /// Pages by warmth, the next to be taken first.
    warm: Vec<u32>,
    hot: Vec<u32>,
    /// Of each page in the cache.
    pages: HashMap<u32, SlowPage>,
    releases: u64,
    read_requests: u64,
    reads: u64,
}

#[derive(Debug, Default)]
struct SlowPage {
    users: usize,
    uses: u32,
    hot: bool,
    released: u64,
    arrived: bool,
}

impl Slow {
    fn new(blocks: u32, division_limit: u32, age_threshold: u32) -> Self {
        Self {
            blocks: blocks as usize,
            warm_min: (division_limit < 100).then(|| (blocks * division_limit / 100 + 1) as usize),
            age_max: u64::from(blocks * age_threshold / 100),
            ..Self::default()
        }
    }

    /// Whether it was there, and has arrived; none if all blocks are in use.
    fn find(&mut self, page: u32) -> Option<(bool, bool)> {
        self.warm.retain(|other| *other != page);
        self.hot.retain(|other| *other != page);
        if let Some(there) = self.pages.get_mut(&page) {
            there.users += 1;
            self.read_requests += 1;
            return Some((true, there.arrived));
        }
        if self.pages.len() == self.blocks {
            let chain = match self.warm.is_empty() {
                true => &mut self.hot,
                false => &mut self.warm,
            };
            if chain.is_empty() {
                return None;
            }
            self.pages.remove(&chain.remove(0));
        }
        self.read_requests += 1;
        self.reads += 1;
        let new = SlowPage {
            users: 1,
            ..SlowPage::default()
        };
        self.pages.insert(page, new);
        Some((false, false))
    }

    fn release(&mut self, page: u32) {
        let warm = self.pages.values().filter(|page| !page.hot).count();
        let this = self.pages.get_mut(&page).unwrap();
        this.users -= 1;
        if this.users > 0 {
            return;
        }
        this.uses += 1;
        this.released = self.releases;
        self.releases += 1;
        if this.uses >= 3 && self.warm_min.is_some_and(|min| warm > min) {
            this.hot = true;
        }
        match this.hot {
            true => self.hot.push(page),
            false => self.warm.push(page),
        }
        if let Some(first) = self.hot.first().copied() {
            let page = self.pages.get_mut(&first).unwrap();
            if self.releases - page.released > self.age_max {
                page.hot = false;
                self.hot.remove(0);
                self.warm.insert(0, first);
            }
        }
    }
}

impl Segment {
    fn page_of(&self, block: u32) -> u32 {
        self.blocks[block as usize].page
    }

    fn chain(&self, warmth: Warmth) -> Vec<u32> {
        let chain = self.chains[warmth as usize];
        let (mut pages, mut at, mut before) = (Vec::new(), chain.first, NONE);
        while at != NONE {
            let block = &self.blocks[at as usize];
            assert_eq!(
                (block.before, block.users, block.warmth),
                (before, 0, warmth)
            );
            pages.push(block.page);
            (before, at) = (at, block.after);
        }
        assert_eq!(chain.last, before);
        pages
    }

    /// Every used block is in the hash once, under its page; and no other.
    fn check_hash(&self) {
        let mut hashed = vec![0; self.blocks.len()];
        for (bucket, first) in self.buckets.iter().enumerate() {
            let mut at = *first;
            while at != NONE {
                hashed[at as usize] += 1;
                let block = &self.blocks[at as usize];
                assert_eq!(self.bucket(block.page), bucket);
                at = block.same_hash;
            }
        }
        let used = self.used as usize;
        assert!(hashed[..used].iter().all(|times| *times == 1));
        assert!(hashed[used..].iter().all(|times| *times == 0));
    }
}

#[derive(Clone, Debug)]
enum Do {
    Find(u32),
    /// What was asked for so many finds ago and is still in use, by its place.
    Release(usize),
    Arrive(usize),
}

fn doings() -> impl Strategy<Value = Vec<Do>> {
    let one = prop_oneof![
        4 => (0u32..40).prop_map(Do::Find),
        // A few pages are asked for again and again.
        3 => (0u32..4).prop_map(Do::Find),
        6 => (0usize..40).prop_map(Do::Release),
        6 => (0usize..40).prop_map(Do::Arrive),
    ];
    proptest::collection::vec(one, 1..600)
}

proptest! {
    #[test]
    fn it_does_what_the_slow_one_does(
        doings in doings(),
        blocks in 8u32..24,
        limit in prop_oneof![Just(100u32), 1u32..100],
        age in 100u32..400,
    ) {
        let (mut fast, mut slow) =
            (Segment::new(blocks, limit, age), Slow::new(blocks, limit, age));
        let mut in_use: Vec<u32> = Vec::new();
        for doing in doings {
            match doing {
                Do::Find(page) => {
                    let wanted = slow.find(page);
                    let found = fast.find(page);
                    let (block, said) = match found {
                        Find::Hit(block) => (block, Some((true, true))),
                        Find::Wait(block) => (block, Some((true, false))),
                        Find::Miss(block) => (block, Some((false, false))),
                        Find::Full => (NONE, None),
                    };
                    prop_assert_eq!(said, wanted);
                    if block != NONE {
                        prop_assert_eq!(fast.page_of(block), page);
                        in_use.push(block);
                    }
                }
                Do::Arrive(place) if !in_use.is_empty() => {
                    let block = in_use[place % in_use.len()];
                    fast.arrived(block);
                    slow.pages.get_mut(&fast.page_of(block)).unwrap().arrived = true;
                }
                Do::Release(place) if !in_use.is_empty() => {
                    let block = in_use.swap_remove(place % in_use.len());
                    slow.release(fast.page_of(block));
                    let free = fast.release(block);
                    prop_assert_eq!(free, !in_use.contains(&block));
                }
                _ => {}
            }
            prop_assert_eq!(&fast.chain(Warmth::Warm), &slow.warm);
            prop_assert_eq!(&fast.chain(Warmth::Hot), &slow.hot);
            fast.check_hash();
            let counters = fast.counters();
            prop_assert_eq!(counters.read_requests, slow.read_requests);
            prop_assert_eq!(counters.reads, slow.reads);
            prop_assert_eq!(counters.used_blocks as usize, slow.pages.len());
            prop_assert_eq!(counters.used_blocks + counters.unused_blocks, blocks);
            let warm = slow.pages.values().filter(|page| !page.hot).count();
            prop_assert_eq!(fast.warm, warm as u64);
            // None is lost: each is unused, in use, or in one of the chains.
            let using = slow.pages.values().filter(|page| page.users > 0).count();
            prop_assert_eq!(slow.warm.len() + slow.hot.len() + using, slow.pages.len());
        }
    }
}

/// Asks for a page and lets it go.
fn visit(segment: &mut Segment, page: u32) -> Find {
    let found = segment.find(page);
    if let Find::Hit(block) | Find::Miss(block) = found {
        segment.arrived(block);
        segment.release(block);
    }
    found
}

#[test]
fn the_page_that_was_used_longest_ago_makes_room() {
    let mut segment = Segment::new(8, 100, 300);
    (0..8).for_each(|page| assert!(matches!(visit(&mut segment, page), Find::Miss(_))));
    assert!(matches!(visit(&mut segment, 0), Find::Hit(_)));
    assert!(matches!(visit(&mut segment, 8), Find::Miss(_)));
    assert!(matches!(visit(&mut segment, 0), Find::Hit(_)));
    assert!(matches!(visit(&mut segment, 1), Find::Miss(_)));
}

#[test]
fn hot_pages_outlive_a_scan_and_turn_cold_with_time() {
    let mut segment = Segment::new(20, 50, 300);
    (0..20).for_each(|page| _ = visit(&mut segment, page));
    for _ in 0..3 {
        (0..4).for_each(|page| _ = visit(&mut segment, page));
    }
    // As many others as there are blocks, but not as long as it takes to turn cold.
    (100..120).for_each(|page| _ = visit(&mut segment, page));
    (0..4).for_each(|page| assert!(matches!(visit(&mut segment, page), Find::Hit(_))));
    (200..290).for_each(|page| _ = visit(&mut segment, page));
    (0..4).for_each(|page| assert!(matches!(visit(&mut segment, page), Find::Miss(_))));
    let mut lru = Segment::new(20, 100, 300);
    for _ in 0..9 {
        (0..4).for_each(|page| _ = visit(&mut lru, page));
    }
    (100..120).for_each(|page| _ = visit(&mut lru, page));
    assert!(matches!(visit(&mut lru, 0), Find::Miss(_)));
}

#[test]
fn threads_that_want_a_page_wait_for_the_one_that_reads_it() {
    let mut segment = Segment::new(8, 100, 300);
    let Find::Miss(block) = segment.find(7) else {
        panic!("an empty cache");
    };
    assert_eq!(segment.find(7), Find::Wait(block));
    segment.arrived(block);
    assert_eq!(segment.find(7), Find::Hit(block));
    assert_eq!(
        [(); 3].map(|()| segment.release(block)),
        [false, false, true]
    );
    let counters = segment.counters();
    assert_eq!((counters.read_requests, counters.reads), (3, 1));
}

#[test]
fn blocks_in_use_are_never_given_away() {
    let mut segment = Segment::new(8, 100, 300);
    let held: Vec<Find> = (0..8).map(|page| segment.find(page)).collect();
    assert_eq!(segment.find(8), Find::Full);
    assert_eq!(segment.counters().read_requests, 8);
    let Find::Miss(third) = held[3] else {
        panic!("an empty cache");
    };
    assert!(segment.release(third));
    assert_eq!(segment.find(8), Find::Miss(third));
}

#[test]
fn an_index_is_loaded_as_far_as_there_are_unused_blocks() {
    let mut segment = Segment::new(8, 100, 300);
    visit(&mut segment, 3);
    let loaded: Vec<u32> = (0..20).filter_map(|page| segment.load(page)).collect();
    assert_eq!(loaded.len(), 7);
    assert_eq!(segment.load(19), None);
    loaded.iter().for_each(|block| {
        segment.arrived(*block);
        segment.release(*block);
    });
    let counters = segment.counters();
    assert_eq!((counters.read_requests, counters.reads), (1, 1));
    assert_eq!((counters.used_blocks, counters.unused_blocks), (8, 0));
}

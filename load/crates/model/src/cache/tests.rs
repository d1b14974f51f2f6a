//! The segment compared with a slow one, and its rules one by one.

#![allow(clippy::unwrap_used, clippy::panic)]
use super::*;
use proptest::prelude::*;
use std::collections::HashMap;

/// The same rules with a list that is searched from end to end.
#[derive(Debug)]
struct Slow {
    blocks: usize,
    warm_min: usize,
    age_max: u64,
    /// The unused pages, the next to make room first.
    order: Vec<u32>,
    /// The page of the marked block.
    mark: Option<u32>,
    /// The state of each page in the cache.
    pages: HashMap<u32, SlowPage>,
    releases: u64,
    read_requests: u64,
    reads: u64,
}

#[derive(Debug, Default)]
struct SlowPage {
    users: usize,
    uses: u32,
    warm: bool,
    released: u64,
    arrived: bool,
}

impl Slow {
    fn new(blocks: u32, division_limit: u32, age_threshold: u32) -> Self {
        Self {
            blocks: blocks as usize,
            warm_min: (blocks * division_limit / 100 + 1) as usize,
            age_max: u64::from(blocks * age_threshold / 100),
            order: Vec::new(),
            mark: None,
            pages: HashMap::new(),
            releases: 0,
            read_requests: 0,
            reads: 0,
        }
    }

    fn warm(&self) -> usize {
        self.pages.values().filter(|page| page.warm).count()
    }

    fn place(&self, page: u32) -> Option<usize> {
        self.order.iter().position(|other| *other == page)
    }

    fn take_out(&mut self, page: u32) {
        let Some(place) = self.place(page) else {
            return;
        };
        if self.mark == Some(page) {
            let before = (place + self.order.len() - 1) % self.order.len();
            self.mark = Some(self.order[before]).filter(|other| *other != page);
        }
        self.order.remove(place);
    }

    /// Whether it was there, and has arrived; none if all blocks are in use.
    fn find(&mut self, page: u32) -> Option<(bool, bool)> {
        self.take_out(page);
        if let Some(there) = self.pages.get_mut(&page) {
            there.users += 1;
            self.read_requests += 1;
            return Some((true, there.arrived));
        }
        let mut new = SlowPage {
            users: 1,
            ..SlowPage::default()
        };
        if self.pages.len() == self.blocks {
            let first = *self.order.first()?;
            self.take_out(first);
            new.warm = self.pages.remove(&first).unwrap().warm;
        }
        self.read_requests += 1;
        self.reads += 1;
        self.pages.insert(page, new);
        Some((false, false))
    }

    fn release(&mut self, page: u32) {
        let many_are_warm = self.warm() > self.warm_min;
        let this = self.pages.get_mut(&page).unwrap();
        this.users -= 1;
        if this.users > 0 {
            return;
        }
        this.uses += 1;
        this.released = self.releases;
        self.releases += 1;
        if this.uses >= 3 && many_are_warm {
            this.warm = false;
            // Behind the last is before the first.
            let place = self.mark.map_or(0, |mark| self.place(mark).unwrap() + 1);
            self.order.insert(place % self.order.len().max(1), page);
            self.mark = Some(page);
        } else {
            self.order.push(page);
            self.mark.get_or_insert(page);
        }
        let marked = self.mark.unwrap();
        let page = self.pages.get_mut(&marked).unwrap();
        if self.releases - page.released > self.age_max {
            page.warm = true;
            self.take_out(marked);
            self.order.insert(0, marked);
            self.mark.get_or_insert(marked);
        }
    }
}

impl Segment {
    fn page_of(&self, block: u32) -> u32 {
        self.blocks[block as usize].page
    }

    fn order(&self) -> Vec<u32> {
        let Some(last) = self.blocks.get(self.last as usize) else {
            assert_eq!(self.mark, NONE);
            return Vec::new();
        };
        let (mut pages, mut at, mut before) = (Vec::new(), last.after, self.last);
        loop {
            let block = &self.blocks[at as usize];
            assert_eq!((block.before, block.users), (before, 0));
            pages.push(block.page);
            if at == self.last {
                return pages;
            }
            (before, at) = (at, block.after);
        }
    }

    /// Every used block is in the hash once, under its page; nothing else is.
    fn check_hash(&self) {
        let mut hashed = vec![0u32; self.blocks.len()];
        for (bucket, first) in self.buckets.iter().enumerate() {
            let mut at = *first;
            while at != NONE {
                hashed[at as usize] += 1;
                let block = &self.blocks[at as usize];
                assert_eq!(self.bucket(block.page), bucket);
                at = block.same_hash;
            }
        }
        for (block, times) in self.blocks.iter().zip(&hashed) {
            assert_eq!(*times, u32::from(block.page != NONE));
        }
        assert_eq!(hashed.iter().sum::<u32>(), self.used);
    }
}

#[derive(Clone, Debug)]
enum Do {
    Find(u32),
    /// A block in use, by its place.
    Release(usize),
    Arrive(usize),
    Empty,
}

fn doings() -> impl Strategy<Value = Vec<Do>> {
    let one = prop_oneof![
        40 => (0u32..40).prop_map(Do::Find),
        // A few pages are asked for again and again.
        30 => (0u32..4).prop_map(Do::Find),
        60 => (0usize..40).prop_map(Do::Release),
        60 => (0usize..40).prop_map(Do::Arrive),
        1 => Just(Do::Empty),
    ];
    proptest::collection::vec(one, 1..600)
}

proptest! {
    #[test]
    fn it_does_what_the_slow_one_does(
        doings in doings(),
        blocks in 8u32..24,
        limit in prop_oneof![Just(100u32), 1u32..100, Just(1u32)],
        age in prop_oneof![100u32..400, 0u32..40],
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
                Do::Empty => {
                    fast.empty();
                    slow.pages.retain(|_, page| page.users > 0);
                    slow.order.clear();
                    slow.mark = None;
                }
                _ => {}
            }
            prop_assert_eq!(&fast.order(), &slow.order);
            let marked = (fast.mark != NONE).then(|| fast.page_of(fast.mark));
            prop_assert_eq!(marked, slow.mark);
            fast.check_hash();
            let counters = fast.counters();
            prop_assert_eq!(counters.read_requests, slow.read_requests);
            prop_assert_eq!(counters.reads, slow.reads);
            prop_assert_eq!(counters.used_blocks as usize, slow.pages.len());
            prop_assert_eq!(counters.used_blocks + counters.unused_blocks, blocks);
            prop_assert_eq!(fast.warm as usize, slow.warm());
            // None is lost: each is unused, in use, or in the order.
            let using = slow.pages.values().filter(|page| page.users > 0).count();
            prop_assert_eq!(slow.order.len() + using, slow.pages.len());
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

/// The pages in the order in which new pages take their blocks, after these visits; each page is a
/// letter.
fn order(visits: &str, division_limit: u32, age_threshold: u32) -> String {
    let gone_after = |new: usize, page: char| {
        let mut segment = Segment::new(8, division_limit, age_threshold);
        let news = "STUVWXYZ".chars().take(new);
        for page in visits.chars().chain(news) {
            visit(&mut segment, page.into());
        }
        matches!(visit(&mut segment, page.into()), Find::Miss(_))
    };
    let mut gone = String::new();
    for new in 1..=8 {
        let more: Vec<char> = ('A'..='H')
            .filter(|page| !gone.contains(*page) && gone_after(new, *page))
            .collect();
        gone.extend(more);
    }
    gone
}

#[test]
fn blocks_are_taken_in_the_order_in_which_a_server_was_seen_to_take_them() {
    // Observed of MariaDB 10.11: a key cache of 8 blocks and tables whose index is one page.
    let thrice = "ABCDEFGH".repeat(3);
    let then = |page: &str, times| format!("{thrice}{}", page.repeat(times));
    for (visits, limit, age, wanted) in [
        ("ABCDEFGH".to_owned(), 100, 300, "ABCDEFGH"),
        (then("C", 18), 100, 300, "ABDEFGHC"),
        (then("C", 19), 100, 300, "ABDFEGHC"),
        (then("C", 20), 100, 300, "ABFEDGHC"),
        (then("C", 23), 100, 300, "EDBAFGHC"),
        (then("C", 24), 100, 300, "DBAFEGHC"),
        (then("C", 44), 100, 300, "DBAFEGHC"),
        (then("C", 23), 1, 300, "EDBAFGHC"),
        (then("C", 24), 1, 300, "EFABDCGH"),
        (then("C", 30), 1, 100_000_000, "ABDEFGHC"),
    ] {
        assert_eq!(
            order(&visits, limit, age),
            wanted,
            "{visits}, {limit}, {age}"
        );
    }
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
fn an_emptied_segment_forgets_pages_but_those_in_use() {
    let mut segment = Segment::new(8, 1, 0);
    for _ in 0..4 {
        (0..8).for_each(|page| _ = visit(&mut segment, page));
    }
    let Find::Hit(block) = segment.find(3) else {
        panic!("it was there");
    };
    segment.empty();
    segment.check_hash();
    let counters = segment.counters();
    assert_eq!((counters.used_blocks, counters.unused_blocks), (1, 7));
    assert_eq!(
        (segment.find(3), segment.order().len()),
        (Find::Hit(block), 0)
    );
    (4..11).for_each(|page| assert!(matches!(visit(&mut segment, page), Find::Miss(_))));
    assert_eq!(segment.counters().unused_blocks, 0);
    segment.check_hash();
}

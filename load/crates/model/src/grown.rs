//! A key whose pages grew row by row, in order: the primary key while the table is loaded.
//!
//! Leaves are filled from left to right, as those of a sorted key are. A page above with more
//! entries than it has space for shares them with its left neighbour in equal parts. If that one is
//! full, three pages are made of the two; a root, which has no neighbour, is halved. The study's
//! query reads none of these pages. But they are loaded with the index, and the number of the first
//! page of `k` follows from theirs.

use super::page::{Holds, LEAF_ENTRIES, UPPER_ENTRIES};

#[derive(Clone, Debug)]
pub(super) struct Grown {
    rows: u32,
    /// The page number of each leaf.
    leaves: Vec<u32>,
    /// The pages above, by level.
    above: Vec<Vec<Upper>>,
    /// Pages in all.
    pages: u32,
}

/// A page with others below it.
#[derive(Clone, Copy, Debug)]
struct Upper {
    number: u32,
    /// Its leftmost page below, by its place in that level.
    leftmost: u32,
    /// How many pages are below it.
    below: u32,
}

impl Grown {
    /// A key over `rows` rows whose pages begin at 1 in the file.
    pub fn new(rows: u32) -> Self {
        let mut key = Self {
            rows,
            leaves: Vec::new(),
            above: Vec::new(),
            pages: 0,
        };
        for place in 0..rows.div_ceil(LEAF_ENTRIES) {
            let number = key.allocate();
            key.leaves.push(number);
            if place > 0 {
                key.add(0);
            }
        }
        key
    }

    pub fn pages(&self) -> u32 {
        self.pages
    }

    /// The number of the page at which a walk begins.
    pub fn root(&self) -> u32 {
        let above = self.above.last().and_then(|level| level.first());
        let leaf = || self.leaves.first().copied();
        above.map(|page| page.number).or_else(leaf).unwrap_or(1)
    }

    fn allocate(&mut self) -> u32 {
        self.pages += 1;
        self.pages
    }

    /// The last page of `above[level]` gets one more page below it.
    fn add(&mut self, level: usize) {
        let Some(mut last) = self.above.get_mut(level).and_then(Vec::pop) else {
            let root = Upper {
                number: self.allocate(),
                leftmost: 0,
                below: 2,
            };
            return self.above.push(vec![root]);
        };
        last.below += 1;
        if last.below <= UPPER_ENTRIES + 1 {
            return self.put(level, [last]);
        }
        let Some(mut left) = self.above.get_mut(level).and_then(Vec::pop) else {
            let [half, rest] = cut(last, last.below.div_ceil(2));
            let rest = Upper {
                number: self.allocate(),
                ..rest
            };
            self.put(level, [half, rest]);
            return self.add(level + 1);
        };
        let both = left.below + last.below;
        let all = Upper {
            below: both,
            ..left
        };
        if left.below <= UPPER_ENTRIES {
            // One of `both - 1` entries goes to the page above.
            [left, last] = cut_into(all, last, (both - 2) / 2 + 1);
            return self.put(level, [left, last]);
        }
        let third = (both - 1) / 3;
        [left, last] = cut_into(all, last, third + 1);
        let [last, new] = cut(last, third + 1);
        let new = Upper {
            number: self.allocate(),
            ..new
        };
        self.put(level, [left, last]);
        self.put(level, [new]);
        self.add(level + 1);
    }

    fn put<const N: usize>(&mut self, level: usize, pages: [Upper; N]) {
        if let Some(above) = self.above.get_mut(level) {
            above.extend(pages);
        }
    }

    /// The first leaf under a page, by its place among the leaves.
    fn first_leaf(&self, level: usize, place: u32) -> u32 {
        let Some(above) = level.checked_sub(1) else {
            return place;
        };
        let page = self
            .above
            .get(above)
            .and_then(|pages| pages.get(place as usize));
        page.map_or(0, |page| self.first_leaf(above, page.leftmost))
    }

    fn number(&self, level: usize, place: u32) -> u32 {
        let number = match level.checked_sub(1) {
            None => self.leaves.get(place as usize).copied(),
            Some(above) => {
                let pages = self.above.get(above);
                pages.and_then(|pages| Some(pages.get(place as usize)?.number))
            }
        };
        number.unwrap_or(0)
    }

    /// Passes on the content of a page of this key, if it is one.
    pub fn holds(&self, number: u32, tell: impl FnOnce(&Holds<'_>)) {
        if let Ok(place) = self.leaves.binary_search(&number) {
            let first = place as u32 * LEAF_ENTRIES + 1;
            return tell(&Holds {
                count: (self.rows - first + 1).min(match place + 1 == self.leaves.len() {
                    true => LEAF_ENTRIES,
                    false => LEAF_ENTRIES - 1,
                }),
                key: &|entry| first + entry,
                child: None,
            });
        }
        let pages = (0..).zip(&self.above).flat_map(|(level, pages)| {
            let pages = pages.iter();
            pages.map(move |page| (level, page))
        });
        if let Some((level, page)) = pages.into_iter().find(|(_, page)| page.number == number) {
            tell(&Holds {
                count: page.below - 1,
                key: &|entry| self.first_leaf(level, page.leftmost + entry + 1) * LEAF_ENTRIES,
                child: Some(&|child| self.number(level, page.leftmost + child)),
            });
        }
    }
}

/// Cuts a page in two; the first keeps its number and has `below` pages below it.
fn cut(page: Upper, below: u32) -> [Upper; 2] {
    cut_into(page, page, below)
}

/// Cuts a page in two, the second with the number of `other`.
fn cut_into(page: Upper, other: Upper, below: u32) -> [Upper; 2] {
    let first = Upper { below, ..page };
    let second = Upper {
        number: other.number,
        leftmost: page.leftmost + below,
        below: page.below - below,
    };
    [first, second]
}

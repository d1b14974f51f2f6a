//! A key whose pages are made of sorted keys: `k`, which MyISAM builds when all rows are there.
//!
//! Leaves are filled from left to right. If the page has no space for the next key, it is written
//! without its last key. That key goes to the page above, together with the number of the page just
//! written. So a leaf with space for 127 entries has 126, and a page above with space for 92 has 91
//! and 92 pages below it. Only the last page of each level may be fuller. Pages are in the file in
//! the order in which they were written, the last ones of all levels at its end.

use super::page::{Holds, InPage, KeySide, LEAF_ENTRIES, UPPER_ENTRIES};

/// Levels that 2^32 rows need.
const LEVELS_MAX: usize = 5;

#[derive(Clone, Debug)]
pub(super) struct Sorted {
    rows: u32,
    /// The number of the first page in the file.
    first: u32,
    levels: usize,
    /// Pages of each level, from the leaves on.
    pages: [u32; LEVELS_MAX],
    /// From the key behind a page of each level to the key behind the next page.
    span: [u64; LEVELS_MAX],
}

/// A page by its level, from 0 at the leaves, and its place in the level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Spot {
    level: usize,
    place: u32,
}

impl Sorted {
    /// A key over `rows` rows whose pages begin at `first` in the file.
    pub fn new(rows: u32, first: u32) -> Self {
        let mut pages = [0; LEVELS_MAX];
        let mut span = [0; LEVELS_MAX];
        let mut level_pages = rows.div_ceil(LEAF_ENTRIES).max(1);
        let mut level_span = u64::from(LEAF_ENTRIES);
        let mut levels = 0;
        for (pages, span) in pages.iter_mut().zip(&mut span) {
            (*pages, *span) = (level_pages, level_span);
            levels += 1;
            if level_pages == 1 {
                break;
            }
            // All but one of these pages have a key above.
            level_pages = (level_pages - 1).div_ceil(UPPER_ENTRIES);
            level_span *= u64::from(UPPER_ENTRIES);
        }
        Self {
            rows,
            first,
            levels,
            pages,
            span,
        }
    }

    pub fn levels(&self) -> u32 {
        self.levels as u32
    }

    pub fn root(&self) -> u32 {
        self.last_leaf() + self.levels() - 1
    }

    fn last_leaf(&self) -> u32 {
        self.first + Self::before_leaf(self.pages[0] - 1)
    }

    /// Pages that are written before a leaf.
    #[inline]
    fn before_leaf(leaf: u32) -> u32 {
        let (mut pages, mut written) = (leaf, leaf);
        while written > UPPER_ENTRIES {
            // A page is written when the key behind its 93rd page below comes.
            written = (written - 1) / UPPER_ENTRIES;
            pages += written;
        }
        pages
    }

    #[inline]
    fn number(&self, spot: Spot) -> u32 {
        if spot.place + 1 == self.pages_of(spot.level) {
            return self.last_leaf() + spot.level as u32;
        }
        // It follows the page below that has just found no space for its key.
        let leaf = (0..spot.level).fold(spot.place, |place, _| (place + 1) * UPPER_ENTRIES);
        self.first + Self::before_leaf(leaf) + spot.level as u32
    }

    #[inline]
    fn spot(&self, page: u32) -> Spot {
        let last_leaf = self.last_leaf();
        if page >= last_leaf {
            let level = ((page - last_leaf) as usize).min(self.levels - 1);
            let place = self.pages_of(level) - 1;
            return Spot { level, place };
        }
        let before = page.saturating_sub(self.first);
        // The pages above are a 91st of the leaves, a few less at the beginning.
        let mut leaf = before - before / UPPER_ENTRIES;
        while Self::before_leaf(leaf) > before {
            leaf -= 1;
        }
        while Self::before_leaf(leaf + 1) <= before {
            leaf += 1;
        }
        let level = (before - Self::before_leaf(leaf)) as usize;
        let place = (0..level).fold(leaf, |place, _| (place / UPPER_ENTRIES).saturating_sub(1));
        Spot { level, place }
    }

    #[inline]
    fn pages_of(&self, level: usize) -> u32 {
        self.pages.get(level).copied().unwrap_or(1)
    }

    #[inline]
    fn span_of(&self, level: usize) -> u64 {
        self.span.get(level).copied().unwrap_or(u64::MAX)
    }

    /// How many entries a page has.
    #[inline]
    fn entries(&self, spot: Spot) -> u32 {
        let last = spot.place + 1 == self.pages_of(spot.level);
        match (spot.level.checked_sub(1), last) {
            (None, false) => LEAF_ENTRIES - 1,
            (None, true) => self.rows - spot.place * LEAF_ENTRIES,
            (Some(_), false) => UPPER_ENTRIES - 1,
            (Some(below), true) => self.pages_of(below) - 1 - spot.place * UPPER_ENTRIES,
        }
    }

    /// Passes on the content of a page of this key.
    pub fn holds(&self, page: u32, tell: impl FnOnce(&Holds<'_>)) {
        let spot = self.spot(page);
        let count = self.entries(spot);
        let Some(below) = spot.level.checked_sub(1) else {
            return tell(&Holds {
                count,
                key: &|entry| spot.place * LEAF_ENTRIES + 1 + entry,
                child: None,
            });
        };
        let step = self.span_of(below);
        let leftmost = spot.place * UPPER_ENTRIES;
        tell(&Holds {
            count,
            key: &|entry| (step * u64::from(leftmost + entry + 1)) as u32,
            child: Some(&|number| {
                self.number(Spot {
                    level: below,
                    place: leftmost + number,
                })
            }),
        })
    }

    /// What a search for a key finds in a page.
    #[inline]
    pub fn child(&self, page: u32, key: u32, side: KeySide) -> InPage {
        let spot = self.spot(page);
        let count = self.entries(spot);
        let Some(below) = spot.level.checked_sub(1) else {
            let first = spot.place * LEAF_ENTRIES + 1;
            let inside = (first..first + count).contains(&key);
            return InPage {
                child: None,
                row: inside.then_some(key),
                more: u64::from(key) + 1 < u64::from(first) + u64::from(count),
            };
        };
        let step = self.span_of(below);
        let leftmost = spot.place * UPPER_ENTRIES;
        let wanted = (u64::from(key).saturating_sub(1) / step) as u32;
        let mut place = wanted.clamp(leftmost, leftmost + count);
        let has = u64::from(key) == step * u64::from(place + 1) && place < leftmost + count;
        let more = place + u32::from(has) < leftmost + count;
        if has && side == KeySide::Behind {
            place += 1;
        }
        InPage {
            child: Some(self.number(Spot {
                level: below,
                place,
            })),
            row: has.then_some(key),
            more,
        }
    }
}

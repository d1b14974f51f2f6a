//! The index file of the study's table, as MyISAM makes it when the table is loaded: pages of
//! 1 KiB. Each page can be computed from its number.
//!
//! Page 0 is the file's header. The pages of the primary key follow, built row by row (see
//! [`grown`](super::grown)), then those of `k`, built by sorting (see [`sorted`](super::sorted)).
//! The root of `k` is the last page of the file. See `docs/decisions/0044` for the evidence.

use super::grown::Grown;
use super::page::{InPage, KeySide, PAGE_BYTES};
use super::sorted::Sorted;

/// The index of a table with `rows` rows, where `k` of a row is the row's number.
#[derive(Clone, Debug)]
pub struct Index {
    rows: u32,
    primary: Grown,
    key: Sorted,
}

impl Index {
    /// The index of a table of `rows` rows, numbered from 1; at least one.
    pub fn new(rows: u32) -> Self {
        let rows = rows.max(1);
        let primary = Grown::new(rows);
        let key = Sorted::new(rows, 1 + primary.pages());
        Self { rows, primary, key }
    }

    pub fn rows(&self) -> u32 {
        self.rows
    }

    /// Pages of the file, its header included.
    pub fn pages(&self) -> u32 {
        self.root() + 1
    }

    /// The page at which a walk down the key `k` begins.
    pub fn root(&self) -> u32 {
        self.key.root()
    }

    /// The page at which a walk down the primary key begins.
    pub fn primary_root(&self) -> u32 {
        self.primary.root()
    }

    /// Pages from the root of `k` to a leaf, both included.
    pub fn levels(&self) -> u32 {
        self.key.levels()
    }

    /// The numbers of the pages that belong to `k`.
    pub fn pages_of_key(&self) -> std::ops::RangeInclusive<u32> {
        1 + self.primary.pages()..=self.root()
    }

    /// The content of the file at `page`.
    pub fn write(&self, page: u32, out: &mut [u8; PAGE_BYTES]) {
        out.fill(0);
        if self.pages_of_key().contains(&page) {
            self.key.holds(page, |holds| holds.write(out));
        } else if page > 0 && page < self.pages() {
            self.primary.holds(page, |holds| holds.write(out));
        }
    }

    /// What [`search`](super::page::search) finds in a page of `k`, computed without its content.
    #[inline]
    pub fn child(&self, page: u32, key: u32, side: KeySide) -> InPage {
        self.key.child(page, key, side)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::page::search;
    use super::*;
    use proptest::prelude::*;

    fn page(index: &Index, number: u32) -> [u8; PAGE_BYTES] {
        let mut out = [0xaa; PAGE_BYTES];
        index.write(number, &mut out);
        out
    }

    /// Walks from a page to the page with the key, or to a leaf without it; the pages it passed.
    fn walk(index: &Index, root: u32, key: u32, side: KeySide) -> (Vec<u32>, Option<u32>) {
        let mut passed = vec![root];
        let mut found = None;
        loop {
            let at = *passed.last().unwrap();
            let in_page = search(&page(index, at), key, side);
            if index.pages_of_key().contains(&at) {
                assert_eq!(in_page, index.child(at, key, side), "page {at}, key {key}");
            }
            found = in_page.row.or(found);
            match in_page.child {
                Some(child) => passed.push(child),
                None => return (passed, found),
            }
        }
    }

    #[test]
    fn a_file_has_the_pages_that_a_server_made() {
        // MariaDB 10.11, filled by contend-load: rows, pages of the file, levels.
        for (rows, pages, levels) in [
            (10_000, 161, 2),
            (100_000, 1_600, 3),
            (1_000_000, 15_966, 3),
            (20_000_000, 319_234, 4),
        ] {
            let index = Index::new(rows);
            assert_eq!((index.pages(), index.levels()), (pages, levels), "{rows}");
        }
        let levels = |rows| Index::new(rows).levels();
        assert_eq!([127, 128, 11_811, 11_812].map(levels), [1, 2, 2, 3]);
        assert_eq!([1_086_739, 1_086_740, 20_000_000].map(levels), [3, 4, 4]);
    }

    #[test]
    fn every_page_has_the_place_that_leads_to_it() {
        for rows in [
            1, 126, 127, 128, 254, 255, 11_811, 11_812, 11_939, 100_000, 1_100_000,
        ] {
            let index = Index::new(rows);
            let mut seen = vec![false; index.pages() as usize];
            let mut below = vec![index.root()];
            let mut levels = 0;
            while !below.is_empty() {
                levels += 1;
                let mut next = Vec::new();
                for number in below.drain(..) {
                    assert!(
                        !std::mem::replace(&mut seen[number as usize], true),
                        "{number}"
                    );
                    let content = page(&index, number);
                    let length = usize::from(u16::from_be_bytes([content[0], content[1]]) & 0x7fff);
                    if content[0] & 0x80 != 0 {
                        let children = content[2..length].chunks(11);
                        next.extend(children.map(|c| u32::from_be_bytes([0, c[0], c[1], c[2]])));
                    }
                }
                below = next;
            }
            assert_eq!(levels, index.levels());
            let key = index.pages_of_key();
            assert!(
                seen.iter()
                    .zip(0..)
                    .all(|(seen, n)| *seen == key.contains(&n))
            );
        }
    }

    proptest! {
        #[test]
        fn walks_find_every_key_and_no_other(rows in 1u32..2_000_000, key: u32, inside: u32) {
            let index = Index::new(rows);
            let inside = 1 + inside % rows;
            for key in [inside, key, 0, 1, rows, rows + 1] {
                for side in [KeySide::Before, KeySide::Behind] {
                    let (passed, found) = walk(&index, index.root(), key, side);
                    prop_assert_eq!(found, (1..=rows).contains(&key).then_some(key));
                    prop_assert_eq!(passed.len(), index.levels() as usize);
                }
            }
        }

        #[test]
        fn anything_can_be_searched(bytes: Vec<u8>, key: u32) {
            let mut page = [0; PAGE_BYTES];
            page.iter_mut().zip(bytes).for_each(|(to, from)| *to = from);
            let _ = search(&page, key, KeySide::Behind);
        }
    }
}

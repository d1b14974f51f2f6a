//! The index file of the study's table, as MyISAM makes it when the table is loaded: pages of
//! 1 KiB, of which each can be computed from its number.
//!
//! Page 0 is the file's header. The pages of the primary key follow, built row by row (see
//! [`grown`](super::grown)), then those of `k`, built by sorting (see [`sorted`](super::sorted)).
//! The root of `k` is the last page of the file. `docs/decisions/0044` says how this was found.
//!
//! A page begins with two bytes: its length in use, and in the highest bit whether it has pages
//! below it. Then come entries of 8 bytes (the value of the key, and the number of the row in the
//! data file, from 0), in a page with others below it each between two page numbers of 3 bytes.
//! All numbers are big-endian.

use super::grown::Grown;
use super::sorted::Sorted;

/// Bytes of an index page, and of a block of the key cache.
pub const PAGE_BYTES: usize = 1024;

/// Entries that a leaf page has space for.
pub(super) const LEAF_ENTRIES: u32 = 127;
/// Entries that a page above has space for.
pub(super) const UPPER_ENTRIES: u32 = 92;

const LENGTH_BYTES: usize = 2;
const CHILD_BYTES: usize = 3;
const ENTRY_BYTES: usize = 8;
const HAS_CHILDREN: u16 = 0x8000;

/// The index of a table of so many rows, where `k` of a row is the row's number.
#[derive(Clone, Debug)]
pub struct Index {
    rows: u32,
    primary: Grown,
    key: Sorted,
}

/// What a search for a key found in a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InPage {
    /// The page to go on with, left of the first entry that is not smaller than the key; none in a
    /// leaf page.
    pub child: Option<u32>,
    /// The number of the row, from 1, if this page has an entry with the key.
    pub row: Option<u32>,
}

/// What a page holds: how many entries, the key of each, and the number of each page below, if
/// there are any: one more than entries.
pub(super) struct Holds<'i> {
    pub count: u32,
    pub key: &'i dyn Fn(u32) -> u32,
    pub child: Option<&'i dyn Fn(u32) -> u32>,
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

    /// What is in the file at `page`.
    pub fn write(&self, page: u32, out: &mut [u8; PAGE_BYTES]) {
        out.fill(0);
        if self.pages_of_key().contains(&page) {
            self.key.holds(page, |holds| put(out, holds));
        } else if page > 0 && page < self.pages() {
            self.primary.holds(page, |holds| put(out, holds));
        }
    }

    /// Searches the content of a page by halves for the entry with a key.
    #[inline]
    pub fn search(page: &[u8; PAGE_BYTES], key: u32) -> InPage {
        let head = u16::from_be_bytes([page[0], page[1]]);
        let (left, child_bytes) = match head & HAS_CHILDREN {
            0 => (LENGTH_BYTES, 0),
            _ => (LENGTH_BYTES + CHILD_BYTES, CHILD_BYTES),
        };
        let length = usize::from(head & !HAS_CHILDREN).min(PAGE_BYTES);
        let each = ENTRY_BYTES + child_bytes;
        let word = |at: usize| {
            let bytes = page.get(at..).and_then(|rest| rest.first_chunk::<4>());
            bytes.map_or(0, |bytes| u32::from_be_bytes(*bytes))
        };
        let entries = length.saturating_sub(left) / each;
        let (mut low, mut high) = (0, entries);
        while low < high {
            let middle = (low + high) / 2;
            if word(left + middle * each) < key {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        let at = left + low * each;
        InPage {
            // The byte before the three is the row's number or the length, and is cut off.
            child: (child_bytes > 0).then(|| word(at - 4) & 0x00ff_ffff),
            row: (low < entries && word(at) == key).then(|| word(at + 4).wrapping_add(1)),
        }
    }

    /// What [`Self::search`] finds in a page of `k`, computed without its content.
    #[inline]
    pub fn child(&self, page: u32, key: u32) -> InPage {
        self.key.child(page, key)
    }
}

fn put(out: &mut [u8; PAGE_BYTES], holds: &Holds<'_>) {
    let mut length = LENGTH_BYTES;
    let mut add = |bytes: &[u8]| {
        if let Some(place) = out.get_mut(length..length + bytes.len()) {
            place.copy_from_slice(bytes);
            length += bytes.len();
        }
    };
    let child = |number: u32| holds.child.map(|child| child(number).to_be_bytes());
    for number in 0..holds.count {
        if let Some([_, bytes @ ..]) = child(number) {
            add(&bytes);
        }
        let key = (holds.key)(number);
        add(&key.to_be_bytes());
        add(&(key - 1).to_be_bytes());
    }
    if let Some([_, bytes @ ..]) = child(holds.count) {
        add(&bytes);
    }
    let flag = holds.child.map_or(0, |_| HAS_CHILDREN);
    let [high, low] = (length as u16 | flag).to_be_bytes();
    (out[0], out[1]) = (high, low);
}

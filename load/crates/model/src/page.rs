//! An index page as MyISAM has it: its content, and how it is searched.
//!
//! It begins with two bytes: its length in use, and in the highest bit whether it has pages below
//! it. Then come entries of 8 bytes: the value of the key, and the number of the row in the data
//! file, from 0. In a page with others below it, each is between two page numbers of 3 bytes. All
//! numbers are big-endian.

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

/// The side of the entries with a key on which a search continues below.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeySide {
    Before,
    Behind,
}

/// The result of a search for a key in a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InPage {
    /// The page to go on with; none in a leaf page.
    pub child: Option<u32>,
    /// The number of the row, from 1, if this page has an entry with the key.
    pub row: Option<u32>,
    /// Whether this page has an entry behind the key.
    pub more: bool,
}

/// The content of a page: how many entries, the key of each, and the number of each page below, if
/// any: one more than entries.
pub(super) struct Holds<'i> {
    pub count: u32,
    pub key: &'i dyn Fn(u32) -> u32,
    pub child: Option<&'i dyn Fn(u32) -> u32>,
}

/// Searches the content of a page by halves for the entry with a key.
#[inline]
pub fn search(page: &[u8; PAGE_BYTES], key: u32, side: KeySide) -> InPage {
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
    // Keys are unique: there is at most one entry to be on a side of.
    let at = left + low * each;
    let has = low < entries && word(at) == key;
    let behind = low + usize::from(has);
    let below = match side {
        KeySide::Before => at,
        KeySide::Behind => left + behind * each,
    };
    InPage {
        // The byte before the three is the row's number or the length, and is cut off.
        child: (child_bytes > 0).then(|| word(below - 4) & 0x00ff_ffff),
        row: has.then(|| word(at + 4).wrapping_add(1)),
        more: behind < entries,
    }
}

impl Holds<'_> {
    /// The content of the page; it replaces that of `out`.
    pub fn write(&self, out: &mut [u8; PAGE_BYTES]) {
        out.fill(0);
        let mut length = LENGTH_BYTES;
        let mut add = |bytes: &[u8]| {
            if let Some(place) = out.get_mut(length..length + bytes.len()) {
                place.copy_from_slice(bytes);
                length += bytes.len();
            }
        };
        let child = |number: u32| self.child.map(|child| child(number).to_be_bytes());
        for number in 0..self.count {
            if let Some([_, bytes @ ..]) = child(number) {
                add(&bytes);
            }
            let key = (self.key)(number);
            add(&key.to_be_bytes());
            add(&(key - 1).to_be_bytes());
        }
        if let Some([_, bytes @ ..]) = child(self.count) {
            add(&bytes);
        }
        let flag = self.child.map_or(0, |_| HAS_CHILDREN);
        let [high, low] = (length as u16 | flag).to_be_bytes();
        (out[0], out[1]) = (high, low);
    }
}

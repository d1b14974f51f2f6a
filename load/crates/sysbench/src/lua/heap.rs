//! The memory of one Lua state: small blocks are cut from pieces that belong to it alone.
//!
//! A thousand states exist at once, and each is woken for a moment at a time. The blocks that it
//! touches then should lie close together, not between those of others. Lua gives a block back
//! together with its length, so none needs a head with it.
//!
//! A block is refused if the native stack is nearly used up, or the state has as much memory as
//! LuaJIT of sysbench could use. It is also refused if all states together have half of the memory.
//! Lua then raises an error, which is better than the end of the process.

use super::error::ScriptError;
use super::native_stack::STACK_OVERFLOW;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Lengths of small blocks are multiples of this, the only alignment that LuaJIT needs.
const STEP: usize = 8;
const SMALL_MAX: usize = 512;
const CLASSES: usize = SMALL_MAX / STEP;
/// Memory requested from the C library at a time: a page, less its own head. Half of the last one
/// is never used, in each of a thousand states.
const PIECE_BYTES: usize = 4096 - 16;
/// A piece begins with the address of the one before.
const HEAD_BYTES: usize = 16;

/// Part of a native stack kept for code that allocates nothing: LuaJIT's compiler, C libraries.
const STACK_KEPT: usize = 128 * 1024;
/// A state adds its memory to the total in such steps, so that states seldom meet there.
const STEP_TOLD: usize = 1 << 20;

/// Bytes that one state may take.
const STATE_MAX: usize = 2 << 30;

/// Bytes that all states have added to the total.
static TOLD: AtomicUsize = AtomicUsize::new(0);

/// Why a block was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeapRefusal {
    Stack,
    OwnMemory,
    AllMemory,
}

impl HeapRefusal {
    /// The resulting error, with the resource that was short.
    pub fn explain(self, error: ScriptError) -> ScriptError {
        let Some(place) = error.0.strip_suffix(NO_MEMORY) else {
            return error;
        };
        ScriptError(match self {
            Self::Stack => format!("{place}{STACK_OVERFLOW}"),
            Self::OwnMemory => format!(
                "{place}{NO_MEMORY}: the limit for one thread of the script is {} MiB",
                STATE_MAX >> 20
            ),
            Self::AllMemory => format!(
                "{place}{NO_MEMORY}: the limit for all threads of the script is {} MiB, half of \
                 this host's memory",
                limit() >> 20
            ),
        })
    }
}

/// LuaJIT's words for a block that it did not get.
const NO_MEMORY: &str = "not enough memory";

/// Limit of all states together: half of the memory of the host, or of the control group.
fn limit() -> usize {
    static LIMIT: OnceLock<usize> = OnceLock::new();
    *LIMIT.get_or_init(|| {
        // SAFETY: asks for two numbers.
        let (pages, page) = unsafe {
            let pages = libc::sysconf(libc::_SC_PHYS_PAGES);
            (pages, libc::sysconf(libc::_SC_PAGESIZE))
        };
        let host = usize::try_from(pages.saturating_mul(page)).unwrap_or(usize::MAX);
        let group = std::fs::read_to_string("/sys/fs/cgroup/memory.max");
        let group = group.ok().and_then(|text| text.trim().parse().ok());
        group.map_or(host, |group: usize| group.min(host)) / 2
    })
}

/// Blocks of one state.
#[derive(Debug)]
pub struct Heap {
    /// By length: the first free block, which holds the address of the next.
    free: [*mut u8; CLASSES],
    /// The rest of the newest piece.
    rest: *mut u8,
    rest_bytes: usize,
    newest: *mut u8,
    /// Bytes requested from the C library, and how many of them the others know about.
    taken: usize,
    told: usize,
    lowest_of_stack: usize,
    refused: Option<HeapRefusal>,
}

/// The class of a small block; none for a large one.
fn class_of(size: usize) -> Option<usize> {
    (size <= SMALL_MAX).then(|| size.div_ceil(STEP).saturating_sub(1))
}

impl Heap {
    /// A heap for a state that runs on the native stack with this end.
    pub fn on(lowest_of_stack: usize) -> Self {
        Self {
            free: [ptr::null_mut(); CLASSES],
            rest: ptr::null_mut(),
            rest_bytes: 0,
            newest: ptr::null_mut(),
            taken: 0,
            told: 0,
            lowest_of_stack,
            refused: None,
        }
    }

    /// Why a block was refused since this was last asked.
    pub fn take_refusal(&mut self) -> Option<HeapRefusal> {
        self.refused.take()
    }

    /// The native stack is nearly used up. On any other stack this is false.
    #[inline]
    fn is_deep(&self) -> bool {
        let here = 0u8;
        let left = (&raw const here).addr().wrapping_sub(self.lowest_of_stack);
        left < STACK_KEPT
    }

    #[cold]
    fn refuse(&mut self, why: HeapRefusal) -> *mut u8 {
        self.refused = Some(why);
        ptr::null_mut()
    }

    /// Counts bytes to be taken from the C library; false if they are too many.
    fn count(&mut self, bytes: usize) -> bool {
        self.taken += bytes;
        if self.taken < self.told + STEP_TOLD {
            return true;
        }
        let more = self.taken - self.told;
        let all = TOLD.fetch_add(more, Relaxed).saturating_add(more);
        if let Some(why) = refusal(self.taken, all, limit()) {
            TOLD.fetch_sub(more, Relaxed);
            self.taken -= bytes;
            self.refuse(why);
            return false;
        }
        self.told += more;
        true
    }

    /// Counts bytes that were given back.
    fn uncount(&mut self, bytes: usize) {
        self.taken -= bytes;
        if self.taken + 2 * STEP_TOLD < self.told {
            TOLD.fetch_sub(self.told - self.taken, Relaxed);
            self.told = self.taken;
        }
    }

    /// Lua's allocator: `size_before` is 0 for a new block, `size` 0 to free one. Null where there
    /// is no memory.
    ///
    /// # Safety
    /// `block` is null, or came from here with `size_before` bytes and was not freed since.
    pub unsafe fn change(&mut self, block: *mut u8, size_before: usize, size: usize) -> *mut u8 {
        if size > size_before && self.is_deep() {
            return self.refuse(HeapRefusal::Stack);
        }
        // SAFETY: as the caller promises; the copied bytes fit both blocks.
        unsafe {
            if block.is_null() {
                return if size == 0 { block } else { self.take(size) };
            }
            if size == 0 {
                self.give(block, size_before);
                return ptr::null_mut();
            }
            match (class_of(size_before), class_of(size)) {
                (None, None) => self.resize(block, size_before, size),
                (before, after) if before == after => block,
                _ => {
                    let moved = self.take(size);
                    if !moved.is_null() {
                        ptr::copy_nonoverlapping(block, moved, size.min(size_before));
                        self.give(block, size_before);
                    }
                    moved
                }
            }
        }
    }

    /// # Safety
    /// `block` is a large one of `size_before` bytes.
    unsafe fn resize(&mut self, block: *mut u8, size_before: usize, size: usize) -> *mut u8 {
        if size > size_before && !self.count(size - size_before) {
            return ptr::null_mut();
        }
        // SAFETY: a large block came from the C library, and is not used by its old address.
        let resized: *mut u8 = unsafe { libc::realloc(block.cast(), size).cast() };
        match (resized.is_null(), size > size_before) {
            (true, true) => self.uncount(size - size_before),
            (false, false) => self.uncount(size_before - size),
            _ => {}
        }
        resized
    }

    unsafe fn take(&mut self, size: usize) -> *mut u8 {
        let Some(class) = class_of(size) else {
            if !self.count(size) {
                return ptr::null_mut();
            }
            // SAFETY: asks for memory, and is answered whether there is any.
            let block: *mut u8 = unsafe { libc::malloc(size).cast() };
            if block.is_null() {
                self.uncount(size);
            }
            return block;
        };
        if let Some(first) = self.free.get_mut(class)
            && !first.is_null()
        {
            let block = *first;
            // SAFETY: a free block holds the address of the next one.
            *first = unsafe { block.cast::<*mut u8>().read() };
            return block;
        }
        let bytes = (class + 1) * STEP;
        if self.rest_bytes < bytes && !self.add_piece() {
            return ptr::null_mut();
        }
        let block = self.rest;
        // SAFETY: the piece has at least this many bytes left.
        self.rest = unsafe { block.add(bytes) };
        self.rest_bytes -= bytes;
        block
    }

    unsafe fn give(&mut self, block: *mut u8, size: usize) {
        let Some(class) = class_of(size) else {
            self.uncount(size);
            // SAFETY: a large block came from the C library.
            return unsafe { libc::free(block.cast()) };
        };
        if let Some(first) = self.free.get_mut(class) {
            // SAFETY: the block is ours again, and holds an address at least.
            unsafe { block.cast::<*mut u8>().write(*first) };
            *first = block;
        }
    }

    fn add_piece(&mut self) -> bool {
        if !self.count(PIECE_BYTES) {
            return false;
        }
        // SAFETY: asks for memory, and is answered whether there is any; the head fits.
        unsafe {
            let piece: *mut u8 = libc::malloc(PIECE_BYTES).cast();
            if piece.is_null() {
                self.uncount(PIECE_BYTES);
                return false;
            }
            piece.cast::<*mut u8>().write(self.newest);
            self.newest = piece;
            self.rest = piece.add(HEAD_BYTES);
        }
        self.rest_bytes = PIECE_BYTES - HEAD_BYTES;
        true
    }
}

impl Drop for Heap {
    fn drop(&mut self) {
        TOLD.fetch_sub(self.told, Relaxed);
        while !self.newest.is_null() {
            let piece = self.newest;
            // SAFETY: pieces are a chain that begins with the newest.
            unsafe {
                self.newest = piece.cast::<*mut u8>().read();
                libc::free(piece.cast());
            }
        }
    }
}

/// Why a state that has `taken` bytes gets no more, if all states together have `all` bytes.
fn refusal(taken: usize, all: usize, limit: usize) -> Option<HeapRefusal> {
    if taken > STATE_MAX {
        return Some(HeapRefusal::OwnMemory);
    }
    (all > limit).then_some(HeapRefusal::AllMemory)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn one_state_and_all_together_have_limits() {
        let limit = 4 * STATE_MAX;
        assert_eq!(refusal(STATE_MAX, limit, limit), None);
        assert_eq!(refusal(0, limit + 1, limit), Some(HeapRefusal::AllMemory));
        assert_eq!(
            refusal(STATE_MAX + 1, limit, limit),
            Some(HeapRefusal::OwnMemory)
        );
    }

    #[test]
    fn a_block_is_refused_where_the_stack_or_the_memory_is_short() {
        let here = 0u8;
        let mut heap = Heap::on((&raw const here).addr() - STACK_KEPT);
        // SAFETY: asks for blocks, and gives back what it gets.
        unsafe {
            assert!(heap.change(ptr::null_mut(), 0, 8).is_null());
            assert_eq!(heap.take_refusal(), Some(HeapRefusal::Stack));
            let mut heap = Heap::on(0);
            assert!(heap.change(ptr::null_mut(), 0, STATE_MAX + 1).is_null());
            assert_eq!(heap.take_refusal(), Some(HeapRefusal::OwnMemory));
            let block = heap.change(ptr::null_mut(), 0, 4 * STEP_TOLD);
            assert!(!block.is_null() && heap.told == 4 * STEP_TOLD);
            heap.change(block, 4 * STEP_TOLD, 0);
            assert_eq!((heap.taken, heap.told, heap.take_refusal()), (0, 0, None));
        }
    }

    proptest! {
        #[test]
        fn blocks_keep_what_is_in_them(sizes in prop::collection::vec((1usize..1500, 0usize..1500), 1..300)) {
            let mut heap = Heap::on(0);
            let mut blocks: Vec<(*mut u8, usize, u8)> = Vec::new();
            // SAFETY: each block is written, read and given back with its requested length.
            unsafe {
                for (number, (size, later)) in sizes.into_iter().enumerate() {
                    let mark = number as u8;
                    let block = heap.change(ptr::null_mut(), 0, size);
                    prop_assert!(!block.is_null() && (block as usize).is_multiple_of(STEP));
                    block.write_bytes(mark, size);
                    let moved = heap.change(block, size, later);
                    if later > 0 {
                        moved.add(size.min(later)).write_bytes(mark, later - size.min(later));
                        blocks.push((moved, later, mark));
                    }
                    if number % 3 == 0 && let Some((block, size, mark)) = blocks.pop() {
                        prop_assert!((0..size).all(|at| *block.add(at) == mark));
                        heap.change(block, size, 0);
                    }
                }
                for (block, size, mark) in blocks {
                    prop_assert!((0..size).all(|at| *block.add(at) == mark));
                    heap.change(block, size, 0);
                }
            }
        }
    }
}

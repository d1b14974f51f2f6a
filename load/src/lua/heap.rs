//! The memory of one Lua state: small blocks are cut from pieces that belong to it alone.
//!
//! A thousand states live side by side, and each is woken for a moment at a time. What one of
//! them touches then should lie close together, and not between the blocks of the others; and
//! Lua says how long a block is when it gives it back, so none needs a head that says so.

use std::ptr;

/// Lengths of small blocks are multiples of this, which is all the alignment that LuaJIT wants.
const STEP: usize = 8;
const SMALL_MAX: usize = 512;
const CLASSES: usize = SMALL_MAX / STEP;
/// What is asked of the C library at a time: a page, less its own head. Half of the last one is
/// never used, in each of a thousand states.
const PIECE_BYTES: usize = 4096 - 16;
/// In front of a piece stands the address of the one before.
const HEAD_BYTES: usize = 16;

/// Blocks of one state.
#[derive(Debug)]
pub struct Heap {
    /// By length: the first free block, which holds the address of the next.
    free: [*mut u8; CLASSES],
    /// What is left of the newest piece.
    rest: *mut u8,
    rest_bytes: usize,
    newest: *mut u8,
}

impl Default for Heap {
    fn default() -> Self {
        Self {
            free: [ptr::null_mut(); CLASSES],
            rest: ptr::null_mut(),
            rest_bytes: 0,
            newest: ptr::null_mut(),
        }
    }
}

/// The class of a small block; none for a large one.
fn class_of(size: usize) -> Option<usize> {
    (size <= SMALL_MAX).then(|| size.div_ceil(STEP).saturating_sub(1))
}

impl Heap {
    /// What Lua asks of an allocator: `size_before` is 0 for a new block, `size` 0 to free one.
    /// Null where there is no memory.
    ///
    /// # Safety
    /// `block` is null, or came from here with `size_before` bytes and was not freed since.
    pub unsafe fn change(&mut self, block: *mut u8, size_before: usize, size: usize) -> *mut u8 {
        // SAFETY: as the caller promises; what is copied fits both blocks.
        unsafe {
            if block.is_null() {
                return if size == 0 { block } else { self.take(size) };
            }
            if size == 0 {
                self.give(block, size_before);
                return ptr::null_mut();
            }
            match (class_of(size_before), class_of(size)) {
                (None, None) => libc::realloc(block.cast(), size).cast(),
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

    unsafe fn take(&mut self, size: usize) -> *mut u8 {
        let Some(class) = class_of(size) else {
            // SAFETY: asks for memory, and is answered whether there is any.
            return unsafe { libc::malloc(size).cast() };
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
        // SAFETY: so many bytes are left of the piece.
        self.rest = unsafe { block.add(bytes) };
        self.rest_bytes -= bytes;
        block
    }

    unsafe fn give(&mut self, block: *mut u8, size: usize) {
        let Some(class) = class_of(size) else {
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
        // SAFETY: asks for memory, and is answered whether there is any; the head fits.
        unsafe {
            let piece: *mut u8 = libc::malloc(PIECE_BYTES).cast();
            if piece.is_null() {
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn blocks_keep_what_is_in_them(sizes in prop::collection::vec((1usize..1500, 0usize..1500), 1..300)) {
            let mut heap = Heap::default();
            let mut blocks: Vec<(*mut u8, usize, u8)> = Vec::new();
            // SAFETY: each block is written, read and given back as long as it was asked to be.
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

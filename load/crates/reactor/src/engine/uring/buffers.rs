//! The ring of read buffers that the kernel takes from and we return to.

use io_uring::IoUring;
use io_uring::types::BufRingEntry;
use std::io;
use std::sync::atomic::{AtomicU16, Ordering};

/// Big enough for the answer of a point query in one piece, small enough that the buffers of a
/// batch stay in the cache.
const BUFFER_BYTES: usize = 8192;
/// Added between buffers: starts that are a power of two apart would fight for the same lines
/// of the cache.
const STAGGER_BYTES: usize = 192;
const STRIDE: usize = BUFFER_BYTES + STAGGER_BYTES;
const COUNT_MIN: usize = 16;
const COUNT_MAX: usize = 1024;
const PAGE: usize = 4096;

/// One allocation for the ring, one for the buffers; both live as long as this.
pub struct Buffers {
    ring: Zeroed,
    memory: Zeroed,
    /// A power of two.
    count: u16,
    tail: u16,
}

/// Zeroed memory.
struct Zeroed {
    start: std::ptr::NonNull<u8>,
    layout: std::alloc::Layout,
}

impl Zeroed {
    fn new(bytes: usize, align: usize) -> io::Result<Self> {
        let layout = std::alloc::Layout::from_size_align(bytes.next_multiple_of(align), align)
            .map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?;
        // SAFETY: the size is not zero.
        let start = unsafe { std::alloc::alloc_zeroed(layout) };
        match std::ptr::NonNull::new(start) {
            Some(start) => Ok(Self { start, layout }),
            None => Err(io::ErrorKind::OutOfMemory.into()),
        }
    }
}

impl Drop for Zeroed {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout and freed only here.
        unsafe { std::alloc::dealloc(self.start.as_ptr(), self.layout) };
    }
}

impl Buffers {
    /// Makes the buffers and registers them with the kernel. They must outlive the ring.
    pub fn register(ring: &IoUring, group: u16, sockets: usize) -> io::Result<Self> {
        let count = sockets.clamp(COUNT_MIN, COUNT_MAX).next_power_of_two() as u16;
        let mut buffers = Self {
            ring: Zeroed::new(usize::from(count) * size_of::<BufRingEntry>(), PAGE)?,
            // Aligned to a page it would be zeroed by hand, and all of it be resident at once.
            memory: Zeroed::new(usize::from(count) * STRIDE, 1)?,
            count,
            tail: 0,
        };
        // SAFETY: the memory has the size given and lives until the ring is dropped, which the
        // order of the owner's fields ensures.
        unsafe {
            ring.submitter().register_buf_ring_with_flags(
                buffers.ring.start.as_ptr() as u64,
                count,
                group,
                0,
            )?;
        }
        (0..count).for_each(|buffer| buffers.give_back(buffer));
        Ok(buffers)
    }

    /// What the kernel wrote into `buffer`.
    pub fn get(&self, buffer: u16, filled: usize) -> &[u8] {
        if buffer >= self.count {
            return &[];
        }
        // SAFETY: the start is inside our memory, the length is bounded to the buffer, and the
        // kernel leaves the buffer alone until it is returned.
        unsafe { std::slice::from_raw_parts(self.start_of(buffer), filled.min(BUFFER_BYTES)) }
    }

    /// Lets the kernel use `buffer` again.
    pub fn give_back(&mut self, buffer: u16) {
        if buffer >= self.count {
            return;
        }
        let place = usize::from(self.tail & (self.count - 1));
        let address = self.start_of(buffer) as u64;
        let base = self.ring.start.as_ptr().cast::<BufRingEntry>();
        // SAFETY: the place is inside the ring, whose memory is only written here; the kernel
        // reads an entry only after the tail has passed it.
        unsafe {
            let entry = &mut *base.add(place);
            entry.set_addr(address);
            entry.set_len(BUFFER_BYTES as u32);
            entry.set_bid(buffer);
        }
        self.tail = self.tail.wrapping_add(1);
        // SAFETY: the tail is in the first entry, is aligned, and lasts as long as the ring; the
        // kernel expects an atomic store.
        unsafe {
            let tail = BufRingEntry::tail(base).cast_mut().cast::<AtomicU16>();
            (*tail).store(self.tail, Ordering::Release);
        }
    }

    fn start_of(&self, buffer: u16) -> *mut u8 {
        // SAFETY: callers have checked that the buffer is one of ours.
        unsafe { self.memory.start.as_ptr().add(usize::from(buffer) * STRIDE) }
    }
}

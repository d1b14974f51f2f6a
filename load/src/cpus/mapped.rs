//! Memory taken from the kernel itself, so that its node can be chosen.

use std::io;
use std::ops::{Deref, DerefMut};
use std::ptr::{self, NonNull};

/// Nodes that a mask has room for: more than any kernel is built for.
const NODES: usize = 1024;
const BITS: usize = u64::BITS as usize;
const WORD: usize = size_of::<u64>();
/// Bytes between two pages that are asked for their node.
const BYTES_BETWEEN_LOOKS: usize = 64 << 10;

/// Words of memory, 0 until they are written. The kernel gives a page when it is first touched,
/// and takes all of them back when this is dropped.
#[derive(Debug)]
pub struct MappedWords {
    start: NonNull<u64>,
    words: usize,
}

// SAFETY: the memory is this value's alone, and is reached through it as a slice is.
unsafe impl Send for MappedWords {}
// SAFETY: as above; a shared one is only read.
unsafe impl Sync for MappedWords {}

impl MappedWords {
    /// # Errors
    /// The kernel has too little memory.
    pub fn new(bytes: usize) -> io::Result<Self> {
        let words = bytes / WORD;
        // SAFETY: a new mapping of the kernel's choice replaces nothing.
        let start = unsafe {
            libc::mmap(
                ptr::null_mut(),
                words * WORD,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        match NonNull::new(start.cast()) {
            Some(start) => Ok(Self { start, words }),
            None => Err(io::Error::other("the kernel mapped memory at address 0")),
        }
    }

    /// Asks for pages of one node. It is a preference: a binding to a node that has become full
    /// meanwhile would have the kernel end some process. [`Self::node_of`] returns the result.
    ///
    /// # Errors
    /// The kernel refuses: it has no nodes, or a container's filter of calls is in the way.
    pub fn prefer(&self, node: usize) -> io::Result<()> {
        let mut mask = [0_u64; NODES / BITS];
        match mask.get_mut(node / BITS) {
            Some(word) => *word |= 1 << (node % BITS),
            None => return Err(io::Error::from_raw_os_error(libc::EINVAL)),
        }
        // SAFETY: it is our mapping, and the mask has the stated number of bits. The kernel looks
        // at one bit less than stated.
        let said = unsafe {
            libc::syscall(
                libc::SYS_mbind,
                self.start.as_ptr(),
                self.words * WORD,
                libc::MPOL_PREFERRED,
                mask.as_ptr(),
                NODES + 1,
                0,
            )
        };
        answered(said)
    }

    /// The node that the pages are of, each looked at after it was touched. None: of several.
    ///
    /// # Errors
    /// The kernel gives no answer.
    pub fn node_of(&self) -> io::Result<Option<usize>> {
        let mut all = None;
        for word in self.iter().step_by(BYTES_BETWEEN_LOOKS / WORD) {
            let mut node: libc::c_int = 0;
            // SAFETY: the kernel writes one number to the given address, and no mask.
            let said = unsafe {
                libc::syscall(
                    libc::SYS_get_mempolicy,
                    &raw mut node,
                    ptr::null_mut::<libc::c_ulong>(),
                    0,
                    ptr::from_ref(word),
                    MPOL_F_NODE | MPOL_F_ADDR,
                )
            };
            answered(said)?;
            if *all.get_or_insert(node) != node {
                return Ok(None);
            }
        }
        Ok(all.and_then(|node| usize::try_from(node).ok()))
    }
}

/// From `linux/mempolicy.h`: return the node, of the page at an address.
const MPOL_F_NODE: libc::c_ulong = 1;
const MPOL_F_ADDR: libc::c_ulong = 2;

fn answered(said: libc::c_long) -> io::Result<()> {
    if said == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

impl Deref for MappedWords {
    type Target = [u64];

    fn deref(&self) -> &[u64] {
        // SAFETY: `words` words are mapped, aligned to a page, and 0 or written since.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.words) }
    }
}

impl DerefMut for MappedWords {
    fn deref_mut(&mut self) -> &mut [u64] {
        // SAFETY: as above, and nothing else has it.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.words) }
    }
}

impl Drop for MappedWords {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and nothing that borrowed from it is left.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.words * WORD) };
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn mapped_words_are_zero_until_they_are_written() {
        let mut words = MappedWords::new(1 << 20).unwrap();
        assert_eq!(words.len(), 1 << 17);
        assert!(words.iter().all(|word| *word == 0));
        words[7] = 3;
        assert_eq!(words[7], 3);
    }

    #[test]
    fn more_than_there_can_be_is_an_error() {
        assert!(MappedWords::new(usize::MAX / 4).is_err());
    }

    #[test]
    fn a_node_that_no_kernel_has_is_refused() {
        let words = MappedWords::new(1 << 16).unwrap();
        assert!(words.prefer(NODES - 1).is_err());
        assert!(words.prefer(NODES).is_err());
    }

    #[test]
    fn the_kernel_says_of_which_node_pages_are_that_were_touched() {
        let mut words = MappedWords::new(1 << 20).unwrap();
        // A kernel without nodes, or a filter of calls, has no answer.
        if words.prefer(0).is_err() {
            return;
        }
        words.fill(1);
        assert_eq!(words.node_of().unwrap(), Some(0));
    }
}

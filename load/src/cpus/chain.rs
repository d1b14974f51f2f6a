//! The time of one load from memory that is in no cache. It is measured by following a chain: the
//! next link is only known after the one before it was read.

use super::mapped::MappedWords;
use super::pairs::median;
use contend_random::Stream;
use std::hint::black_box;
use std::io;
use std::time::{Duration, Instant};

/// Larger than any cache that a virtual machine can count on.
pub const BYTES_MIN: usize = 128 << 20;
/// Words per link: it has a cache line of its own.
const LINE: usize = 8;
const SEED: u64 = 0x6c61_7465_6e63_7901;

/// Loads are timed in batches, and their median counts: a batch in which the thread was interrupted
/// means nothing.
const STEPS: u32 = 4_000;
const BATCHES: usize = 50;
const AT_MOST: Duration = Duration::from_secs(1);

/// A chain through the first half of some memory. The second half was written after it: the
/// writer's caches hold that half, not the chain.
#[derive(Debug)]
pub struct Chain {
    words: MappedWords,
    /// The link that comes next: none is loaded twice before all were.
    at: u64,
}

impl Chain {
    /// Lays the chain, always the same one.
    ///
    /// # Errors
    /// The order of the links does not fit in memory.
    pub fn lay(mut words: MappedWords) -> io::Result<Self> {
        let half = words.len() / 2;
        let order = ring(half / LINE)?;
        let (chain, rest) = words.split_at_mut(half);
        for (link, next) in chain.chunks_exact_mut(LINE).zip(order) {
            link[0] = u64::from(next) * LINE as u64;
        }
        rest.fill(1);
        Ok(Self { words, at: 0 })
    }

    /// All of the memory, whose content means nothing to others.
    pub fn memory(&self) -> &MappedWords {
        &self.words
    }

    /// Nanoseconds for one load by the calling thread. None if others had its CPU nearly all the
    /// time.
    pub fn latency_ns(&mut self, at_most: Duration) -> Option<f64> {
        let begun = Instant::now();
        let mut batches = Vec::with_capacity(BATCHES);
        while batches.len() < BATCHES && begun.elapsed() < at_most {
            let batch = Instant::now();
            self.at = black_box(walk(&self.words, self.at, STEPS));
            batches.push(batch.elapsed().as_secs_f64() * 1e9 / f64::from(STEPS));
        }
        median(batches)
    }
}

/// Nanoseconds for one load from whichever memory the kernel gives. Measuring takes some tenths of
/// a second and leaves other things in the caches.
///
/// # Errors
/// The chain does not fit in memory, or others had the CPU all the time.
pub fn latency_ns() -> io::Result<f64> {
    let mut chain = Chain::lay(MappedWords::new(BYTES_MIN)?)?;
    chain
        .latency_ns(AT_MOST)
        .ok_or_else(|| io::Error::other("other tasks kept the CPU busy"))
}

fn walk(words: &[u64], mut at: u64, steps: u32) -> u64 {
    for _ in 0..steps {
        at = words.get(at as usize).copied().unwrap_or_default();
    }
    at
}

/// The successor of each of `count` links, in one ring of random order.
fn ring(count: usize) -> io::Result<Vec<u32>> {
    let mut next: Vec<u32> = Vec::new();
    next.try_reserve_exact(count)
        .map_err(|_| io::Error::other("not enough memory for a chain larger than the caches"))?;
    next.extend(0..count as u32);
    // Each place is exchanged with one below it, never with itself: that leaves a single ring.
    let mut stream = Stream::new(SEED, 0);
    for place in (1..count).rev() {
        next.swap(place, stream.below(place as u64) as usize);
    }
    Ok(next)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn short() -> Chain {
        Chain::lay(MappedWords::new(2 * 1000 * LINE * 8).unwrap()).unwrap()
    }

    #[test]
    fn the_chain_goes_through_every_link_and_comes_back() {
        let chain = short();
        let mut seen = vec![false; 1000];
        for steps in 0..1000 {
            let at = walk(chain.memory(), 0, steps) as usize;
            assert_eq!(at % LINE, 0);
            assert!(!seen[at / LINE]);
            seen[at / LINE] = true;
        }
        assert_eq!(walk(chain.memory(), 0, 1000), 0);
    }

    #[test]
    fn the_chain_is_the_same_each_time() {
        assert_eq!(short().memory()[..], short().memory()[..]);
    }

    #[test]
    fn a_second_look_goes_on_where_the_first_ended() {
        let mut chain = Chain::lay(MappedWords::new(BYTES_MIN).unwrap()).unwrap();
        assert!(chain.latency_ns(AT_MOST).unwrap() > 0.0);
        let first = chain.at;
        assert_ne!(first, 0);
        assert!(chain.latency_ns(AT_MOST).unwrap() > 0.0);
        assert_ne!(chain.at, first);
    }

    #[test]
    fn no_time_gives_no_figure() {
        assert_eq!(short().latency_ns(Duration::ZERO), None);
    }

    #[test]
    fn a_load_from_memory_takes_time() {
        assert!(latency_ns().unwrap() > 0.0);
    }
}

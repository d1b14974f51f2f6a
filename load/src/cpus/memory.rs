//! The time of one load from memory that is in no cache. It is measured by following a chain: the
//! next link is only known after the one before it was read.

use crate::random::Stream;
use std::hint::black_box;
use std::io;
use std::time::Instant;

/// Larger than any cache that a virtual machine can count on.
const BYTES: usize = 128 << 20;
const STEPS: u32 = 200_000;
const SEED: u64 = 0x6c61_7465_6e63_7901;

/// One link, in a line of cache of its own.
#[derive(Clone, Copy, Default)]
#[repr(align(64))]
struct ChainLink {
    next: u32,
}

/// Nanoseconds for one load. Measuring takes some tenths of a second and leaves the caches full of
/// the chain.
///
/// # Errors
/// There is no memory for the chain.
pub fn latency_ns() -> io::Result<f64> {
    let links = chain(BYTES / size_of::<ChainLink>())?;
    let begun = Instant::now();
    black_box(walk(&links, STEPS));
    Ok(begun.elapsed().as_secs_f64() * 1e9 / f64::from(STEPS))
}

fn walk(links: &[ChainLink], steps: u32) -> u32 {
    let mut at = 0;
    for _ in 0..steps {
        at = links.get(at as usize).map_or(0, |link| link.next);
    }
    at
}

/// A chain of `count` links in random order; the last link leads to the first.
fn chain(count: usize) -> io::Result<Vec<ChainLink>> {
    let mut links = Vec::new();
    let mut next: Vec<u32> = Vec::new();
    links
        .try_reserve_exact(count)
        .and_then(|()| next.try_reserve_exact(count))
        .map_err(|_| io::Error::other("there is no memory for a chain beyond the caches"))?;
    next.extend(0..count as u32);
    // Each place is exchanged with one below it, never with itself: that leaves a single ring.
    let mut stream = Stream::new(SEED, 0);
    for place in (1..count).rev() {
        next.swap(place, stream.below(place as u64) as usize);
    }
    links.extend(next.into_iter().map(|next| ChainLink { next }));
    Ok(links)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_chain_goes_through_every_link_and_comes_back() {
        let links = chain(1000).unwrap();
        let mut seen = vec![false; 1000];
        for steps in 0..1000 {
            let at = walk(&links, steps) as usize;
            assert!(!seen[at]);
            seen[at] = true;
        }
        assert_eq!(walk(&links, 1000), 0);
    }

    #[test]
    fn a_link_has_a_line_of_its_own() {
        assert_eq!(size_of::<ChainLink>(), 64);
    }

    #[test]
    fn a_load_from_memory_takes_time() {
        assert!(latency_ns().unwrap() > 0.0);
    }
}

//! The places of the segments' control blocks: each on cache lines of its own, or side by side.

use super::knobs::Padding;

/// On a line of its own, and on a pair of lines, which the hardware likes to fetch together.
#[derive(Debug)]
#[repr(align(128))]
struct Apart<T>(T);

/// The control blocks of all segments, each with a driver's own type: a segment and its lock.
#[derive(Debug)]
pub struct ControlBlocks<T>(Laid<T>);

#[derive(Debug)]
enum Laid<T> {
    Apart(Box<[Apart<T>]>),
    Shared(Box<[T]>),
}

impl<T> ControlBlocks<T> {
    pub fn new(padding: Padding, blocks: impl IntoIterator<Item = T>) -> Self {
        let blocks = blocks.into_iter();
        Self(match padding {
            Padding::Apart => Laid::Apart(blocks.map(Apart).collect()),
            Padding::Shared => Laid::Shared(blocks.collect()),
        })
    }

    /// The control block of a segment.
    #[inline]
    pub fn get(&self, segment: usize) -> Option<&T> {
        match &self.0 {
            Laid::Apart(blocks) => blocks.get(segment).map(|apart| &apart.0),
            Laid::Shared(blocks) => blocks.get(segment),
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = &T> {
        (0..).map_while(|segment| self.get(segment))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn apart_is_a_pair_of_lines_and_shared_is_side_by_side() {
        for (padding, step) in [(Padding::Apart, 128), (Padding::Shared, 24)] {
            let control = ControlBlocks::new(padding, (0..5u64).map(|n| [n; 3]));
            let at = |segment| std::ptr::from_ref(control.get(segment).unwrap()).addr();
            assert_eq!((at(1) - at(0), control.iter().count()), (step, 5));
            assert_eq!(control.iter().map(|block| block[0]).sum::<u64>(), 10);
            assert!(control.get(5).is_none());
        }
    }
}

//! A set of CPUs, by number.

use std::ops::Range;

/// Numbers of CPUs are below this.
pub const CPUS_MAX: usize = 256;
const WORD_BITS: usize = u64::BITS as usize;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CpuSet {
    words: [u64; CPUS_MAX / WORD_BITS],
}

impl CpuSet {
    pub fn all(cpus: usize) -> Self {
        let mut set = Self::default();
        (0..cpus).for_each(|cpu| set.insert(cpu));
        set
    }

    #[inline]
    pub fn insert(&mut self, cpu: usize) {
        self.words[cpu / WORD_BITS] |= 1 << (cpu % WORD_BITS);
    }

    #[inline]
    pub fn remove(&mut self, cpu: usize) {
        self.words[cpu / WORD_BITS] &= !(1 << (cpu % WORD_BITS));
    }

    #[inline]
    pub fn contains(&self, cpu: usize) -> bool {
        self.words[cpu / WORD_BITS] & (1 << (cpu % WORD_BITS)) != 0
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.words == [0; CPUS_MAX / WORD_BITS]
    }

    /// Those of a range, the lowest first.
    #[inline]
    pub fn within(&self, range: Range<usize>) -> impl Iterator<Item = usize> {
        let (mut from, end) = (range.start, range.end.min(CPUS_MAX));
        std::iter::from_fn(move || {
            while from < end {
                let rest = self.words[from / WORD_BITS] >> (from % WORD_BITS);
                if rest == 0 {
                    from = (from / WORD_BITS + 1) * WORD_BITS;
                    continue;
                }
                let found = from + rest.trailing_zeros() as usize;
                from = found + 1;
                return (found < end).then_some(found);
            }
            None
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn it_has_those_put_in_and_not_taken_out(
            put in proptest::collection::btree_set(0..CPUS_MAX, 0..40),
            taken in proptest::collection::btree_set(0..CPUS_MAX, 0..40),
            from in 0..CPUS_MAX,
            count in 0..CPUS_MAX,
        ) {
            let mut set = CpuSet::default();
            put.iter().for_each(|cpu| set.insert(*cpu));
            taken.iter().for_each(|cpu| set.remove(*cpu));
            let left: BTreeSet<_> = put.difference(&taken).copied().collect();
            prop_assert_eq!(set.is_empty(), left.is_empty());
            prop_assert!((0..CPUS_MAX).all(|cpu| set.contains(cpu) == left.contains(&cpu)));
            let range = from..from + count;
            let within: Vec<_> = left.into_iter().filter(|cpu| range.contains(cpu)).collect();
            prop_assert_eq!(set.within(range.clone()).collect::<Vec<_>>(), within);
        }
    }
}

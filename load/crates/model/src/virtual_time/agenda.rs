//! When each of a fixed number of places has its next event, and which place is first.
//!
//! A tournament: each node above two others holds the earlier of them. So a changed time costs a
//! few comparisons, and the first event costs none.

/// Virtual time, in picoseconds: a demand of 5.4 ns is not rounded to 5.
pub type Ps = u64;

/// A place with nothing ahead.
pub const NEVER: Ps = u64::MAX >> PLACE_BITS;

const PLACE_BITS: u32 = 9;
/// The most places possible.
pub const PLACES_MAX: usize = 1 << PLACE_BITS;
const NODES: usize = 2 * PLACES_MAX;

/// Time and place of an event in one number: of events at the same time the lower place is first.
#[derive(Debug)]
pub struct Agenda {
    nodes: Box<[u64; NODES]>,
    first_leaf: usize,
}

impl Agenda {
    /// With nothing ahead at `places` places, at most [`PLACES_MAX`].
    pub fn new(places: usize) -> Self {
        Self {
            nodes: Box::new([u64::MAX; NODES]),
            first_leaf: places.next_power_of_two().min(PLACES_MAX),
        }
    }

    /// The next event of a place is at this time, or [`NEVER`].
    #[inline]
    pub fn set(&mut self, place: usize, at_ps: Ps) {
        let mut node = (self.first_leaf + place) % NODES;
        self.nodes[node] = (at_ps.min(NEVER) << PLACE_BITS) | place as u64;
        while node > 1 {
            let parent = node / 2;
            let earlier = self.nodes[node].min(self.nodes[node ^ 1]);
            if self.nodes[parent] == earlier {
                return;
            }
            self.nodes[parent] = earlier;
            node = parent;
        }
    }

    /// Time and place of the first event.
    #[inline]
    pub fn first(&self) -> (Ps, usize) {
        let first = self.nodes[1];
        (first >> PLACE_BITS, first as usize % PLACES_MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_first_is_the_least_of_all(
            places in 1..=PLACES_MAX,
            sets in proptest::collection::vec((0..PLACES_MAX, 0..1_000u64), 1..300),
        ) {
            let mut agenda = Agenda::new(places);
            let mut times = vec![NEVER; places];
            for (place, at_ps) in sets {
                let place = place % places;
                times[place] = at_ps;
                agenda.set(place, at_ps);
                let least = times.iter().zip(0..).min().map(|(at_ps, place)| (*at_ps, place));
                prop_assert_eq!(Some(agenda.first()), least);
            }
        }
    }

    #[test]
    fn nothing_ahead_is_never() {
        assert_eq!(Agenda::new(3).first().0, NEVER);
    }
}

//! Random orders: of statements, and of the arms that each is sent to.

use contend_random::Stream;

/// Brings the items into a random order.
pub fn shuffle<T>(items: &mut [T], random: &mut Stream) {
    for place in (1..items.len()).rev() {
        let other = random.below(place as u64 + 1) as usize;
        items.swap(place, other);
    }
}

/// The order of the arms for the asking number `number` of a template, which `random` belongs to.
/// In every `arms` askings from the beginning each arm has each place once.
pub fn balanced(arms: usize, number: u64, random: &Stream) -> Vec<usize> {
    let of = arms.max(1) as u64;
    let mut random = random.part(number / of);
    let mut order: Vec<usize> = (0..arms).collect();
    shuffle(&mut order, &mut random);
    let mut turns: Vec<usize> = (0..arms).collect();
    shuffle(&mut turns, &mut random);
    let turn = turns.get((number % of) as usize);
    order.rotate_left(turn.copied().unwrap_or(0));
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_arm_has_each_place_equally_often() {
        for (arms, count) in [(1, 5), (2, 10), (3, 9), (8, 40)] {
            let random = Stream::new(1, 0);
            let orders = (0..count).map(|number| balanced(arms, number, &random));
            let orders: Vec<_> = orders.collect();
            for block in orders.chunks(arms) {
                for place in 0..arms {
                    let mut there: Vec<_> = block.iter().map(|order| order[place]).collect();
                    there.sort_unstable();
                    there.dedup();
                    assert_eq!(there.len(), block.len());
                }
            }
        }
    }

    #[test]
    fn a_shuffle_keeps_all_and_favours_no_place() {
        let mut sums = [0; 10];
        for seed in 0..2000 {
            let mut items: Vec<usize> = (0..10).collect();
            shuffle(&mut items, &mut Stream::new(seed, 0));
            sums.iter_mut()
                .zip(&items)
                .for_each(|(sum, item)| *sum += item);
            items.sort_unstable();
            assert!(items.iter().copied().eq(0..10));
        }
        // 4.5 a place; the deviation of a sum is 128.
        assert!(sums.iter().all(|sum| sum.abs_diff(9000) < 650), "{sums:?}");
    }
}

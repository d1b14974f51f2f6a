//! Random orders: of statements, and of the arms that each is sent to.

use contend_random::Stream;

/// Brings the items into a random order.
pub fn shuffle<T>(items: &mut [T], random: &mut Stream) {
    for place in (1..items.len()).rev() {
        let other = random.below(place as u64 + 1) as usize;
        items.swap(place, other);
    }
}

/// Orders of the arms. In every `arms` orders from the beginning each arm has each place once.
pub fn balanced(arms: usize, count: usize, random: &mut Stream) -> Vec<Vec<usize>> {
    let mut orders = Vec::with_capacity(count);
    while orders.len() < count {
        let mut first: Vec<usize> = (0..arms).collect();
        shuffle(&mut first, random);
        let mut turns: Vec<usize> = (0..arms).collect();
        shuffle(&mut turns, random);
        for turn in turns.into_iter().take(count - orders.len()) {
            let mut order = first.clone();
            order.rotate_left(turn);
            orders.push(order);
        }
    }
    orders
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_arm_has_each_place_equally_often() {
        for (arms, count) in [(1, 5), (2, 10), (3, 9), (8, 40)] {
            let orders = balanced(arms, count, &mut Stream::new(1, 0));
            assert_eq!(orders.len(), count);
            for block in orders.chunks(arms) {
                for place in 0..arms {
                    let mut there: Vec<_> = block.iter().map(|order| order[place]).collect();
                    there.sort_unstable();
                    there.dedup();
                    assert_eq!(there.len(), block.len());
                }
            }
        }
        assert_eq!(balanced(2, 3, &mut Stream::new(1, 0)).len(), 3);
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

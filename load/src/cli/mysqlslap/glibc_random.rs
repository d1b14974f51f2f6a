//! The numbers of the C library's `random()` with its first seed, 1.
//!
//! An additive feedback generator: each number is the sum of those 3 and 31 places before, without
//! its lowest bit. glibc's manual page names the method, BSD's paper of 1983 the constants.

/// Places that the generator looks back.
const FAR: usize = 31;
const NEAR: usize = 3;
/// Numbers that are thrown away before the first.
const THROWN_AWAY: usize = 310;

/// The generator.
#[derive(Debug)]
pub struct Random {
    state: [u32; FAR],
    /// The place of the oldest number.
    oldest: usize,
}

impl Random {
    /// The state of a C program that never chose a seed.
    pub fn new() -> Self {
        let mut word: i64 = 1;
        let state = std::array::from_fn(|place| {
            if place > 0 {
                word = word * 16_807 % 2_147_483_647;
            }
            word as u32
        });
        let mut random = Self {
            state,
            oldest: NEAR,
        };
        for _ in 0..THROWN_AWAY {
            random.draw();
        }
        random
    }

    /// The next number, from 0 to 2³¹ - 1.
    pub fn draw(&mut self) -> u32 {
        let near = (self.oldest + FAR - NEAR) % FAR;
        let near = self.state.get(near).copied().unwrap_or_default();
        let Some(oldest) = self.state.get_mut(self.oldest) else {
            return 0;
        };
        *oldest = oldest.wrapping_add(near);
        let drawn = *oldest >> 1;
        self.oldest = (self.oldest + 1) % FAR;
        drawn
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_those_of_the_c_library() {
        let mut random = Random::new();
        let first: Vec<u32> = (0..5).map(|_| random.draw()).collect();
        assert_eq!(
            first,
            [
                1_804_289_383,
                846_930_886,
                1_681_692_777,
                1_714_636_915,
                1_957_747_793
            ]
        );
        // SAFETY: glibc's rand() is its random(); this process draws from it nowhere else, and
        // other numbers would do no harm.
        let theirs = unsafe {
            libc::srand(1);
            (0..2000).map(|_| libc::rand() as u32).collect::<Vec<_>>()
        };
        let mut random = Random::new();
        assert!(theirs.iter().all(|number| *number == random.draw()));
    }
}

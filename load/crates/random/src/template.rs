//! Random text from a template, as the columns `c` and `pad` of the sbtest table hold it.

use super::Stream;

impl Stream {
    /// Appends `template` with each `#` replaced by a digit and each `@` by a letter from a to z.
    pub fn fill_template(&mut self, template: &[u8], out: &mut Vec<u8>) {
        // One draw gives up to eight characters. The high half of each product is the character;
        // the low half is kept as the random bits for the next one.
        let mut left = 0u64;
        let mut cuts = 0u32;
        for &byte in template {
            let (first, count) = match byte {
                b'#' => (b'0', 10u64),
                b'@' => (b'a', 26u64),
                other => {
                    out.push(other);
                    continue;
                }
            };
            if cuts == 0 {
                left = self.next_u64();
                // Eight letters use 38 of the 64 bits, so the bias of the eighth is below 2^-26.
                cuts = 8;
            }
            let wide = u128::from(left) * u128::from(count);
            left = wide as u64;
            cuts -= 1;
            out.push(first + (wide >> 64) as u8);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn marks_are_replaced_and_the_rest_is_kept() {
        let mut text = Vec::new();
        Stream::new(1, 0).fill_template(b"##-@@.x", &mut text);
        assert_eq!(text.len(), 7);
        assert!(text[0].is_ascii_digit() && text[1].is_ascii_digit());
        assert!(text[3].is_ascii_lowercase() && text[4].is_ascii_lowercase());
        assert_eq!((text[2], &text[5..]), (b'-', &b".x"[..]));
    }

    #[test]
    fn every_digit_and_letter_is_equally_likely() {
        let mut stream = Stream::new(5, 0);
        let mut text = Vec::new();
        for _ in 0..10_000 {
            stream.fill_template(b"############@@@@@@@@@@@@@", &mut text);
        }
        for digit in b'0'..=b'9' {
            let seen = text.iter().filter(|b| **b == digit).count();
            assert!((11_400..12_600).contains(&seen), "{digit}: {seen}");
        }
        for letter in b'a'..=b'z' {
            let seen = text.iter().filter(|b| **b == letter).count();
            assert!((4_600..5_400).contains(&seen), "{letter}: {seen}");
        }
    }
}

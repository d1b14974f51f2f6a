//! The tables of a workload, which is drawn when there are several.

use contend_random::Stream;

/// Rows of the columns `c` and `pad`: groups of digits.
pub const C: &[u8] = b"###########-###########-###########-###########-###########-\
    ###########-###########-###########-###########-###########";
pub const PAD: &[u8] = b"###########-###########-###########-###########-###########";

/// Names of tables of the same shape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tables {
    names: Vec<String>,
}

impl Tables {
    /// The table `name`, or the tables `name`1 to `name`n.
    pub fn new(name: &str, count: Option<u32>) -> Self {
        let names = match count {
            None => vec![name.to_owned()],
            Some(count) => (1..=count)
                .map(|number| format!("{name}{number}"))
                .collect(),
        };
        Self { names }
    }

    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The place of one of them, each equally likely. One table costs no draw.
    #[inline]
    pub fn draw(&self, stream: &mut Stream) -> usize {
        match self.names.len() {
            0 | 1 => 0,
            count => stream.below(count as u64) as usize,
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn one_table_keeps_its_name_and_several_are_numbered() {
        assert_eq!(Tables::new("t", None).names(), ["t"]);
        assert_eq!(Tables::new("t", Some(3)).names(), ["t1", "t2", "t3"]);
        let mut stream = Stream::new(1, 1);
        let drawn: std::collections::HashSet<usize> = (0..100)
            .map(|_| Tables::new("t", Some(3)).draw(&mut stream))
            .collect();
        assert_eq!(drawn.len(), 3);
    }

    #[test]
    fn the_columns_have_their_lengths() {
        assert_eq!((C.len(), PAD.len()), (119, 59));
    }
}

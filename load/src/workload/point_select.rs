//! One row by its primary key.

use super::native::{Kind, Query};
use super::statement::Parameters;
use crate::plan::Distribution;
use crate::random::{Sampler, Shape, Stream};

/// `SELECT c FROM sbtest WHERE id = ?`
#[derive(Clone, Debug)]
pub struct PointSelect {
    table: String,
    keys: Sampler,
}

impl PointSelect {
    pub fn new(table: &str, rows: u64, distribution: &Distribution) -> Self {
        let keys = Sampler::new(Shape::new(distribution), 1, rows);
        Self {
            table: table.to_owned(),
            keys,
        }
    }
}

impl Kind for PointSelect {
    fn classes(&self) -> Vec<String> {
        vec!["point_select".to_owned()]
    }

    fn queries(&self) -> Vec<Query> {
        vec![Query::new(
            0,
            format!("SELECT c FROM {} WHERE id = ?", self.table),
        )]
    }

    fn steps(&self) -> u32 {
        1
    }

    #[inline]
    fn ask(&self, _step: u32, stream: &mut Stream, parameters: &mut Parameters) -> usize {
        parameters.int(self.keys.draw(stream));
        0
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::workload::native::tests::asked;

    #[test]
    fn asks_for_one_row_of_the_table() {
        let kind = PointSelect::new("sbtest", 1000, &Distribution::default());
        let texts = asked(&kind, 7, 3);
        assert_eq!(texts.len(), 3);
        for text in &texts {
            let id: u64 = text
                .strip_prefix("SELECT c FROM sbtest WHERE id = ")
                .unwrap()
                .parse()
                .unwrap();
            assert!((1..=1000).contains(&id));
        }
        assert_eq!(texts, asked(&kind, 7, 3));
    }
}

//! Several rows by a secondary key, the query of the key cache study.

use super::native::{Kind, Query};
use super::statement::Parameters;
use crate::plan::Distribution;
use crate::random::{Sampler, Shape, Stream};

/// `SELECT id, k, c, pad FROM sbtest WHERE k IN (?, …)`
#[derive(Clone, Debug)]
pub struct RandomPoints {
    table: String,
    points: u32,
    keys: Sampler,
}

impl RandomPoints {
    pub fn new(table: &str, rows: u64, points: u32, distribution: &Distribution) -> Self {
        let keys = Sampler::new(Shape::new(distribution), 1, rows);
        Self {
            table: table.to_owned(),
            points,
            keys,
        }
    }
}

impl Kind for RandomPoints {
    fn classes(&self) -> Vec<String> {
        vec!["random_points".to_owned()]
    }

    fn queries(&self) -> Vec<Query> {
        let marks = vec!["?"; self.points as usize].join(", ");
        let sql = format!(
            "SELECT id, k, c, pad FROM {} WHERE k IN ({marks})",
            self.table
        );
        vec![Query::new(0, sql)]
    }

    fn steps(&self) -> u32 {
        1
    }

    #[inline]
    fn ask(&self, _step: u32, stream: &mut Stream, parameters: &mut Parameters) -> usize {
        for _ in 0..self.points {
            parameters.int(self.keys.draw(stream));
        }
        0
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::workload::native::tests::asked;

    #[test]
    fn asks_for_as_many_points_as_told() {
        let kind = RandomPoints::new("sbtest", 50, 4, &Distribution::default());
        let texts = asked(&kind, 1, 2);
        let list = texts[0]
            .strip_prefix("SELECT id, k, c, pad FROM sbtest WHERE k IN (")
            .and_then(|rest| rest.strip_suffix(')'))
            .unwrap();
        let keys: Vec<u64> = list.split(", ").map(|key| key.parse().unwrap()).collect();
        assert_eq!(keys.len(), 4);
        assert!(keys.iter().all(|key| (1..=50).contains(key)));
        assert_ne!(texts[0], texts[1]);
    }
}

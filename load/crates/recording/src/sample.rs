//! Samples of the statements of templates, spread over the period.

use crate::entry::LogError;
use crate::file::RecordingFile;
use crate::stored::StoredStatement;
use contend_random::Stream;
use std::collections::BTreeMap;

/// Places among `calls`: one drawn from each of `wanted` equal parts.
pub fn spread(calls: u64, wanted: u64, random: &mut Stream) -> Vec<u64> {
    let wanted = wanted.min(calls);
    let edge = |part: u64| {
        let edge = u128::from(part) * u128::from(calls) / u128::from(wanted.max(1));
        u64::try_from(edge).unwrap_or(calls)
    };
    (0..wanted)
        .map(|part| edge(part) + random.below((edge(part + 1) - edge(part)).max(1)))
        .collect()
}

/// The wanted statements of a template that are still to come.
struct WantedPlaces<'w> {
    places: &'w [u64],
    /// Statements of the template in the blocks so far.
    passed: u64,
}

impl RecordingFile {
    /// Like [`Self::of_template`], for several templates: no block is read twice. The statements
    /// come in the order of the recording.
    ///
    /// # Errors
    /// The recording is damaged.
    pub fn of_templates(
        &mut self,
        wanted: &BTreeMap<u32, Vec<u64>>,
        take: &mut dyn FnMut(u64, StoredStatement<'_>),
    ) -> Result<(), LogError> {
        // For each block, the templates with wanted statements in it.
        let mut blocks: BTreeMap<usize, BTreeMap<u32, WantedPlaces<'_>>> = BTreeMap::new();
        for (template, places) in wanted {
            let mut rest = &places[..];
            let mut passed = 0;
            for (block, count) in self.blocks_of(*template) {
                let behind = passed + u64::from(count);
                let inside = rest.partition_point(|place| *place < behind);
                let (places, further) = rest.split_at_checked(inside).unwrap_or((rest, &[]));
                if !places.is_empty() {
                    let here = blocks.entry(block).or_default();
                    here.insert(*template, WantedPlaces { places, passed });
                }
                (rest, passed) = (further, behind);
            }
        }
        for (block, mut here) in blocks {
            self.each_of_block(block, &mut |number, statement| {
                let Some(wanted) = here.get_mut(&statement.template) else {
                    return;
                };
                if let Some((place, rest)) = wanted.places.split_first()
                    && *place == wanted.passed
                {
                    wanted.places = rest;
                    take(number, statement);
                }
                wanted.passed += 1;
            })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::file::{RecordingContents, RecordingWriter};
    use crate::testing::Folder;

    #[test]
    fn a_sample_is_spread_and_repeats_with_its_seed() {
        let of = |calls, wanted, seed| spread(calls, wanted, &mut Stream::new(seed, 0));
        let places = of(1000, 10, 7);
        assert!(
            places
                .iter()
                .zip(0..)
                .all(|(place, part)| place / 100 == part)
        );
        assert_eq!(places, of(1000, 10, 7));
        assert_ne!(places, of(1000, 10, 8));
        assert_eq!(of(3, 10, 7), [0, 1, 2]);
        assert_eq!(of(0, 10, 7), [0; 0]);
    }

    #[test]
    fn statements_of_several_templates_are_those_of_each_alone() {
        let folder = Folder::new();
        let path = folder.0.join("recording");
        let mut writer = RecordingWriter::create(&path).unwrap();
        // Several blocks: each statement has 100 KB.
        let text = vec![b'x'; 100_000];
        for number in 0..60_u32 {
            let statement = StoredStatement {
                template: number % 3,
                offset: u64::from(number),
                text: &text,
                ..StoredStatement::default()
            };
            let mut bytes = Vec::new();
            statement.write(&mut bytes);
            writer.add(&bytes, statement.template).unwrap();
        }
        writer.finish(&RecordingContents::default()).unwrap();
        let mut recording = RecordingFile::open(&path).unwrap();
        let wanted = BTreeMap::from([(0, vec![0, 5, 19]), (2, vec![3, 4, 25]), (9, vec![0])]);
        let mut together = Vec::new();
        let mut take = |number, statement: StoredStatement<'_>| {
            together.push((number, statement.template));
        };
        recording.of_templates(&wanted, &mut take).unwrap();
        let mut alone = Vec::new();
        for (template, places) in &wanted {
            let mut take = |number, statement: StoredStatement<'_>| {
                alone.push((number, statement.template));
            };
            recording.of_template(*template, places, &mut take).unwrap();
        }
        alone.sort_unstable();
        assert_eq!(together, alone);
        assert_eq!(together.len(), 5);
    }
}

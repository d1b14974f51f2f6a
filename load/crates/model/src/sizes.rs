//! The size of a key cache: the server's variables, and the resulting blocks of its segments.

/// Most segments that a key cache may have.
pub const SEGMENTS_MAX: u32 = 64;
/// Fewest blocks that a segment works with.
pub const BLOCKS_MIN: u32 = 8;

/// `key_buffer_size` is cut off to a multiple of this.
const MEMORY_UNIT: u64 = 4096;
const BLOCK_BYTES: u64 = 1024;
/// A block's control data.
const CONTROL_BYTES: u64 = 112;
/// One of the two entries that a block has in the hash.
const LINK_BYTES: u64 = 48;
const POINTER_BYTES: u64 = 8;
/// What a block is expected to take, with one and a quarter pointers of the hash.
const WISHED_BYTES: u64 = BLOCK_BYTES + CONTROL_BYTES + 2 * LINK_BYTES + POINTER_BYTES * 5 / 4;
/// What every segment has besides.
const FIXED_BYTES: u64 = 8192;

/// The variables of a server that make its key cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyCacheSizes {
    pub key_buffer_size: u64,
    /// 0: the key cache is not segmented.
    pub key_cache_segments: u32,
    pub key_cache_division_limit: u32,
    pub key_cache_age_threshold: u32,
}

impl KeyCacheSizes {
    /// Segments that there are: a key cache that is not segmented is one segment.
    pub fn segments(&self) -> u32 {
        self.key_cache_segments.max(1)
    }

    /// How many blocks each segment has, of equal parts of the memory.
    ///
    /// # Errors
    /// More than [`SEGMENTS_MAX`] segments, or fewer than [`BLOCKS_MIN`] blocks for each.
    pub fn blocks_each(&self) -> Result<u32, SegmentsError> {
        let segments = self.segments();
        if segments > SEGMENTS_MAX {
            return Err(SegmentsError::TooMany { segments });
        }
        let each = self.key_buffer_size / MEMORY_UNIT * MEMORY_UNIT / u64::from(segments);
        blocks_in(each).ok_or(SegmentsError::TooSmall {
            key_buffer_size: self.key_buffer_size,
            segments,
            memory: each,
            memory_min: u64::from(BLOCKS_MIN) * WISHED_BYTES,
        })
    }
}

/// Blocks in the memory of one segment; none if there is too little. The server counts in two
/// steps: the wished number, which sizes its hash, and the number that fits next to that.
fn blocks_in(memory: u64) -> Option<u32> {
    let wished = memory / WISHED_BYTES;
    if wished < u64::from(BLOCKS_MIN) {
        return None;
    }
    let hash =
        FIXED_BYTES + 2 * LINK_BYTES * wished + 2 * POINTER_BYTES * wished.next_power_of_two();
    let fit = memory.saturating_sub(hash) / (BLOCK_BYTES + CONTROL_BYTES);
    u32::try_from(fit.clamp(u64::from(BLOCKS_MIN), wished)).ok()
}

/// Why a key cache cannot have these sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SegmentsError {
    #[error("key_cache_segments = {segments}: at most {SEGMENTS_MAX}")]
    TooMany { segments: u32 },
    #[error(
        "key_buffer_size = {key_buffer_size} gives each of {segments} segments {memory} bytes, \
         but {BLOCKS_MIN} blocks need {memory_min}; use fewer segments or more memory"
    )]
    TooSmall {
        key_buffer_size: u64,
        segments: u32,
        memory: u64,
        memory_min: u64,
    },
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn segments_have_as_many_blocks_as_a_server_makes() {
        // Observed on MariaDB 10.11: key_buffer_size, key_cache_segments, blocks per segment.
        for (size, segments, blocks) in [
            (12_288, 0, 8),
            (20_480, 0, 9),
            (65_536, 0, 45),
            (131_072, 0, 97),
            (1_048_576, 1, 830),
            (87_494_656, 0, 69_213),
            (79_380_480, 0, 63_545),
            (81_567_744, 0, 64_399),
            (134_217_728, 0, 107_163),
            (2_043_648, 1, 1_620),
            (16_781_312, 3, 4_420),
            (8_174_592, 7, 926),
            (8_174_592, 32, 196),
            (1_048_576, 64, 8),
            (16_777_216, 64, 202),
        ] {
            assert_eq!(
                sizes(size, segments).blocks_each(),
                Ok(blocks),
                "{size} / {segments}"
            );
        }
    }

    fn sizes(key_buffer_size: u64, key_cache_segments: u32) -> KeyCacheSizes {
        KeyCacheSizes {
            key_buffer_size,
            key_cache_segments,
            key_cache_division_limit: 100,
            key_cache_age_threshold: 300,
        }
    }

    #[test]
    fn a_key_cache_that_cannot_be_had_is_refused_in_words() {
        // MariaDB makes 52 segments of this.
        let few = sizes(512 << 10, 64).blocks_each().unwrap_err().to_string();
        assert!(few.contains("each of 64 segments 8192 bytes"), "{few}");
        let many = sizes(64 << 20, 65).blocks_each().unwrap_err().to_string();
        assert!(many.contains("at most 64"), "{many}");
    }
}

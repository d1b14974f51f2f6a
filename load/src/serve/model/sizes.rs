//! How large a key cache is: the server's variables, and the blocks that its segments have of them.

/// Most segments that a key cache may have.
pub const SEGMENTS_MAX: u32 = 64;
/// Fewest blocks that a segment works with.
pub const BLOCKS_MIN: u32 = 8;
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
        let blocks = blocks_of(self.key_buffer_size / u64::from(segments));
        if blocks < BLOCKS_MIN {
            return Err(SegmentsError::TooSmall {
                key_buffer_size: self.key_buffer_size,
                segments,
                blocks,
            });
        }
        Ok(blocks)
    }
}

/// Blocks in so much memory.
fn blocks_of(bytes: u64) -> u32 {
    u32::try_from(bytes / 1024).unwrap_or(u32::MAX)
}

/// Why a key cache cannot be had so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SegmentsError {
    #[error("key_cache_segments = {segments}: at most {SEGMENTS_MAX}")]
    TooMany { segments: u32 },
    #[error(
        "key_buffer_size = {key_buffer_size} gives each of {segments} segments {blocks} blocks of \
         1 KiB, and they need {BLOCKS_MIN}: ask for fewer segments or for more memory"
    )]
    TooSmall {
        key_buffer_size: u64,
        segments: u32,
        blocks: u32,
    },
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_key_cache_that_cannot_be_had_is_refused_in_words() {
        let sizes = |key_buffer_size, key_cache_segments| KeyCacheSizes {
            key_buffer_size,
            key_cache_segments,
            key_cache_division_limit: 100,
            key_cache_age_threshold: 300,
        };
        assert!(sizes(64 << 20, 64).blocks_each().is_ok());
        let few = sizes(64 << 10, 64).blocks_each().unwrap_err().to_string();
        assert!(few.contains("key_buffer_size = 65536"), "{few}");
        let many = sizes(64 << 20, 65).blocks_each().unwrap_err().to_string();
        assert!(many.contains("at most 64"), "{many}");
    }
}

//! zlib and zstd: one packet in, one packet out.
//!
//! Every compressed packet is independent, so the codecs' tables, up to a megabyte, belong to the
//! thread and not to each of its thousands of connections.

use std::cell::RefCell;

use flate2::{Compress, Decompress, FlushCompress, FlushDecompress, Status};
use zstd::stream::raw::{Decoder, Encoder, InBuffer, Operation, OutBuffer};
use zstd::zstd_safe::DParameter;

use crate::error::WireError;

/// The level of both servers' clients.
const ZLIB_LEVEL: u32 = 6;
/// The level that is sent to the server, and used by us.
pub(in crate::mysql) const ZSTD_LEVEL: u8 = 3;
/// No packet is longer than 16 MB, so no honest window is wider.
const ZSTD_WINDOW_LOG_MAX: u32 = 24;
/// Output grows by this much: the length that a packet claims reserves nothing.
const STEP_BYTES: usize = 64 * 1024;

/// How packets are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    Zlib,
    Zstd,
}

struct Codecs {
    deflate: Compress,
    inflate: Decompress,
    zstd: Option<(Encoder<'static>, Decoder<'static>)>,
}

thread_local! {
    static CODECS: RefCell<Codecs> = RefCell::new(Codecs {
        deflate: Compress::new(flate2::Compression::new(ZLIB_LEVEL), true),
        inflate: Decompress::new(true),
        zstd: None,
    });
}

impl Algorithm {
    /// Appends `plain`, compressed.
    pub fn compress(self, plain: &[u8], out: &mut Vec<u8>) -> Result<(), WireError> {
        CODECS.with_borrow_mut(|codecs| match self {
            Self::Zlib => codecs.deflate(plain, out),
            Self::Zstd => codecs.zstd_compress(plain, out),
        })
    }

    /// Appends the content of `packed`, which must be `claimed` bytes.
    pub fn expand(self, packed: &[u8], claimed: usize, out: &mut Vec<u8>) -> Result<(), WireError> {
        let before = out.len();
        CODECS.with_borrow_mut(|codecs| match self {
            Self::Zlib => codecs.inflate(packed, claimed, out),
            Self::Zstd => codecs.zstd_expand(packed, claimed, out),
        })?;
        if out.len() - before == claimed {
            Ok(())
        } else {
            Err(lie())
        }
    }
}

fn lie() -> WireError {
    WireError::theirs("a compressed packet does not match its header")
}

fn rubbish(why: impl std::fmt::Display) -> WireError {
    WireError::theirs(format!("a compressed packet cannot be read: {why}"))
}

fn failed(why: impl std::fmt::Display) -> WireError {
    WireError::ours(format!("compression failed: {why}"))
}

impl Codecs {
    fn deflate(&mut self, plain: &[u8], out: &mut Vec<u8>) -> Result<(), WireError> {
        self.deflate.reset();
        let mut rest = plain;
        loop {
            out.reserve(STEP_BYTES.min(plain.len() + 64));
            let before = self.deflate.total_in();
            let status = self
                .deflate
                .compress_vec(rest, out, FlushCompress::Finish)
                .map_err(failed)?;
            let taken = (self.deflate.total_in() - before) as usize;
            rest = rest.get(taken..).unwrap_or_default();
            if status == Status::StreamEnd {
                return Ok(());
            }
        }
    }

    fn inflate(
        &mut self,
        packed: &[u8],
        claimed: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), WireError> {
        self.inflate.reset(true);
        let start = out.len();
        let mut rest = packed;
        loop {
            let step = STEP_BYTES.min(claimed + 1);
            out.reserve(step);
            let before = (self.inflate.total_in(), out.len());
            let status = self
                .inflate
                .decompress_vec(rest, out, FlushDecompress::None)
                .map_err(rubbish)?;
            let taken = (self.inflate.total_in() - before.0) as usize;
            rest = rest.get(taken..).unwrap_or_default();
            let stuck = taken == 0 && out.len() == before.1;
            if status == Status::StreamEnd {
                return Ok(());
            }
            if out.len() - start > claimed || stuck {
                return Err(lie());
            }
        }
    }

    fn zstd(&mut self) -> Result<&mut (Encoder<'static>, Decoder<'static>), WireError> {
        if self.zstd.is_none() {
            let encoder = Encoder::new(i32::from(ZSTD_LEVEL)).map_err(failed)?;
            let mut decoder = Decoder::new().map_err(failed)?;
            decoder
                .set_parameter(DParameter::WindowLogMax(ZSTD_WINDOW_LOG_MAX))
                .map_err(failed)?;
            self.zstd = Some((encoder, decoder));
        }
        self.zstd.as_mut().ok_or_else(|| failed("no zstd"))
    }

    fn zstd_compress(&mut self, plain: &[u8], out: &mut Vec<u8>) -> Result<(), WireError> {
        let (encoder, _) = self.zstd()?;
        encoder.reinit().map_err(failed)?;
        let mut input = InBuffer::around(plain);
        loop {
            out.reserve(STEP_BYTES.min(plain.len() + 64));
            let at = out.len();
            let mut output = OutBuffer::around_pos(out, at);
            if input.pos() < plain.len() {
                encoder.run(&mut input, &mut output).map_err(failed)?;
            } else if encoder.finish(&mut output, true).map_err(failed)? == 0 {
                return Ok(());
            }
        }
    }

    fn zstd_expand(
        &mut self,
        packed: &[u8],
        claimed: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), WireError> {
        let (_, decoder) = self.zstd()?;
        decoder.reinit().map_err(failed)?;
        let start = out.len();
        let mut input = InBuffer::around(packed);
        loop {
            out.reserve(STEP_BYTES.min(claimed + 1));
            let before = (input.pos(), out.len());
            let mut output = OutBuffer::around_pos(out, before.1);
            let left = decoder.run(&mut input, &mut output).map_err(rubbish)?;
            let stuck = (input.pos(), out.len()) == before;
            if left == 0 {
                return if input.pos() == packed.len() {
                    Ok(())
                } else {
                    Err(lie())
                };
            }
            if out.len() - start > claimed || stuck {
                return Err(lie());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    const BOTH: [Algorithm; 2] = [Algorithm::Zlib, Algorithm::Zstd];

    proptest! {
        #[test]
        fn what_goes_in_comes_out(seed: Vec<u8>, times in 1usize..3000) {
            let plain: Vec<u8> = seed.iter().copied().cycle().take(seed.len() * times).collect();
            for algorithm in BOTH {
                let mut packed = b"before".to_vec();
                algorithm.compress(&plain, &mut packed).unwrap();
                let mut out = b"before".to_vec();
                algorithm.expand(&packed[6..], plain.len(), &mut out).unwrap();
                prop_assert!(out[6..] == plain[..]);
            }
        }

        #[test]
        fn rubbish_is_refused(packed: Vec<u8>, claimed in 1usize..100_000) {
            for algorithm in BOTH {
                let _ = algorithm.expand(&packed, claimed, &mut Vec::new());
            }
        }
    }

    #[test]
    fn claims_are_checked_and_bombs_are_cut() {
        let bomb = vec![0; 8 << 20];
        for algorithm in BOTH {
            let mut packed = Vec::new();
            algorithm.compress(&bomb, &mut packed).unwrap();
            for claimed in [1, 1000, bomb.len() - 1, bomb.len() + 1] {
                let mut out = Vec::new();
                assert!(
                    algorithm.expand(&packed, claimed, &mut out).is_err(),
                    "{claimed}"
                );
                assert!(
                    out.capacity() <= 2 * (claimed + STEP_BYTES),
                    "{}",
                    out.capacity()
                );
            }
            let torn = &packed[..packed.len() / 2];
            assert!(algorithm.expand(torn, bomb.len(), &mut Vec::new()).is_err());
        }
    }
}

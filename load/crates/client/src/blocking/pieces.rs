//! An answer that is read while it comes, however long it is.

use super::{BlockingLink, Broken, Patience};
use crate::dialect::Heard;
use contend_figures::outcome::Failure;

/// Takes the bytes of an answer as they come. An error ends the reading.
pub type TakePiece<'a> = &'a mut dyn FnMut(&[u8]) -> Result<(), Failure>;

impl BlockingLink {
    /// Like [`Self::listen`], for a request with [`Reply::Whole`](crate::request::Reply::Whole):
    /// hands over every byte of the answer and keeps none.
    ///
    /// # Errors
    /// Those of [`Self::listen`], and those of `take`.
    pub fn listen_to(
        &mut self,
        take: TakePiece<'_>,
        patience: Patience<'_>,
    ) -> Result<bool, Broken> {
        let mut doubt = self.doubts();
        loop {
            let heard = self.hear_doubting(&mut doubt, patience)?;
            let piece = self.link.take_whole();
            take(piece.as_slice()).map_err(Broken::Ended)?;
            drop(piece);
            match heard {
                Heard::Answered(_) => return Ok(false),
                Heard::LocalFile => return Ok(true),
                Heard::More | Heard::Opened => {}
            }
        }
    }
}

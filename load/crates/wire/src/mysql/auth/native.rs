//! `mysql_native_password`: SHA-1 of the password, hidden by a hash of the nonce.

use sha1::{Digest, Sha1};

use super::{Plugin, Secret, twenty, xor};
use crate::error::WireError;

pub(super) const NAME: &[u8] = b"mysql_native_password";

pub(super) struct NativePassword;

impl Plugin for NativePassword {
    fn answer(&mut self, secret: Secret<'_>, nonce: &[u8]) -> Result<Vec<u8>, WireError> {
        if secret.password.is_empty() {
            return Ok(Vec::new());
        }
        let once = Sha1::digest(secret.password);
        let twice = Sha1::digest(once);
        let mask = Sha1::new()
            .chain_update(twenty(nonce)?)
            .chain_update(twice)
            .finalize();
        Ok(xor(&once, &mask))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// The server's own check: it stores the double hash and knows the nonce.
    #[test]
    fn the_server_can_verify_the_answer() {
        let nonce = b"abcdefghijklmnopqrst";
        let secret = Secret::open(b"secret");
        let answer = NativePassword.answer(secret, nonce).unwrap();
        let stored = Sha1::digest(Sha1::digest(b"secret"));
        let mask = Sha1::new()
            .chain_update(nonce)
            .chain_update(stored)
            .finalize();
        assert_eq!(Sha1::digest(xor(&answer, &mask)), stored);
    }

    #[test]
    fn no_password_is_an_empty_answer_and_a_short_nonce_is_refused() {
        let none = Secret::open(b"");
        assert!(
            NativePassword
                .answer(none, b"abcdefghijklmnopqrst")
                .unwrap()
                .is_empty()
        );
        let some = Secret::open(b"x");
        assert!(NativePassword.answer(some, b"short").is_err());
    }
}

//! `parsec` of MariaDB 11.6: both ends give a nonce, signed by a key derived from the password.
//!
//! The server's first nonce gets an empty answer. The server then describes how the password is
//! salted, and gets our nonce and the signature over both nonces.

use std::num::NonZeroU32;

use ed25519_dalek::{Signer, SigningKey};
use rand_core::{OsRng, RngCore};
use ring::pbkdf2;

use super::{Plugin, Secret};
use crate::error::WireError;

pub(super) const NAME: &[u8] = b"parsec";

const NONCE_BYTES: usize = 32;
/// The salt comes after the kind of derivation and its strength.
const SALT_MIN_BYTES: usize = 3;
/// The servers derive with 1024 times two to this power at most.
const STRENGTH_MAX: u8 = 3;

#[derive(Default)]
pub(super) struct Parsec {
    nonce: Vec<u8>,
}

impl Plugin for Parsec {
    fn answer(&mut self, _secret: Secret<'_>, nonce: &[u8]) -> Result<Vec<u8>, WireError> {
        let Some(nonce) = nonce.get(..NONCE_BYTES) else {
            return Err(WireError::theirs(
                "a nonce of fewer than 32 bytes for parsec",
            ));
        };
        self.nonce = nonce.to_vec();
        Ok(Vec::new())
    }

    fn more(&mut self, secret: Secret<'_>, data: &[u8]) -> Result<Option<Vec<u8>>, WireError> {
        let [b'P', strength @ 0..=STRENGTH_MAX, salt @ ..] = data else {
            return Err(WireError::theirs("a parsec salt of an unknown kind"));
        };
        if salt.len() < SALT_MIN_BYTES || self.nonce.is_empty() {
            return Err(WireError::theirs("an invalid parsec salt"));
        }
        let rounds = NonZeroU32::MIN.saturating_add((1024 << strength) - 1);
        let mut seed = [0; 32];
        pbkdf2::derive(
            pbkdf2::PBKDF2_HMAC_SHA512,
            rounds,
            salt,
            secret.password,
            &mut seed,
        );
        let mut ours = [0; NONCE_BYTES];
        OsRng.try_fill_bytes(&mut ours).map_err(|why| {
            WireError::ours(format!("the system provides no random numbers: {why}"))
        })?;
        let signature = SigningKey::from_bytes(&seed).sign(&[&self.nonce[..], &ours].concat());
        Ok(Some([&ours[..], &signature.to_bytes()].concat()))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD_NO_PAD;
    use ed25519_dalek::{Signature, VerifyingKey};

    /// Salt and public key are those MariaDB 11.8 stored for this password: `SHOW CREATE USER`
    /// gives `P0:salt:key`.
    #[test]
    fn the_server_can_verify_the_answer() {
        let decode = |text| STANDARD_NO_PAD.decode(text).unwrap();
        let salt = decode("GsW6FSQVJ5jTsqPPN1UHWUfW");
        let stored = decode("3glurnU8GR6hqH2TEZ6VEx88QvGHtKSUP9odLx2YZXw");
        let public = VerifyingKey::from_bytes(&stored.try_into().unwrap()).unwrap();

        let secret = Secret::open(b"secret");
        let mut plugin = Parsec::default();
        assert!(plugin.answer(secret, &[7; NONCE_BYTES]).unwrap().is_empty());
        let salted = [&b"P\0"[..], &salt].concat();
        let answer = plugin.more(secret, &salted).unwrap().unwrap();
        let (ours, signature) = answer.split_at(NONCE_BYTES);
        let signature = Signature::from_slice(signature).unwrap();
        let both = [&[7; NONCE_BYTES][..], ours].concat();
        public.verify_strict(&both, &signature).unwrap();
    }

    #[test]
    fn what_is_no_salt_is_refused() {
        let secret = Secret::open(b"secret");
        for data in [&b""[..], b"P", b"P\0", b"Q\0saltsalt", b"P\xffsaltsalt"] {
            let mut plugin = Parsec::default();
            plugin.answer(secret, &[7; NONCE_BYTES]).unwrap();
            assert!(plugin.more(secret, data).is_err());
        }
        assert!(Parsec::default().more(secret, b"P\0saltsalt").is_err());
    }
}

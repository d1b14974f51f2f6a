//! `client_ed25519` of MariaDB: the nonce signed by a key that the password is.
//!
//! Ordinary Ed25519 hashes a 32-byte seed into the signing key. MariaDB hashes the password, of any
//! length, in its place; the rest is the ordinary signature.

use ed25519_dalek::VerifyingKey;
use ed25519_dalek::hazmat::{ExpandedSecretKey, raw_sign};
use sha2::{Digest, Sha512};

use super::{Plugin, Secret};
use crate::error::WireError;

pub(super) const NAME: &[u8] = b"client_ed25519";

const NONCE_BYTES: usize = 32;

pub(super) struct Ed25519;

impl Plugin for Ed25519 {
    fn answer(&mut self, secret: Secret<'_>, nonce: &[u8]) -> Result<Vec<u8>, WireError> {
        let Some(nonce) = nonce.get(..NONCE_BYTES) else {
            return Err(WireError::theirs(
                "a nonce of fewer than 32 bytes for client_ed25519",
            ));
        };
        let key = ExpandedSecretKey::from_bytes(&Sha512::digest(secret.password).into());
        let public = VerifyingKey::from(&key);
        Ok(raw_sign::<Sha512>(&key, nonce, &public).to_bytes().to_vec())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use base64::Engine;

    /// The public key is the one MariaDB stores: `SELECT ed25519_password('secret')`.
    #[test]
    fn the_server_can_verify_the_answer() {
        let stored = base64::engine::general_purpose::STANDARD_NO_PAD
            .decode("ZIgUREUg5PVgQ6LskhXmO+eZLS0nC8be6HPjYWR4YJY")
            .unwrap();
        let public = VerifyingKey::from_bytes(&stored.try_into().unwrap()).unwrap();
        let nonce = [7; NONCE_BYTES];
        let secret = Secret::open(b"secret");
        let answer = Ed25519.answer(secret, &nonce).unwrap();
        let signature = ed25519_dalek::Signature::from_bytes(&answer.try_into().unwrap());
        public.verify_strict(&nonce, &signature).unwrap();
    }

    #[test]
    fn a_short_nonce_is_refused() {
        let secret = Secret::open(b"secret");
        assert!(Ed25519.answer(secret, &[7; 20]).is_err());
    }
}

//! The password under the server's RSA key: how `caching_sha2_password` works without TLS.

use rand_core::OsRng;
use rsa::pkcs8::DecodePublicKey;
use rsa::traits::PublicKeyParts;
use rsa::{Oaep, RsaPublicKey};
use sha1::Sha1;

use crate::error::WireError;

/// What OAEP with SHA-1 adds.
const PADDING_BYTES: usize = 42;

/// Encrypts the password, mixed with the nonce, for the owner of the key.
///
/// If the server sent the key, this keeps the password from a listener, but not from an impostor of
/// the server: see [`super::ServerKey`].
pub(super) fn encrypt(password: &[u8], nonce: &[u8], key_pem: &[u8]) -> Result<Vec<u8>, WireError> {
    let pem = std::str::from_utf8(key_pem)
        .map_err(|_| WireError::theirs("its RSA key is not PEM text"))?;
    // The crate refuses keys of more than 4096 bits, which take far too long.
    let key = RsaPublicKey::from_public_key_pem(pem)
        .map_err(|why| WireError::theirs(format!("its RSA key cannot be read: {why}")))?;
    let mut mixed: Vec<u8> = password
        .iter()
        .chain(&[0])
        .zip(nonce.iter().cycle())
        .map(|(a, b)| a ^ b)
        .collect();
    if mixed.len() + PADDING_BYTES > key.size() {
        return Err(WireError::ours(format!(
            "the password is too long for the server's RSA key of {} bits; use TLS",
            key.size() * 8
        )));
    }
    let sealed = key
        .encrypt(&mut OsRng, Oaep::new::<Sha1>(), &mixed)
        .map_err(|why| WireError::theirs(format!("its RSA key cannot be used: {why}")));
    mixed.fill(0);
    sealed
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use rsa::RsaPrivateKey;
    use rsa::pkcs8::{EncodePublicKey, LineEnding};

    #[test]
    fn the_owner_of_the_key_can_read_the_password() {
        let owner = RsaPrivateKey::new(&mut OsRng, 512).unwrap();
        let pem = owner
            .to_public_key()
            .to_public_key_pem(LineEnding::LF)
            .unwrap();
        let nonce = b"abcdefghijklmnopqrst";
        let sealed = encrypt(b"secret", nonce, pem.as_bytes()).unwrap();
        let mixed = owner.decrypt(Oaep::new::<Sha1>(), &sealed).unwrap();
        assert_eq!(super::super::xor(&mixed, nonce), b"secret\0");
        assert!(matches!(
            encrypt(&[b'x'; 30], nonce, pem.as_bytes()),
            Err(WireError::Ours(_))
        ));
    }

    #[test]
    fn a_key_that_is_none_is_refused() {
        for pem in [
            &b""[..],
            b"\xff",
            b"-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----",
        ] {
            assert!(matches!(
                encrypt(b"secret", b"nonce", pem),
                Err(WireError::Theirs(_))
            ));
        }
    }
}

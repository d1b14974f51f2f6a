//! `caching_sha2_password`: a SHA-256 proof if the server has the password cached, else the
//! password: in clear over a secure channel, else under an RSA key the user vouches for.

use sha2::{Digest, Sha256};

use super::{Plugin, Secret, ServerKey, twenty, xor};
use crate::error::WireError;

pub(super) const NAME: &[u8] = b"caching_sha2_password";

const FAST_AUTH_OK: u8 = 3;
const FULL_AUTH: u8 = 4;
const WANT_KEY: u8 = 2;

#[derive(Default)]
pub(super) struct CachingSha2 {
    nonce: Vec<u8>,
    /// We asked for the server's RSA key.
    key_asked: bool,
}

impl Plugin for CachingSha2 {
    fn answer(&mut self, secret: Secret<'_>, nonce: &[u8]) -> Result<Vec<u8>, WireError> {
        self.nonce = twenty(nonce)?.to_vec();
        if secret.password.is_empty() {
            return Ok(Vec::new());
        }
        let once = Sha256::digest(secret.password);
        let twice = Sha256::digest(once);
        let mask = Sha256::new()
            .chain_update(twice)
            .chain_update(&self.nonce)
            .finalize();
        Ok(xor(&once, &mask))
    }

    fn more(&mut self, secret: Secret<'_>, data: &[u8]) -> Result<Option<Vec<u8>>, WireError> {
        if std::mem::take(&mut self.key_asked) {
            return super::rsa::encrypt(secret.password, &self.nonce, data).map(Some);
        }
        match data {
            [FAST_AUTH_OK] => Ok(None),
            // Inside TLS a server takes no RSA: the key that it sent is that of its certificate.
            [FULL_AUTH]
                if secret.secure
                    || secret.encrypted && secret.consent.server_key == ServerKey::AsSent =>
            {
                Ok(Some([secret.password, b"\0"].concat()))
            }
            [FULL_AUTH] => match &secret.consent.server_key {
                ServerKey::Known(pem) if !secret.encrypted => {
                    super::rsa::encrypt(secret.password, &self.nonce, pem).map(Some)
                }
                ServerKey::AsSent => {
                    self.key_asked = true;
                    Ok(Some(vec![WANT_KEY]))
                }
                ServerKey::Unknown | ServerKey::Known(_) => Err(WireError::ours(
                    "the server asks for the password itself, over a connection that is not \
                     verified; name its RSA key (server_public_key_path) without TLS, accept the \
                     one that it sends (get_server_public_key), use TLS that verifies the \
                     identity (verify_identity and a CA), or use its Unix socket",
                )),
            },
            _ => Err(WireError::theirs(
                "unexpected message of caching_sha2_password",
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::mysql::auth::Consent;

    #[test]
    fn the_server_can_verify_the_answer() {
        let nonce = b"abcdefghijklmnopqrst";
        let secret = Secret::open(b"secret");
        let answer = CachingSha2::default().answer(secret, nonce).unwrap();
        let cached = Sha256::digest(Sha256::digest(b"secret"));
        let mask = Sha256::new()
            .chain_update(cached)
            .chain_update(nonce)
            .finalize();
        assert_eq!(Sha256::digest(xor(&answer, &mask)), cached);
    }

    #[test]
    fn the_password_goes_out_only_where_nobody_listens() {
        let mut plugin = CachingSha2::default();
        let open = Secret::open(b"secret");
        plugin.answer(open, b"abcdefghijklmnopqrst").unwrap();
        assert_eq!(plugin.more(open, &[FAST_AUTH_OK]).unwrap(), None);
        let refused = plugin.more(open, &[FULL_AUTH]);
        assert!(matches!(refused, Err(WireError::Ours(what)) if what.contains("not verified")));
        for (server_key, says_key) in [
            (ServerKey::AsSent, true),
            (ServerKey::Known(b"no key".to_vec()), false),
        ] {
            let consent = Consent {
                server_key,
                ..Consent::default()
            };
            let agreed = Secret {
                consent: &consent,
                ..open
            };
            let answer = plugin.more(agreed, &[FULL_AUTH]);
            assert_eq!(
                answer.is_ok_and(|said| said == Some(vec![WANT_KEY])),
                says_key
            );
            assert!(plugin.more(agreed, b"no key").is_err());
        }
        let closed = Secret {
            secure: true,
            ..open
        };
        assert_eq!(
            plugin.more(closed, &[FULL_AUTH]).unwrap().unwrap(),
            b"secret\0"
        );
        assert!(plugin.more(closed, b"rubbish").is_err());
    }
}

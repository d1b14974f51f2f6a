//! `mysql_clear_password`: the password in clear, so never where a third party could listen.

use super::{Plugin, Secret};
use crate::error::WireError;

pub(super) const NAME: &[u8] = b"mysql_clear_password";

pub(super) struct Clear;

impl Plugin for Clear {
    fn answer(&mut self, secret: Secret<'_>, _nonce: &[u8]) -> Result<Vec<u8>, WireError> {
        if !secret.secure && !secret.consent.clear_text && !secret.password.is_empty() {
            return Err(WireError::ours(
                "the server asks for the password in clear text, over a connection that is not \
                 verified; use its Unix socket, or TLS that verifies the identity \
                 (verify_identity and a CA); enable_cleartext_plugin sends it anyway",
            ));
        }
        Ok([secret.password, b"\0"].concat())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::mysql::auth::Consent;

    #[test]
    fn only_over_a_secure_channel() {
        let open = Secret::open(b"secret");
        assert!(matches!(Clear.answer(open, b""), Err(WireError::Ours(_))));
        let agreed = Secret {
            consent: &Consent {
                clear_text: true,
                ..Consent::default()
            },
            ..open
        };
        assert_eq!(Clear.answer(agreed, b"").unwrap(), b"secret\0");
        let closed = Secret {
            secure: true,
            ..open
        };
        assert_eq!(Clear.answer(closed, b"").unwrap(), b"secret\0");
    }
}

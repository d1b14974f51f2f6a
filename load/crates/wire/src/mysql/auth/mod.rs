//! Login plugins, one per file. A plugin turns the password and the server's nonce into an answer.

mod caching_sha2;
mod clear;
mod ed25519;
mod native;
mod parsec;
mod rsa;
mod socket;

use crate::error::WireError;

/// What a plugin may see of the login.
#[derive(Clone, Copy)]
pub struct Secret<'s> {
    pub password: &'s [u8],
    /// No third party can listen, and the peer is the server: a Unix socket, or TLS with a
    /// certificate that was verified and names the host.
    pub secure: bool,
    /// TLS is on, with any peer.
    pub encrypted: bool,
    pub consent: &'s Consent,
}

#[cfg(test)]
impl Secret<'static> {
    /// On an unverified channel.
    fn open(password: &'static [u8]) -> Self {
        const NONE: &Consent = &Consent {
            clear_text: false,
            server_key: ServerKey::Unknown,
        };
        Self {
            password,
            secure: false,
            encrypted: false,
            consent: NONE,
        }
    }
}

/// How a password may be given away on an unverified channel. The names are those of the servers'
/// own clients.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Consent {
    /// `enable_cleartext_plugin`: send it in clear if the server asks for that.
    pub clear_text: bool,
    pub server_key: ServerKey,
}

/// Which RSA key the password may be put under.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ServerKey {
    /// None.
    #[default]
    Unknown,
    /// `get_server_public_key`: the key that the server sends, unverified.
    AsSent,
    /// `server_public_key_path`: this one, in PEM.
    Known(Vec<u8>),
}

/// One way of proving our identity.
pub trait Plugin: Send {
    /// The answer to the nonce.
    fn answer(&mut self, secret: Secret<'_>, nonce: &[u8]) -> Result<Vec<u8>, WireError>;

    /// The server wants more, or sends something; none: nothing is to be sent.
    fn more(&mut self, _secret: Secret<'_>, _data: &[u8]) -> Result<Option<Vec<u8>>, WireError> {
        Err(WireError::theirs(
            "its login plugin asks for more than this plugin supports",
        ))
    }
}

/// The plugin of that name.
pub fn plugin(name: &[u8]) -> Option<Box<dyn Plugin>> {
    Some(match name {
        native::NAME => Box::new(native::NativePassword),
        caching_sha2::NAME => Box::new(caching_sha2::CachingSha2::default()),
        ed25519::NAME => Box::new(ed25519::Ed25519),
        parsec::NAME => Box::new(parsec::Parsec::default()),
        clear::NAME => Box::new(clear::Clear),
        socket::NAME_MARIADB | socket::NAME_MYSQL => Box::new(socket::SocketAuth),
        _ => return None,
    })
}

/// Used where the server's wish is unknown to us: it will then name a different one.
pub const FALLBACK: &[u8] = native::NAME;

/// Byte by byte exclusive or; the shorter one is the length.
pub fn xor(one: &[u8], other: &[u8]) -> Vec<u8> {
    one.iter().zip(other).map(|(a, b)| a ^ b).collect()
}

/// The nonce as these plugins use it: 20 bytes, followed by a NUL.
pub fn twenty(nonce: &[u8]) -> Result<&[u8], WireError> {
    nonce
        .get(..20)
        .ok_or_else(|| WireError::theirs("a nonce of fewer than 20 bytes"))
}

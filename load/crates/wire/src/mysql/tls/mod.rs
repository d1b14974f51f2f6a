//! TLS settings of a run: made once, shared by all connections.

mod trust;

use crate::error::WireError;
use rustls::ClientConfig;
use rustls::client::Resumption;
use rustls::client::danger::ServerCertVerifier;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use std::sync::Arc;

/// Whether to encrypt, which certificates to trust, and our own certificate.
#[derive(Clone, Debug)]
pub struct TlsConfig {
    pub(super) is_required: bool,
    /// An authority vouches for the certificate, which names the host.
    pub(super) verifies_identity: bool,
    pub(super) client: Arc<ClientConfig>,
    pub(super) name: ServerName<'static>,
}

/// The TLS settings that the user wants.
#[derive(Debug)]
pub struct TlsWish {
    /// A server without TLS is refused.
    pub is_required: bool,
    pub trust: Trust,
    /// Our own certificates, and the key to the first of them.
    pub identity: Option<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>)>,
}

/// Whose certificate is believed.
#[derive(Debug)]
pub enum Trust {
    Anyone,
    SignedBy {
        authorities: Vec<CertificateDer<'static>>,
        /// Where they come from, for a message.
        source: String,
        /// The certificate must name the host.
        names_host: bool,
    },
}

impl TlsConfig {
    /// `host` is the name the certificate must have, if it must have one.
    ///
    /// # Errors
    /// The certificates cannot be used.
    pub fn new(wish: TlsWish, host: &str) -> Result<Arc<Self>, WireError> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let versions = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(ours)?;
        let names_host = matches!(
            wish.trust,
            Trust::SignedBy {
                names_host: true,
                ..
            }
        );
        let trusting = versions
            .dangerous()
            .with_custom_certificate_verifier(verifier(wish.trust, &provider)?);
        let mut client = match wish.identity {
            Some((certificates, key)) => trusting
                .with_client_auth_cert(certificates, key)
                .map_err(ours)?,
            None => trusting.with_no_client_auth(),
        };
        // Every connection pays for a whole handshake, as with the servers' own clients: a
        // session resumed would make connection storms look cheaper than they are.
        client.resumption = Resumption::disabled();
        let name = match ServerName::try_from(host.to_owned()) {
            Ok(name) => name,
            Err(_) if names_host => {
                return Err(WireError::ours(format!(
                    "{host:?} is not a host name that a certificate can contain"
                )));
            }
            // The name is not checked.
            Err(_) => ServerName::IpAddress(std::net::Ipv4Addr::LOCALHOST.into()),
        };
        Ok(Arc::new(Self {
            is_required: wish.is_required,
            verifies_identity: names_host,
            client: Arc::new(client),
            name,
        }))
    }
}

fn verifier(
    trust: Trust,
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<dyn ServerCertVerifier>, WireError> {
    match trust {
        Trust::Anyone => Ok(trust::anyone(provider)),
        Trust::SignedBy {
            authorities,
            source,
            names_host,
        } => trust::signed_by(authorities, names_host, provider).map_err(|why| {
            WireError::ours(format!("{source} contains no usable CA certificate: {why}"))
        }),
    }
}

fn ours(why: rustls::Error) -> WireError {
    WireError::ours(format!("cannot set up TLS: {why}"))
}

//! TLS settings of a run: read once, shared by all connections.

mod trust;

use std::path::Path;
use std::sync::Arc;

use rustls::ClientConfig;
use rustls::client::Resumption;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};

use crate::plan::{Tls, TlsMode};

use super::error::WireError;

/// Whether to encrypt, whom to trust, who we are.
#[derive(Clone, Debug)]
pub struct TlsConfig {
    pub(super) mode: TlsMode,
    pub(super) client: Arc<ClientConfig>,
    pub(super) name: ServerName<'static>,
}

impl TlsConfig {
    /// Reads the files that the plan names. `host` is whom the certificate must name where the
    /// mode is `verify-identity`; none is returned where TLS is disabled.
    pub fn from_plan(tls: &Tls, host: &str) -> Result<Option<Arc<Self>>, WireError> {
        if tls.mode == TlsMode::Disabled {
            return Ok(None);
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let versions = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(ours)?;
        let verifier = verifier(tls, &provider)?;
        let trusting = versions
            .dangerous()
            .with_custom_certificate_verifier(verifier);
        let mut client = match (&tls.certificate, &tls.key) {
            (Some(certificate), Some(key)) => {
                let key = PrivateKeyDer::from_pem_file(key).map_err(|why| unread(key, why))?;
                trusting
                    .with_client_auth_cert(certificates(certificate)?, key)
                    .map_err(ours)?
            }
            (None, None) => trusting.with_no_client_auth(),
            _ => {
                return Err(WireError::ours(
                    "tls.certificate and tls.key go together; one of them is missing",
                ));
            }
        };
        // Every connection pays for a whole handshake, as with the servers' own clients: a
        // session resumed would make connection storms look cheaper than they are.
        client.resumption = Resumption::disabled();
        let name = match ServerName::try_from(host.to_owned()) {
            Ok(name) => name,
            Err(_) if tls.mode == TlsMode::VerifyIdentity => {
                return Err(WireError::ours(format!(
                    "{host:?} is no host name that a certificate could name"
                )));
            }
            // Nobody will look at it.
            Err(_) => ServerName::IpAddress(std::net::Ipv4Addr::LOCALHOST.into()),
        };
        Ok(Some(Arc::new(Self {
            mode: tls.mode,
            client: Arc::new(client),
            name,
        })))
    }

    /// True where a server without TLS is refused.
    pub(super) fn is_required(&self) -> bool {
        !matches!(self.mode, TlsMode::Disabled | TlsMode::Preferred)
    }
}

fn verifier(
    tls: &Tls,
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<dyn rustls::client::danger::ServerCertVerifier>, WireError> {
    let check_name = match tls.mode {
        TlsMode::Disabled | TlsMode::Preferred | TlsMode::Required => {
            return Ok(trust::anyone(provider));
        }
        TlsMode::VerifyCa => false,
        TlsMode::VerifyIdentity => true,
    };
    let Some(path) = &tls.ca else {
        return Err(WireError::ours(
            "the TLS modes verify-ca and verify-identity need tls.ca, a PEM file",
        ));
    };
    trust::signed_by(certificates(path)?, check_name, provider).map_err(|why| {
        WireError::ours(format!(
            "{} holds no usable CA certificate: {why}",
            path.display()
        ))
    })
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, WireError> {
    let read: Result<Vec<_>, _> = CertificateDer::pem_file_iter(path)
        .map_err(|why| unread(path, why))?
        .collect();
    let certificates = read.map_err(|why| unread(path, why))?;
    if certificates.is_empty() {
        return Err(WireError::ours(format!(
            "{} holds no certificate",
            path.display()
        )));
    }
    Ok(certificates)
}

fn unread(path: &Path, why: impl std::fmt::Display) -> WireError {
    WireError::ours(format!("cannot read {}: {why}", path.display()))
}

fn ours(why: rustls::Error) -> WireError {
    WireError::ours(format!("TLS cannot be set up: {why}"))
}

//! TLS and the ways a password may be given away, from the files that a plan names.

use contend_plan::{Tls, TlsMode};
use contend_wire::WireError;
use contend_wire::mysql::{Consent, ServerKey, TlsConfig, TlsWish, Trust};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::path::Path;
use std::sync::Arc;

/// Reads the files that the plan names, so do it once and clone the result for each connection.
/// `host` is the name the certificate must have if the mode is `verify-identity`; none is returned
/// if TLS is disabled.
///
/// # Errors
/// A file cannot be read or used, or one is missing.
pub fn tls_of(tls: &Tls, host: &str) -> Result<Option<Arc<TlsConfig>>, WireError> {
    if tls.mode == TlsMode::Disabled {
        return Ok(None);
    }
    let identity = match (&tls.certificate, &tls.key) {
        (Some(certificate), Some(key)) => {
            let secret = PrivateKeyDer::from_pem_file(key).map_err(|why| unread(key, why))?;
            Some((certificates(certificate)?, secret))
        }
        (None, None) => None,
        _ => {
            return Err(WireError::ours(
                "tls.certificate and tls.key are needed together; one of them is missing",
            ));
        }
    };
    let wish = TlsWish {
        is_required: tls.mode != TlsMode::Preferred,
        trust: trust_of(tls)?,
        identity,
    };
    TlsConfig::new(wish, host).map(Some)
}

/// What the password may be given away for. A key in a file goes before one that the server sends.
///
/// # Errors
/// The file cannot be read.
pub fn consent_of(
    clear_text: bool,
    key_as_sent: bool,
    key: Option<&Path>,
) -> Result<Consent, WireError> {
    let server_key = match key {
        Some(path) => ServerKey::Known(std::fs::read(path).map_err(|why| unread(path, why))?),
        None if key_as_sent => ServerKey::AsSent,
        None => ServerKey::Unknown,
    };
    Ok(Consent {
        clear_text,
        server_key,
    })
}

fn trust_of(tls: &Tls) -> Result<Trust, WireError> {
    let names_host = match tls.mode {
        TlsMode::Disabled | TlsMode::Preferred | TlsMode::Required => return Ok(Trust::Anyone),
        TlsMode::VerifyCa => false,
        TlsMode::VerifyIdentity => true,
    };
    let Some(path) = &tls.ca else {
        return Err(WireError::ours(
            "the TLS modes verify-ca and verify-identity need tls.ca, a PEM file",
        ));
    };
    Ok(Trust::SignedBy {
        authorities: certificates(path)?,
        source: path.display().to_string(),
        names_host,
    })
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, WireError> {
    let read: Result<Vec<_>, _> = CertificateDer::pem_file_iter(path)
        .map_err(|why| unread(path, why))?
        .collect();
    let certificates = read.map_err(|why| unread(path, why))?;
    if certificates.is_empty() {
        return Err(WireError::ours(format!(
            "{} contains no certificate",
            path.display()
        )));
    }
    Ok(certificates)
}

fn unread(path: &Path, why: impl std::fmt::Display) -> WireError {
    WireError::ours(format!("cannot read {}: {why}", path.display()))
}

//! The certificates to believe: any, or those that a given authority signed.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{VerifierBuilderError, WebPkiServerVerifier};
use rustls::crypto::{
    CryptoProvider, WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature,
};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

/// Believes any certificate, but checks that its owner made the handshake.
pub(super) fn anyone(provider: &Arc<CryptoProvider>) -> Arc<dyn ServerCertVerifier> {
    Arc::new(Forgiving {
        algorithms: provider.signature_verification_algorithms,
        chain: None,
    })
}

/// Believes certificates that one of `authorities` signed, and that name the host.
pub(super) fn signed_by(
    authorities: Vec<CertificateDer<'static>>,
    check_name: bool,
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<dyn ServerCertVerifier>, VerifierBuilderError> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(authorities);
    let chain = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider))
        .build()?;
    Ok(match check_name {
        true => chain,
        false => Arc::new(Forgiving {
            algorithms: provider.signature_verification_algorithms,
            chain: Some(chain),
        }),
    })
}

/// Verifies the chain, if asked to, and ignores the name.
#[derive(Debug)]
struct Forgiving {
    algorithms: WebPkiSupportedAlgorithms,
    chain: Option<Arc<WebPkiServerVerifier>>,
}

impl ServerCertVerifier for Forgiving {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(chain) = &self.chain else {
            return Ok(ServerCertVerified::assertion());
        };
        // The name is checked last, after the chain was verified.
        match chain.verify_server_cert(end_entity, intermediates, name, ocsp, now) {
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) => Ok(ServerCertVerified::assertion()),
            other => other,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signed, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signed, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

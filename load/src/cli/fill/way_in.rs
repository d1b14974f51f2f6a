//! Encryption of the connection, and when the password may be sent.

use clap::builder::{PossibleValuesParser, TypedValueParser as _};
use contend_client::tls::{consent_of, tls_of};
use contend_plan::{Tls, TlsMode};
use contend_wire::mysql::Options;
use std::path::PathBuf;

/// The names are those of the servers' own clients.
const TLS_MODES: [(&str, TlsMode); 5] = [
    ("disabled", TlsMode::Disabled),
    ("preferred", TlsMode::Preferred),
    ("required", TlsMode::Required),
    ("verify_ca", TlsMode::VerifyCa),
    ("verify_identity", TlsMode::VerifyIdentity),
];

fn mode_of(name: String) -> TlsMode {
    let found = TLS_MODES
        .iter()
        .find(|mode| mode.0.eq_ignore_ascii_case(&name));
    found.map_or(TlsMode::Preferred, |mode| mode.1)
}

#[derive(Debug, clap::Args)]
pub struct WayIn {
    /// Encryption mode, and what to verify.
    #[arg(
        long,
        value_parser = PossibleValuesParser::new(TLS_MODES.map(|(name, _)| name)).map(mode_of),
        ignore_case = true,
        default_value = "preferred"
    )]
    ssl_mode: TlsMode,
    /// PEM file of the authority that signs the server's certificate.
    #[arg(long, value_name = "FILE")]
    ssl_ca: Option<PathBuf>,
    /// PEM file with the client's certificate.
    #[arg(long, value_name = "FILE", requires = "ssl_key")]
    ssl_cert: Option<PathBuf>,
    /// PEM file with its key.
    #[arg(long, value_name = "FILE", requires = "ssl_cert")]
    ssl_key: Option<PathBuf>,
    /// Send the password as plain text if the server asks for it, even if the server is not
    /// verified.
    #[arg(long)]
    enable_cleartext_plugin: bool,
    /// Accept the RSA key that the server sends, without verifying it.
    #[arg(long)]
    get_server_public_key: bool,
    /// PEM file with the server's RSA key.
    #[arg(long, value_name = "FILE")]
    server_public_key_path: Option<PathBuf>,
}

impl WayIn {
    /// The options of a session on that host with these.
    ///
    /// # Errors
    /// A file cannot be used, with the reason as text.
    pub fn over(&self, options: Options, host: Option<&str>) -> Result<Options, String> {
        let tls = Tls {
            mode: self.ssl_mode,
            ca: self.ssl_ca.clone(),
            certificate: self.ssl_cert.clone(),
            key: self.ssl_key.clone(),
        };
        let tls = tls_of(&tls, host.unwrap_or("localhost"));
        let consent = consent_of(
            self.enable_cleartext_plugin,
            self.get_server_public_key,
            self.server_public_key_path.as_deref(),
        );
        Ok(Options {
            tls: tls.map_err(|why| why.to_string())?,
            consent: consent.map_err(|why| why.to_string())?,
            ..options
        })
    }
}

//! Both layers against a far end in memory: rustls' own server, our own compression.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::io::{Read, Write};
use std::path::PathBuf;
use std::sync::Arc;

use rcgen::{
    BasicConstraints, Certificate, CertificateParams, IsCa, Issuer, KeyPair, date_time_ymd,
};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig, ServerConnection, SupportedProtocolVersion};

use contend_client::tls::tls_of;
use contend_plan::{Tls, TlsMode};
use contend_wire::mysql::{Channel, TlsConfig};
use contend_wire::{Capabilities, WireError};

/// An authority, and certificates it signed.
struct Authority {
    certificate: Certificate,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    fn new() -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let certificate = params.self_signed(&key).unwrap();
        Self {
            certificate,
            issuer: Issuer::new(params, key),
        }
    }

    fn sign(&self, names: &[&str], expired: bool) -> (Certificate, KeyPair) {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut params = CertificateParams::new(names).unwrap();
        if expired {
            params.not_after = date_time_ymd(2001, 1, 1);
        }
        let key = KeyPair::generate().unwrap();
        (params.signed_by(&key, &self.issuer).unwrap(), key)
    }
}

fn der(key: &KeyPair) -> PrivateKeyDer<'static> {
    PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()))
}

/// A file that is gone when the test is over.
struct File(PathBuf);

impl File {
    fn new(name: &str, text: &str) -> Self {
        let name = format!(
            "contend-{}-{:?}-{name}",
            std::process::id(),
            std::thread::current().id()
        );
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, text).unwrap();
        Self(path)
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn server(
    authority: &Authority,
    certificate: (Certificate, KeyPair),
    asks_client: bool,
    versions: &[&'static SupportedProtocolVersion],
) -> ServerConnection {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(versions)
        .unwrap();
    let builder = if asks_client {
        let mut roots = RootCertStore::empty();
        roots.add(authority.certificate.der().clone()).unwrap();
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider)
            .build()
            .unwrap();
        builder.with_client_cert_verifier(verifier)
    } else {
        builder.with_no_client_auth()
    };
    let (certificate, key) = certificate;
    let config = builder
        .with_single_cert(vec![certificate.der().clone()], der(&key))
        .unwrap();
    let mut server = ServerConnection::new(Arc::new(config)).unwrap();
    server.set_buffer_limit(None);
    server
}

/// Joins both ends, `piece` bytes at a time, until the channel is ready.
fn join(
    server: &mut ServerConnection,
    config: &TlsConfig,
    piece: usize,
) -> Result<Channel, WireError> {
    let mut channel = Channel::default();
    let mut to_server = Vec::new();
    channel.encrypt(config, &mut to_server)?;
    for _ in 0..20 {
        let mut rest = &to_server[..];
        while !rest.is_empty() {
            server.read_tls(&mut rest).unwrap();
        }
        let refused = server.process_new_packets().is_err();
        to_server.clear();
        let mut to_client = Vec::new();
        while server.wants_write() {
            server.write_tls(&mut to_client).unwrap();
        }
        let mut heard = Vec::new();
        for part in to_client.chunks(piece) {
            channel.open(part, &mut heard)?;
        }
        assert!(heard.is_empty());
        let ready = channel.settle(&mut to_server);
        if ready && to_server.is_empty() && !refused && !server.is_handshaking() {
            return Ok(channel);
        }
    }
    panic!("the handshake never ends");
}

fn config(mode: TlsMode, ca: Option<&File>, host: &str) -> Arc<TlsConfig> {
    let tls = Tls {
        mode,
        ca: ca.map(|file| file.0.clone()),
        ..Tls::default()
    };
    tls_of(&tls, host).unwrap().unwrap()
}

/// Says something both ways, in pieces.
fn talk(channel: &mut Channel, server: &mut ServerConnection, piece: usize) {
    for said in [b"short".to_vec(), vec![7; 100_000]] {
        let mut socket = Vec::new();
        channel.seal(&said, &mut socket).unwrap();
        let mut heard = Vec::new();
        for mut part in socket.chunks(piece.clamp(1000, 4000)) {
            while !part.is_empty() {
                server.read_tls(&mut part).unwrap();
                server.process_new_packets().unwrap();
                let _ = server.reader().read_to_end(&mut heard);
            }
        }
        assert!(heard == said);
        server.writer().write_all(&said).unwrap();
        let mut socket = Vec::new();
        while server.wants_write() {
            server.write_tls(&mut socket).unwrap();
        }
        let mut heard = Vec::new();
        for part in socket.chunks(piece) {
            assert!(!channel.open(part, &mut heard).unwrap());
        }
        assert!(heard == said);
    }
}

const BOTH: [&SupportedProtocolVersion; 2] = [&rustls::version::TLS12, &rustls::version::TLS13];

#[test]
fn a_verified_channel_carries_bytes_in_any_pieces() {
    let authority = Authority::new();
    let ca = File::new("ca", &authority.certificate.pem());
    for version in BOTH {
        for piece in [1, 100, usize::MAX] {
            let certificate = authority.sign(&["db.example", "127.0.0.1"], false);
            let mut server = server(&authority, certificate, false, &[version]);
            let config = config(TlsMode::VerifyIdentity, Some(&ca), "127.0.0.1");
            let mut channel = join(&mut server, &config, piece).unwrap();
            assert!(channel.is_encrypted() && !channel.is_plain());
            talk(&mut channel, &mut server, piece);
        }
    }
}

#[test]
fn who_is_believed() {
    let authority = Authority::new();
    let ca = File::new("ca", &authority.certificate.pem());
    let stranger = File::new("stranger", &Authority::new().certificate.pem());
    let good = || authority.sign(&["db.example"], false);
    let own = || {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec!["db.example".to_owned()]).unwrap();
        (params.self_signed(&key).unwrap(), key)
    };
    let try_it = |certificate, mode, ca: Option<&File>, host| {
        let mut server = server(&authority, certificate, false, &BOTH);
        join(&mut server, &config(mode, ca, host), usize::MAX).map(|_| ())
    };
    use TlsMode::{Required, VerifyCa, VerifyIdentity};
    assert_eq!(
        try_it(good(), VerifyIdentity, Some(&ca), "db.example"),
        Ok(())
    );
    assert_eq!(try_it(good(), VerifyCa, Some(&ca), "other.example"), Ok(()));
    assert_eq!(try_it(own(), Required, None, "other.example"), Ok(()));
    assert_eq!(
        try_it(
            authority.sign(&["x.example"], true),
            Required,
            None,
            "y.example"
        ),
        Ok(())
    );
    for (certificate, mode, ca, words) in [
        (good(), VerifyIdentity, &ca, "another host"),
        (good(), VerifyCa, &stranger, "did not sign"),
        (own(), VerifyCa, &ca, "did not sign"),
        (
            authority.sign(&["db.example"], true),
            VerifyCa,
            &ca,
            "expired",
        ),
    ] {
        match try_it(certificate, mode, Some(ca), "other.example") {
            Err(WireError::Distrusted(why)) => assert!(why.contains(words), "{why}"),
            other => panic!("{words}: {other:?}"),
        }
    }
}

#[test]
fn a_client_certificate_is_shown_where_one_is_asked_for() {
    let authority = Authority::new();
    let (certificate, key) = authority.sign(&["me"], false);
    let certificate = File::new("certificate", &certificate.pem());
    let key = File::new("key", &key.serialize_pem());
    let shown = Tls {
        mode: TlsMode::Required,
        ca: None,
        certificate: Some(certificate.0.clone()),
        key: Some(key.0.clone()),
    };
    let shown = tls_of(&shown, "db.example").unwrap().unwrap();
    let mut asking = server(
        &authority,
        authority.sign(&["db.example"], false),
        true,
        &BOTH,
    );
    let mut channel = join(&mut asking, &shown, usize::MAX).unwrap();
    talk(&mut channel, &mut asking, usize::MAX);

    for version in BOTH {
        let certificate = authority.sign(&["db.example"], false);
        let mut asking = server(&authority, certificate, true, &[version]);
        match join(
            &mut asking,
            &config(TlsMode::Required, None, "db.example"),
            usize::MAX,
        ) {
            Err(WireError::Theirs(why)) => assert!(
                why.contains("CertificateRequired") || why.contains("HandshakeFailure"),
                "{why}"
            ),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn settings_that_cannot_work_are_ours() {
    let ca = File::new("ca", &Authority::new().certificate.pem());
    let empty = File::new("empty", "no certificate here");
    let gone = PathBuf::from("/no/such/file.pem");
    let with =
        |mode, ca: Option<&PathBuf>, certificate: Option<&PathBuf>, key: Option<&PathBuf>, host| {
            let tls = Tls {
                mode,
                ca: ca.cloned(),
                certificate: certificate.cloned(),
                key: key.cloned(),
            };
            tls_of(&tls, host)
        };
    assert!(
        with(TlsMode::Disabled, None, None, None, "h")
            .unwrap()
            .is_none()
    );
    for (result, words) in [
        (with(TlsMode::VerifyCa, None, None, None, "h"), "tls.ca"),
        (
            with(TlsMode::VerifyCa, Some(&gone), None, None, "h"),
            "/no/such/file.pem",
        ),
        (
            with(TlsMode::VerifyCa, Some(&empty.0), None, None, "h"),
            "no certificate",
        ),
        (
            with(TlsMode::Required, None, Some(&ca.0), None, "h"),
            "one of them is missing",
        ),
        (
            with(TlsMode::Required, None, Some(&ca.0), Some(&ca.0), "h"),
            "cannot read",
        ),
        (
            with(
                TlsMode::VerifyIdentity,
                Some(&ca.0),
                None,
                None,
                "not a host",
            ),
            "not a host",
        ),
    ] {
        match result {
            Err(WireError::Ours(why)) => assert!(why.contains(words), "{why}"),
            other => panic!("{words}: {other:?}"),
        }
    }
}

#[test]
fn rubbish_in_place_of_tls_is_refused() {
    for rubbish in [
        &b"\xff\x10\x04Too many connections"[..],
        &[0; 100_000],
        &[0x16; 200_000],
    ] {
        let mut channel = Channel::default();
        channel
            .encrypt(&config(TlsMode::Required, None, "h"), &mut Vec::new())
            .unwrap();
        let refused = channel.open(rubbish, &mut Vec::new());
        assert!(matches!(refused, Err(WireError::Theirs(_))), "{refused:?}");
    }
}

#[test]
fn both_layers_carry_packets_one_at_a_time() {
    let authority = Authority::new();
    let certificate = authority.sign(&["db.example"], false);
    let start = |certificate| server(&authority, certificate, false, &BOTH);
    let mut server = start(certificate);
    let config = config(TlsMode::Required, None, "db.example");
    for agreed in [Capabilities::COMPRESS, Capabilities::ZSTD_COMPRESSION] {
        let mut channel = join(&mut server, &config, usize::MAX).unwrap();
        channel.compress(agreed);
        let mut far = Channel::default();
        far.compress(agreed);
        // Two compressed packets in one write: the second one waits its turn.
        let said = [vec![b'a'; 5000], vec![b'b'; 5000]];
        let mut packed = Vec::new();
        far.seal(&said[0], &mut packed).unwrap();
        far.seal_more(&said[1], &mut packed).unwrap();
        server.writer().write_all(&packed).unwrap();
        let mut socket = Vec::new();
        while server.wants_write() {
            server.write_tls(&mut socket).unwrap();
        }
        let mut heard = Vec::new();
        assert!(channel.open(&socket, &mut heard).unwrap());
        assert!(heard == said[0]);
        assert!(!channel.open(&[], &mut heard).unwrap());
        assert!(heard == said.concat());
        server = start(authority.sign(&["db.example"], false));
    }
}

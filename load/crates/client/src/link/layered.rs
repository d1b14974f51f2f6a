//! Bytes after an answer, from a server played by hand whose packets are compressed, encrypted, or
//! both.

#![allow(clippy::unwrap_used)]
use super::*;
use crate::request::Class;
use crate::tls::tls_of;
use contend_plan::{Tls, TlsMode};
use contend_reactor::socket::Address;
use contend_wire::Credentials;
use contend_wire::mysql::frame::put_packet;
use contend_wire::mysql::{Algorithm, Options};
use rcgen::{CertificateParams, KeyPair};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection};
use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

const OK: &[u8] = b"\x07\0\0\x01\0\x01\0\x02\0\0\0";
const SHUTDOWN: &[u8] = b"\x10\0\0\x02\xff\x1d\x04#08S01Shutdown";
/// Asks for a file.
const FILE: &[u8] = b"\x02\0\0\x01\xfbf";
/// A server that offers zlib and TLS.
const GREETING: &[u8] = b"\x0a10.11.0-MariaDB\0\x07\0\0\0abcdefgh\0\xfe\xff\x2d\x02\0\xff\x81\x15\
    \0\0\0\0\0\0\x1d\0\0\0ijklmnopqrst\0mysql_native_password\0";

const REQUEST: Request = Request {
    link: 0,
    class: Class::Of(0),
    reply: Reply::Counts,
    ends: None,
};

/// Whether packets are compressed, and whether they are encrypted.
type FarLayers = (bool, bool);
const LAYERS: [FarLayers; 4] = [(false, false), (true, false), (false, true), (true, true)];

/// The server's end of the layers.
struct Far {
    compressed: bool,
    tls: Option<ServerConnection>,
}

impl Far {
    fn new((compressed, encrypted): FarLayers) -> Self {
        let tls = encrypted.then(|| {
            let key = KeyPair::generate().unwrap();
            let params = CertificateParams::new(Vec::new()).unwrap();
            let certificate = params.self_signed(&key).unwrap().der().clone();
            let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
            let provider = Arc::new(rustls::crypto::ring::default_provider());
            let config = ServerConfig::builder_with_provider(provider);
            let config = config.with_safe_default_protocol_versions().unwrap();
            let config = config.with_no_client_auth();
            let config = config.with_single_cert(vec![certificate], key).unwrap();
            ServerConnection::new(Arc::new(config)).unwrap()
        });
        Self { compressed, tls }
    }

    /// The bytes of a packet, in a compressed packet with this number and in a record of its own.
    fn say(&mut self, sequence: u8, packet: &[u8]) -> Vec<u8> {
        let packet = match self.compressed {
            true => [&[packet.len() as u8, 0, 0, sequence, 0, 0, 0], packet].concat(),
            false => packet.to_vec(),
        };
        self.encrypted(&packet)
    }

    fn encrypted(&mut self, bytes: &[u8]) -> Vec<u8> {
        let Some(tls) = &mut self.tls else {
            return bytes.to_vec();
        };
        tls.writer().write_all(bytes).unwrap();
        self.records()
    }

    fn records(&mut self) -> Vec<u8> {
        let mut records = Vec::new();
        let tls = self.tls.as_mut().unwrap();
        while tls.wants_write() {
            tls.write_tls(&mut records).unwrap();
        }
        records
    }

    /// Takes TLS records of the client; returns those that answer them.
    fn shake(&mut self, mut records: &[u8]) -> Vec<u8> {
        let tls = self.tls.as_mut().unwrap();
        while !records.is_empty() {
            tls.read_tls(&mut records).unwrap();
            tls.process_new_packets().unwrap();
        }
        self.records()
    }
}

fn framed(sequence: u8, packet: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    put_packet(&mut out, sequence, |out| out.extend_from_slice(packet));
    out
}

fn hear(link: &mut Link, bytes: &[u8]) -> Result<Heard, WireError> {
    link.hear(bytes, &mut Vec::new(), &mut Vec::new())
}

/// A link that has logged in, and its server.
fn opened(layers: FarLayers) -> (Link, Far) {
    let required = Tls {
        mode: TlsMode::Required,
        ..Tls::default()
    };
    let tls = tls_of(&required, "db.example").unwrap();
    let mut link = Link::default();
    link.open(&Target {
        address: Address::Unix("/nowhere".into()),
        credentials: Credentials::default(),
        options: Options {
            local_infile: true,
            compression: layers.0.then_some(Algorithm::Zlib),
            tls: tls.filter(|_| layers.1),
            ..Options::default()
        },
        connect_timeout: Duration::from_secs(1),
    });
    let mut far = Far::new(layers);
    let (mut out, mut sequence) = (Vec::new(), 2);
    link.hear(&framed(0, GREETING), &mut out, &mut Vec::new())
        .unwrap();
    if far.tls.is_some() {
        // The request for TLS has 36 bytes, and the handshake follows.
        out.drain(..36);
        sequence += 1;
        while far.tls.as_ref().unwrap().is_handshaking() {
            let records = far.shake(&std::mem::take(&mut out));
            link.hear(&records, &mut out, &mut Vec::new()).unwrap();
        }
        far.shake(&out);
    }
    let ok = far.encrypted(&framed(sequence, b"\0\0\0\x02\0\0\0"));
    assert_eq!(hear(&mut link, &ok), Ok(Heard::Opened));
    (link, far)
}

fn ask(link: &mut Link, packets: &[u8]) {
    link.expect(REQUEST, 1);
    link.seal(packets, &mut Vec::new()).unwrap();
}

const PING: &[u8] = b"\x01\0\0\0\x0e";

#[test]
fn nothing_may_come_after_an_answer() {
    for layers in LAYERS {
        for answer in [OK, FILE] {
            for late in [OK, SHUTDOWN] {
                let (mut link, mut far) = opened(layers);
                ask(&mut link, PING);
                let bytes = [far.say(1, answer), far.say(2, late)].concat();
                let error = hear(&mut link, &bytes).unwrap_err();
                let is_reason = matches!(error, WireError::Refused(why) if why.code == 1053);
                assert_eq!(is_reason, late == SHUTDOWN, "{layers:?}");
            }
        }
    }
}

#[test]
fn not_even_a_part_of_a_packet_may() {
    for layers in [(false, false), (true, false)] {
        for asked in [true, false] {
            for length in 1..OK.len() {
                let (mut link, mut far) = opened(layers);
                let mut bytes = Vec::new();
                if asked {
                    ask(&mut link, PING);
                    bytes = far.say(1, OK);
                }
                bytes.extend_from_slice(&far.say(2, OK)[..length]);
                assert!(hear(&mut link, &bytes).is_err(), "{layers:?} {length}");
            }
        }
    }
}

#[test]
fn of_more_answers_than_requests_the_last_is_refused() {
    for layers in LAYERS {
        let (mut link, mut far) = opened(layers);
        ask(&mut link, &PING.repeat(2));
        link.expect_more(true);
        let three = [far.say(1, OK), far.say(1, OK), far.say(1, OK)].concat();
        assert_eq!(hear(&mut link, &three), Ok(Heard::Answered(REQUEST)));
        let is_plain = layers == (false, false);
        assert_eq!(link.left_bytes(), if is_plain { 2 * OK.len() } else { 0 });
        link.expect(REQUEST, 1);
        link.expect_more(false);
        assert!(link.hear_left(&mut Vec::new()).is_err(), "{layers:?}");
        link.close();
        assert!(!link.has_left());
    }
}

/// A record that does not come whole is not looked at: it may be of TLS itself, which may send some
/// at any time.
#[test]
fn records_without_packets_may_come_after_an_answer() {
    for compressed in [true, false] {
        let (mut link, mut far) = opened((compressed, true));
        ask(&mut link, PING);
        let answer = far.say(1, OK);
        far.tls.as_mut().unwrap().refresh_traffic_keys().unwrap();
        let update = far.records();
        let (some, rest) = update.split_at(9);
        let heard = hear(&mut link, &[&answer, some].concat());
        assert_eq!(heard, Ok(Heard::Answered(REQUEST)));
        assert_eq!(hear(&mut link, rest), Ok(Heard::More));
        ask(&mut link, PING);
        let heard = hear(&mut link, &far.say(1, OK));
        assert_eq!(heard, Ok(Heard::Answered(REQUEST)));
    }
}

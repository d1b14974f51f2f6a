//! The TLS layer of one connection: records in, plaintext out, and back.
//!
//! rustls' unbuffered connection lets both ways go through buffers that the caller owns; only the
//! torn end of a record is kept per connection.

use std::fmt;

use rustls::client::UnbufferedClientConnection;
use rustls::unbuffered::{ConnectionState, EncodeError, EncryptError, UnbufferedStatus};
use rustls::{CertificateError, Error};

use crate::error::WireError;
use crate::mysql::tls::TlsConfig;

/// A record has at most 16 KB and its frame, a handshake message of several records 64 KB: torn
/// input is not longer.
const TORN_MAX: usize = 80 * 1024;
/// The bytes decrypted at once.
const PIECE_MAX: usize = 64 * 1024;
/// What a record adds to its plaintext, at most.
const RECORD_FRAME_MAX: usize = 64;
const RECORD_MAX: usize = 16 * 1024;

pub(super) struct Encryption {
    connection: UnbufferedClientConnection,
    /// The torn end of the received bytes.
    incoming: Vec<u8>,
    /// Records that must be sent before anything else: our half of a key update.
    owed: Vec<u8>,
    /// The handshake is over.
    ready: bool,
    closed: bool,
}

impl Encryption {
    /// Appends the first records to `socket`.
    pub fn start(config: &TlsConfig, socket: &mut Vec<u8>) -> Result<Self, WireError> {
        let client = std::sync::Arc::clone(&config.client);
        let connection = UnbufferedClientConnection::new(client, config.name.clone())
            .map_err(|why| blame(&why))?;
        let mut layer = Self {
            connection,
            incoming: Vec::new(),
            owed: Vec::new(),
            ready: false,
            closed: false,
        };
        layer.advance(None, &mut Vec::new())?;
        socket.append(&mut layer.owed);
        Ok(layer)
    }

    /// Takes bytes from the socket and appends their plaintext.
    pub fn open(&mut self, socket: &[u8], plain: &mut Vec<u8>) -> Result<(), WireError> {
        if self.closed && !socket.is_empty() {
            return Err(WireError::theirs("it sent data after the end of TLS"));
        }
        for piece in socket.chunks(PIECE_MAX) {
            self.incoming.extend_from_slice(piece);
            self.advance(None, plain)?;
            if self.incoming.len() > TORN_MAX {
                return Err(WireError::theirs("a TLS record that never ends"));
            }
        }
        Ok(())
    }

    /// Appends the records of `plain`.
    pub fn seal(&mut self, plain: &[u8], socket: &mut Vec<u8>) -> Result<(), WireError> {
        let mut heard = Vec::new();
        self.advance(Some(plain), &mut heard)?;
        if !self.ready || !heard.is_empty() {
            return Err(WireError::ours(
                "a command before the end of the TLS handshake",
            ));
        }
        socket.append(&mut self.owed);
        Ok(())
    }

    /// Appends the bytes that must be sent although no message is due. True: the handshake is over.
    pub fn settle(&mut self, socket: &mut Vec<u8>) -> bool {
        socket.append(&mut self.owed);
        self.ready
    }

    /// Runs the connection until it needs more bytes.
    fn advance(&mut self, say: Option<&[u8]>, heard: &mut Vec<u8>) -> Result<(), WireError> {
        let mut done = 0;
        let mut more = true;
        while more {
            let incoming = self.incoming.get_mut(done..).unwrap_or_default();
            let UnbufferedStatus { mut discard, state } =
                self.connection.process_tls_records(incoming);
            match state.map_err(|why| blame(&why))? {
                ConnectionState::ReadTraffic(mut traffic) => {
                    while let Some(record) = traffic.next_record() {
                        let record = record.map_err(|why| blame(&why))?;
                        heard.extend_from_slice(record.payload);
                        discard += record.discard;
                    }
                }
                ConnectionState::EncodeTlsData(mut data) => {
                    append(&mut self.owed, RECORD_MAX, |room| match data.encode(room) {
                        Ok(written) => Ok(written),
                        Err(EncodeError::InsufficientSize(wanted)) => {
                            Err(Some(wanted.required_size))
                        }
                        Err(EncodeError::AlreadyEncoded) => Err(None),
                    })?;
                }
                ConnectionState::TransmitTlsData(data) => data.done(),
                ConnectionState::WriteTraffic(mut traffic) => {
                    if let Some(plain) = say {
                        let frames = plain.len() / RECORD_MAX + 1;
                        let guess = plain.len() + frames * RECORD_FRAME_MAX;
                        append(&mut self.owed, guess, |room| {
                            match traffic.encrypt(plain, room) {
                                Ok(written) => Ok(written),
                                Err(EncryptError::InsufficientSize(wanted)) => {
                                    Err(Some(wanted.required_size))
                                }
                                Err(EncryptError::EncryptExhausted) => Err(None),
                            }
                        })?;
                    }
                    self.ready = true;
                    more = false;
                }
                ConnectionState::BlockedHandshake | ConnectionState::Closed => more = false,
                ConnectionState::PeerClosed => self.closed = true,
                _ => return Err(WireError::theirs("TLS data before its handshake")),
            }
            done += discard;
        }
        self.incoming.drain(..done.min(self.incoming.len()));
        if self.incoming.is_empty() && self.incoming.capacity() > 2 * RECORD_MAX {
            // Thousands of connections share the machine's memory.
            self.incoming = Vec::new();
        }
        Ok(())
    }
}

/// Appends the bytes that `write` puts into its buffer; it may ask once for more room.
fn append(
    out: &mut Vec<u8>,
    guess: usize,
    mut write: impl FnMut(&mut [u8]) -> Result<usize, Option<usize>>,
) -> Result<(), WireError> {
    let start = out.len();
    let mut room = guess;
    for _ in 0..2 {
        out.resize(start + room, 0);
        match write(out.get_mut(start..).unwrap_or_default()) {
            Ok(written) => {
                out.truncate(start + written);
                return Ok(());
            }
            Err(Some(wanted)) => room = wanted,
            Err(None) => break,
        }
    }
    out.truncate(start);
    Err(WireError::ours(
        "TLS cannot encrypt more data on this connection",
    ))
}

/// Translates an error of rustls into the terms of the plan.
fn blame(why: &Error) -> WireError {
    use CertificateError as C;
    match why {
        Error::InvalidCertificate(certificate) => WireError::Distrusted(match certificate {
            C::Expired | C::ExpiredContext { .. } => "it has expired".into(),
            C::NotValidYet | C::NotValidYetContext { .. } => "it is not valid yet".into(),
            C::UnknownIssuer | C::BadSignature => "tls.ca did not sign it".into(),
            C::NotValidForName | C::NotValidForNameContext { .. } => {
                format!("it is for another host ({certificate})")
            }
            other => other.to_string(),
        }),
        Error::AlertReceived(alert) => {
            WireError::theirs(format!("it ended TLS with the alert {alert:?}"))
        }
        other => WireError::theirs(format!("TLS failed: {other}")),
    }
}

impl fmt::Debug for Encryption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Encryption")
            .field("closed", &self.closed)
            .finish_non_exhaustive()
    }
}

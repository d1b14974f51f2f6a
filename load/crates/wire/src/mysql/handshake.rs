//! From the greeting to the open session: packets in, packets out.
//!
//! ```text
//! Greeting ──▶ [Tls ──▶] Proof ──▶ OK
//!                         │  ▲
//!                         └──┘  plugin switch, more data
//! ```

use std::sync::Arc;

use super::auth::{Consent, Plugin, Secret};
use super::channel::{Algorithm, ZSTD_LEVEL};
use super::charset::Charset;
use super::cursor::{Cursor, put_lenenc, put_lenenc_bytes};
use super::frame::put_packet;
use super::greeting::Greeting;
use super::tls::TlsConfig;
use crate::mysql::auth;
use crate::{Capabilities, Credentials, Flavour, ServerError, WireError};

/// A server that keeps asking is not a server.
const ROUNDS_MAX: u32 = 16;

/// Largest packet we announce to take: the protocol's own largest.
const PACKET_MAX: u32 = 1 << 30;

/// What we want of the session.
#[derive(Clone, Debug)]
pub struct Options {
    pub database: Option<String>,
    pub charset: Charset,
    /// The transport is a Unix socket: a password may cross it.
    pub unix_socket: bool,
    /// Let the server ask for local files.
    pub local_infile: bool,
    /// Several statements in one query.
    pub multi_statements: bool,
    /// Result sets end with an OK packet, and no EOF packet follows the columns.
    pub deprecate_eof: bool,
    /// MariaDB: a prepared statement's metadata is sent once, not with every result.
    pub cache_metadata: bool,
    pub compression: Option<Algorithm>,
    /// None: never encrypt.
    pub tls: Option<Arc<TlsConfig>>,
    pub consent: Consent,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            database: None,
            charset: Charset::UTF8MB4,
            unix_socket: false,
            local_infile: false,
            multi_statements: true,
            deprecate_eof: true,
            cache_metadata: false,
            compression: None,
            tls: None,
            consent: Consent::default(),
        }
    }
}

/// The facts agreed when the session opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Agreed {
    pub server_version: String,
    pub flavour: Flavour,
    pub connection_id: u32,
    /// What both ends do. Give it to [`super::answer::AnswerReader::new`].
    pub capabilities: Capabilities,
}

/// The action after a packet.
#[derive(Clone, Debug)]
pub enum HandshakeStep {
    /// Send the appended bytes, if any, and wait for the next packet.
    Continue,
    /// Send the appended bytes, encrypt, then call [`Handshake::encrypted`].
    Encrypt(Arc<TlsConfig>),
    /// The session is open.
    Done(Agreed),
}

/// Attributes that name us in `performance_schema` and in MariaDB's audit log.
const ATTRIBUTES: [(&str, &str); 3] = [
    ("_client_name", "contend-load"),
    ("_client_version", env!("CARGO_PKG_VERSION")),
    ("program_name", "contend-load"),
];

/// The state of one login.
pub struct Handshake {
    credentials: Credentials,
    options: Options,
    greeting: Option<Greeting>,
    capabilities: Capabilities,
    plugin: Option<Box<dyn Plugin>>,
    encrypted: bool,
    rounds: u32,
}

impl Handshake {
    pub fn new(credentials: Credentials, options: Options) -> Self {
        Self {
            credentials,
            options,
            greeting: None,
            capabilities: Capabilities::NONE,
            plugin: None,
            encrypted: false,
            rounds: 0,
        }
    }

    /// Takes one packet of the server and appends our answer, numbered `sequence`, to `out`.
    pub fn advance(
        &mut self,
        payload: &[u8],
        sequence: u8,
        out: &mut Vec<u8>,
    ) -> Result<HandshakeStep, WireError> {
        self.rounds += 1;
        if self.rounds > ROUNDS_MAX {
            return Err(WireError::theirs("its login never ends"));
        }
        let Some(greeting) = &self.greeting else {
            let greeting = Greeting::parse(payload)?;
            self.agree(&greeting)?;
            if let Some(tls) = self.tls_to_begin(&greeting)? {
                self.capabilities = self.capabilities | Capabilities::SSL;
                put_packet(out, sequence, |out| self.put_head(out));
                self.greeting = Some(greeting);
                return Ok(HandshakeStep::Encrypt(tls));
            }
            self.respond(&greeting, sequence, out)?;
            self.greeting = Some(greeting);
            return Ok(HandshakeStep::Continue);
        };
        if self.plugin.is_none() {
            return Err(WireError::theirs("a login packet before encryption is on"));
        }
        match payload.first() {
            Some(0x00) => Ok(HandshakeStep::Done(Agreed {
                server_version: greeting.server_version.clone(),
                flavour: greeting.flavour,
                connection_id: greeting.connection_id,
                capabilities: self.capabilities,
            })),
            Some(0xff) => Err(WireError::Refused(ServerError::parse(payload)?)),
            Some(0xfe) => self.switch(payload, sequence, out),
            // Data for the plugin: marked with 1 by MySQL always, by MariaDB where it must.
            Some(0x01) => self.more(payload.get(1..).unwrap_or_default(), sequence, out),
            Some(_) => self.more(payload, sequence, out),
            None => Err(WireError::theirs("an empty packet inside the login")),
        }
    }

    /// Encryption is on: appends the response, numbered `sequence`.
    pub fn encrypted(&mut self, sequence: u8, out: &mut Vec<u8>) -> Result<(), WireError> {
        let Some(greeting) = self.greeting.take() else {
            return Err(WireError::ours("encryption before the greeting"));
        };
        self.encrypted = true;
        let responded = self.respond(&greeting, sequence, out);
        self.greeting = Some(greeting);
        responded
    }

    fn is_verified(&self) -> bool {
        let tls = self.options.tls.as_ref();
        tls.is_some_and(|tls| tls.verifies_identity)
    }

    fn secret(&self) -> Secret<'_> {
        Secret {
            password: self.credentials.password.as_bytes(),
            secure: self.options.unix_socket || self.encrypted && self.is_verified(),
            encrypted: self.encrypted,
            consent: &self.options.consent,
        }
    }

    /// Answers the greeting: capabilities, user, proof, database, attributes.
    fn respond(
        &mut self,
        greeting: &Greeting,
        sequence: u8,
        out: &mut Vec<u8>,
    ) -> Result<(), WireError> {
        let (name, mut plugin) = match auth::plugin(&greeting.plugin) {
            Some(plugin) => (&greeting.plugin[..], plugin),
            None => (auth::FALLBACK, fallback()?),
        };
        let proof = plugin.answer(self.secret(), &greeting.nonce)?;
        self.plugin = Some(plugin);
        put_packet(out, sequence, |out| self.put_response(out, name, &proof));
        Ok(())
    }

    /// Settles the capabilities that both ends use.
    fn agree(&mut self, greeting: &Greeting) -> Result<(), WireError> {
        self.capabilities = self.wanted() & greeting.capabilities;
        let (asked, name) = match self.options.compression {
            None => return Ok(()),
            Some(Algorithm::Zlib) => (Capabilities::COMPRESS, "zlib"),
            Some(Algorithm::Zstd) => (Capabilities::ZSTD_COMPRESSION, "zstd"),
        };
        if !self.capabilities.has(asked) {
            return Err(WireError::ours(format!(
                "the server offers no {name} compression; set a different one, or none"
            )));
        }
        Ok(())
    }

    /// The TLS settings, where encryption is to begin now.
    fn tls_to_begin(&self, greeting: &Greeting) -> Result<Option<Arc<TlsConfig>>, WireError> {
        let Some(tls) = &self.options.tls else {
            return Ok(None);
        };
        let offered = greeting.capabilities.has(Capabilities::SSL);
        match (tls.is_required, offered) {
            (true, false) => Err(WireError::ours(
                "the server offers no TLS; enable it there, or set tls.mode to disabled",
            )),
            (true, true) => Ok(Some(Arc::clone(tls))),
            // No third party can listen on a Unix socket, so preferring TLS does not mean it there.
            (false, offered) => Ok((offered && !self.options.unix_socket).then(|| Arc::clone(tls))),
        }
    }

    fn wanted(&self) -> Capabilities {
        use Capabilities as C;
        let options = &self.options;
        C::MYSQL
            | C::LONG_FLAG
            | C::PROTOCOL_41
            | C::TRANSACTIONS
            | C::SECURE_CONNECTION
            | C::MULTI_RESULTS
            | C::PS_MULTI_RESULTS
            | C::PLUGIN_AUTH
            | C::CONNECT_ATTRS
            | C::PLUGIN_AUTH_LENENC
            | C::MARIADB_STMT_BULK
            | C::CONNECT_WITH_DB.when(options.database.is_some())
            | C::LOCAL_FILES.when(options.local_infile)
            | C::MULTI_STATEMENTS.when(options.multi_statements)
            | C::DEPRECATE_EOF.when(options.deprecate_eof)
            | C::MARIADB_CACHE_METADATA.when(options.cache_metadata)
            | C::COMPRESS.when(options.compression == Some(Algorithm::Zlib))
            | C::ZSTD_COMPRESSION.when(options.compression == Some(Algorithm::Zstd))
    }

    /// The head that the TLS request and the response share.
    fn put_head(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.capabilities.low().to_le_bytes());
        out.extend_from_slice(&PACKET_MAX.to_le_bytes());
        out.push(self.options.charset.number());
        out.extend_from_slice(&[0; 19]);
        out.extend_from_slice(&self.capabilities.high().to_le_bytes());
    }

    fn put_response(&self, out: &mut Vec<u8>, plugin: &[u8], proof: &[u8]) {
        let agreed = self.capabilities;
        self.put_head(out);
        put_terminated(out, self.credentials.user.as_bytes());
        if agreed.has(Capabilities::PLUGIN_AUTH_LENENC) {
            put_lenenc_bytes(out, proof);
        } else {
            // A proof without the lenenc form is a hash of at most 32 bytes.
            out.push(proof.len().min(255) as u8);
            out.extend_from_slice(proof.get(..255).unwrap_or(proof));
        }
        if agreed.has(Capabilities::CONNECT_WITH_DB) {
            put_terminated(
                out,
                self.options.database.as_deref().unwrap_or("").as_bytes(),
            );
        }
        if agreed.has(Capabilities::PLUGIN_AUTH) {
            put_terminated(out, plugin);
        }
        if agreed.has(Capabilities::CONNECT_ATTRS) {
            let mut attributes = Vec::new();
            for (name, value) in ATTRIBUTES {
                put_lenenc_bytes(&mut attributes, name.as_bytes());
                put_lenenc_bytes(&mut attributes, value.as_bytes());
            }
            put_lenenc(out, attributes.len() as u64);
            out.extend_from_slice(&attributes);
        }
        if agreed.has(Capabilities::ZSTD_COMPRESSION) {
            out.push(ZSTD_LEVEL);
        }
    }

    /// The server wants a different plugin.
    fn switch(
        &mut self,
        payload: &[u8],
        sequence: u8,
        out: &mut Vec<u8>,
    ) -> Result<HandshakeStep, WireError> {
        let mut cursor = Cursor::new(payload);
        cursor.u8("plugin switch")?;
        if cursor.is_empty() {
            return Err(WireError::ours(
                "the server asks for the login of MySQL 3.23, which is not supported",
            ));
        }
        let name = cursor.until_nul("plugin name")?;
        let nonce = cursor.rest();
        let nonce = nonce.strip_suffix(&[0]).unwrap_or(nonce);
        let Some(mut plugin) = auth::plugin(name) else {
            return Err(WireError::ours(format!(
                "the server asks user {:?} to log in by {:?}, which is not supported",
                self.credentials.user,
                String::from_utf8_lossy(name.get(..64).unwrap_or(name))
            )));
        };
        let proof = plugin.answer(self.secret(), nonce)?;
        self.plugin = Some(plugin);
        put_packet(out, sequence, |out| out.extend_from_slice(&proof));
        Ok(HandshakeStep::Continue)
    }

    fn more(
        &mut self,
        data: &[u8],
        sequence: u8,
        out: &mut Vec<u8>,
    ) -> Result<HandshakeStep, WireError> {
        let Some(mut plugin) = self.plugin.take() else {
            return Err(WireError::theirs("login data before its greeting"));
        };
        let answer = plugin.more(self.secret(), data)?;
        self.plugin = Some(plugin);
        if let Some(answer) = answer {
            put_packet(out, sequence, |out| out.extend_from_slice(&answer));
        }
        Ok(HandshakeStep::Continue)
    }
}

fn fallback() -> Result<Box<dyn Plugin>, WireError> {
    auth::plugin(auth::FALLBACK).ok_or_else(|| WireError::ours("no fallback login plugin"))
}

/// Strings of this packet end with a NUL, so one inside would shift all that follows.
fn put_terminated(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend(bytes.iter().filter(|byte| **byte != 0));
    out.push(0);
}

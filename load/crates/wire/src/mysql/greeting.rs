//! The server's first packet: its identity, its capabilities, and the nonce of the login.

use super::cursor::Cursor;
use crate::{Capabilities, Flavour, ServerError, WireError};

/// MariaDB once put this before its version so that old replicas would take it for version 5.5.
const REPLICATION_PREFIX: &str = "5.5.5-";
const VERSION_MAX: usize = 256;

/// Protocol version 10, the only one since MySQL 3.21.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Greeting {
    /// As the server states it, without MariaDB's replication prefix.
    pub server_version: String,
    pub flavour: Flavour,
    pub connection_id: u32,
    pub capabilities: Capabilities,
    pub nonce: Vec<u8>,
    /// The login plugin that the server would like; empty if it named none.
    pub plugin: Vec<u8>,
}

impl Greeting {
    /// Reads the greeting, or the error that a full server sends instead.
    pub fn parse(payload: &[u8]) -> Result<Self, WireError> {
        let mut cursor = Cursor::new(payload);
        match cursor.u8("greeting")? {
            10 => {}
            0xff => return Err(WireError::Refused(ServerError::parse(payload)?)),
            other => {
                return Err(WireError::theirs(format!(
                    "its protocol version is {other}; that of a MySQL or MariaDB server is 10"
                )));
            }
        }
        let version = String::from_utf8_lossy(cursor.until_nul("server version")?).into_owned();
        if version.len() > VERSION_MAX {
            return Err(WireError::theirs("a server version that is too long"));
        }
        let connection_id = cursor.u32("connection id")?;
        let mut nonce = cursor.bytes(8, "nonce")?.to_vec();
        cursor.u8("filler")?;
        let mut flags = u64::from(cursor.u16("capabilities")?);
        cursor.u8("character set")?;
        cursor.u16("status flags")?;
        flags |= u64::from(cursor.u16("capabilities")?) << 16;
        let nonce_length = cursor.u8("nonce length")?;
        cursor.bytes(6, "filler")?;
        let extended = u64::from(cursor.u32("extended capabilities")?);
        // A server without the MYSQL flag is MariaDB, and uses the last filler bytes.
        if !Capabilities(flags).has(Capabilities::MYSQL) {
            flags |= extended << 32;
        }
        let capabilities = Capabilities(flags);
        if !capabilities.has(Capabilities::PROTOCOL_41 | Capabilities::SECURE_CONNECTION) {
            return Err(WireError::theirs(
                "a server older than MySQL 4.1 is not supported",
            ));
        }
        let second_part = usize::from(nonce_length).saturating_sub(8).max(13);
        let second_part = cursor.bytes(second_part.min(cursor.rest().len()), "nonce")?;
        nonce.extend_from_slice(second_part.strip_suffix(&[0]).unwrap_or(second_part));
        if nonce.len() < 20 {
            return Err(WireError::theirs("a nonce of fewer than 20 bytes"));
        }
        let plugin = if capabilities.has(Capabilities::PLUGIN_AUTH) {
            // One old server line forgot the NUL after the name.
            cursor
                .until_nul("plugin name")
                .unwrap_or(cursor.rest())
                .to_vec()
        } else {
            Vec::new()
        };
        let flavour = if !capabilities.has(Capabilities::MYSQL)
            || version.to_ascii_lowercase().contains("mariadb")
        {
            Flavour::MariaDb
        } else {
            Flavour::MySql
        };
        let server_version = version
            .strip_prefix(REPLICATION_PREFIX)
            .map_or(version.clone(), str::to_owned);
        Ok(Self {
            server_version,
            flavour,
            connection_id,
            capabilities,
            nonce,
            plugin,
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::mysql::frame::HEADER_BYTES;
    use crate::mysql::testing::GREETINGS;

    #[test]
    fn real_servers_are_understood() {
        for (server, frame) in GREETINGS {
            let greeting = Greeting::parse(&frame[HEADER_BYTES..]).unwrap();
            let (family, version) = server.split_once(' ').unwrap();
            assert!(greeting.server_version.starts_with(version), "{greeting:?}");
            assert_eq!(greeting.flavour == Flavour::MariaDb, family == "MariaDB");
            assert_eq!(greeting.nonce.len(), 20);
            let (plugin, bulk) = match greeting.flavour {
                Flavour::MariaDb => (&b"mysql_native_password"[..], true),
                Flavour::MySql => (&b"caching_sha2_password"[..], false),
            };
            assert_eq!(greeting.plugin, plugin);
            assert_eq!(
                greeting.capabilities.has(Capabilities::MARIADB_STMT_BULK),
                bulk
            );
            assert!(
                greeting
                    .capabilities
                    .has(Capabilities::DEPRECATE_EOF | Capabilities::SSL)
            );
        }
    }

    #[test]
    fn a_torn_greeting_is_refused_or_has_a_shorter_plugin() {
        for (_, frame) in GREETINGS {
            let whole = &frame[HEADER_BYTES..];
            for length in 0..whole.len() {
                if let Ok(greeting) = Greeting::parse(&whole[..length]) {
                    assert!(greeting.nonce.len() == 20 && length > whole.len() - 24);
                }
            }
        }
    }

    #[test]
    fn what_is_no_server_is_told_so() {
        for rubbish in [
            &b"SSH-2.0-OpenSSH_9.2\r\n"[..],
            b"HTTP/1.1 400 Bad Request",
            b"\x09old\0",
            b"",
        ] {
            assert!(matches!(
                Greeting::parse(rubbish),
                Err(WireError::Theirs(_))
            ));
        }
    }
}

//! Capability flags: features that both ends of a connection can and will use.
//!
//! The low 32 bits are common to both server families, the high 32 are MariaDB's own.

use crate::common::Capabilities;

impl Capabilities {
    /// MySQL's name is LONG_PASSWORD. A server that does not set it is MariaDB and has the
    /// extended capabilities.
    pub const MYSQL: Self = Self(1);
    pub const LONG_FLAG: Self = Self(1 << 2);
    pub const CONNECT_WITH_DB: Self = Self(1 << 3);
    pub const COMPRESS: Self = Self(1 << 5);
    pub const LOCAL_FILES: Self = Self(1 << 7);
    pub const PROTOCOL_41: Self = Self(1 << 9);
    pub const SSL: Self = Self(1 << 11);
    pub const TRANSACTIONS: Self = Self(1 << 13);
    pub const SECURE_CONNECTION: Self = Self(1 << 15);
    pub const MULTI_STATEMENTS: Self = Self(1 << 16);
    pub const MULTI_RESULTS: Self = Self(1 << 17);
    pub const PS_MULTI_RESULTS: Self = Self(1 << 18);
    pub const PLUGIN_AUTH: Self = Self(1 << 19);
    pub const CONNECT_ATTRS: Self = Self(1 << 20);
    pub const PLUGIN_AUTH_LENENC: Self = Self(1 << 21);
    pub const DEPRECATE_EOF: Self = Self(1 << 24);
    pub const ZSTD_COMPRESSION: Self = Self(1 << 26);
    pub const MARIADB_STMT_BULK: Self = Self(1 << 34);
    pub const MARIADB_CACHE_METADATA: Self = Self(1 << 36);

    /// True where packets travel in compressed packets.
    pub fn is_compressed(self) -> bool {
        self.has(Self::COMPRESS) || self.has(Self::ZSTD_COMPRESSION)
    }

    /// The low half, as both families write it.
    pub fn low(self) -> u32 {
        self.0 as u32
    }

    /// MariaDB's half.
    pub fn high(self) -> u32 {
        (self.0 >> 32) as u32
    }
}

/// Flags of the server's status word, in OK and EOF packets.
pub mod status {
    pub const AUTOCOMMIT: u16 = 1 << 1;
    pub const MORE_RESULTS: u16 = 1 << 3;
    pub const OUT_PARAMETERS: u16 = 1 << 12;
}

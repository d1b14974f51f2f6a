//! Packets of real servers, taken from their Unix sockets: tests compare this module with them.
//!
//! Each answers the commands named next to it, to a session that asked for cached metadata and
//! local files. The table had the columns `id INT` and `v VARCHAR(5)` and three rows.

use super::answer::ReplyForm;
use crate::Capabilities;

/// One answer.
pub(super) struct Captured {
    pub server: &'static str,
    pub command: &'static str,
    /// The capabilities that this session had agreed on.
    pub capabilities: Capabilities,
    pub reply: ReplyForm,
    pub rows: u64,
    pub results: u32,
    pub error: Option<u16>,
    pub bytes: &'static [u8],
}

/// Greetings, in frames: server and bytes.
pub(super) const GREETINGS: [(&str, &[u8]); 3] = [
    (
        "MariaDB 10.11.19",
        b"d\0\0\0\n5.5.5-10.11.19-MariaDB-0+deb12u1\0!\0\0\0MBEq+~\\3\0\xfe\xff\x08\x02\0\
        \xff\x81\x15\0\0\0\0\0\0\x1d\0\0\0(ljQ3Mg@H,@;\0mysql_native_password\0",
    ),
    (
        "MariaDB 11.8.6",
        b"h\0\0\0\n11.8.6-MariaDB-0+deb13u1 from Debian\0'\0\0\0(<41:k0L\0\xfe\xff-\x02\0\
        \xff\x81\x15\0\0\0\0\0\0=\0\0\0l\\hw=hr(i[j'\0mysql_native_password\0",
    ),
    (
        "MySQL 9.7.4",
        b"K\0\0\0\n9.7.4-2\0,\0\0\0M)&G,\x03\x1au\0\xff\xff\xff\x02\0\xff\xdf\x15\0\0\0\0\
        \0\0\0\0\0\0'\x05\x1dR(\x0d8\x16\x07\x01\x1d\x14\0caching_sha2_password\0",
    ),
];

pub(super) const ANSWERS: [Captured; 31] = [
    Captured {
        server: "MariaDB 10.11.19",
        command: "SELECT id, v FROM cap",
        capabilities: Capabilities(0x14003fa284),
        reply: ReplyForm::Results,
        rows: 3,
        results: 1,
        error: None,
        bytes: b"\x02\0\0\x01\x02\x01$\0\0\x02\x03def\x04test\x03cap\x03cap\x02id\x02id\x0c?\0\
        \x0b\0\0\0\x03\x03B\0\0\0\"\0\0\x03\x03def\x04test\x03cap\x03cap\x01v\x01v\x0c-\
        \0\x14\0\0\0\xfd\0\0\0\0\0\x05\0\0\x04\xfe\0\0\"\0\x06\0\0\x05\x011\x03one\x08\0\
        \0\x06\x012\x05much \x03\0\0\x07\x013\xfb\x05\0\0\x08\xfe\0\0\"\0",
    },
    Captured {
        server: "MariaDB 10.11.19",
        command: "execute SELECT id, v FROM cap WHERE id <= ?",
        capabilities: Capabilities(0x14003fa284),
        reply: ReplyForm::Results,
        rows: 3,
        results: 1,
        error: None,
        bytes: b"\x02\0\0\x01\x02\0\x05\0\0\x02\xfe\0\0\x02\0\n\0\0\x03\0\0\x01\0\0\0\x03one\x0c\
        \0\0\x04\0\0\x02\0\0\0\x05much \x06\0\0\x05\0\x08\x03\0\0\0\x05\0\0\x06\xfe\0\0\
        \x02\0",
    },
    Captured {
        server: "MariaDB 10.11.19",
        command: "execute SELECT id, v FROM cap WHERE id <= ?",
        capabilities: Capabilities(0x14013fa284),
        reply: ReplyForm::Results,
        rows: 3,
        results: 1,
        error: None,
        bytes: b"\x02\0\0\x01\x02\0\n\0\0\x02\0\0\x01\0\0\0\x03one\x0c\0\0\x03\0\0\x02\0\0\0\x05m\
        uch \x06\0\0\x04\0\x08\x03\0\0\0\x07\0\0\x05\xfe\0\0\x02\0\0\0",
    },
    Captured {
        server: "MariaDB 11.8.6",
        command: "INSERT INTO cap (v) VALUES ('one'), ('much too long'), (NULL)",
        capabilities: Capabilities(0x14003fa284),
        reply: ReplyForm::Results,
        rows: 0,
        results: 1,
        error: None,
        bytes: b".\0\0\x01\0\x03\x01\x02\0\x01\0&Records: 3  Duplicates: 0  Warnings: 1",
    },
    Captured {
        server: "MariaDB 11.8.6",
        command: "SELECT id, v FROM cap",
        capabilities: Capabilities(0x14003fa284),
        reply: ReplyForm::Results,
        rows: 3,
        results: 1,
        error: None,
        bytes: b"\x02\0\0\x01\x02\x01$\0\0\x02\x03def\x04test\x03cap\x03cap\x02id\x02id\x0c?\0\
        \x0b\0\0\0\x03\x03B\0\0\0\"\0\0\x03\x03def\x04test\x03cap\x03cap\x01v\x01v\x0c\
        \xe0\0\x14\0\0\0\xfd\0\0\0\0\0\x05\0\0\x04\xfe\0\0\"\0\x06\0\0\x05\x011\x03one\
        \x08\0\0\x06\x012\x05much \x03\0\0\x07\x013\xfb\x05\0\0\x08\xfe\0\0\"\0",
    },
    Captured {
        server: "MariaDB 11.8.6",
        command: "SELECT v FROM cap WHERE id = 99",
        capabilities: Capabilities(0x14003fa284),
        reply: ReplyForm::Results,
        rows: 0,
        results: 1,
        error: None,
        bytes: b"\x02\0\0\x01\x01\x01\"\0\0\x02\x03def\x04test\x03cap\x03cap\x01v\x01v\x0c\xe0\0\
        \x14\0\0\0\xfd\0\0\0\0\0\x05\0\0\x03\xfe\0\0\x02\0\x05\0\0\x04\xfe\0\0\x02\0",
    },
    Captured {
        server: "MariaDB 11.8.6",
        command: "SELEC",
        capabilities: Capabilities(0x14003fa284),
        reply: ReplyForm::Results,
        rows: 0,
        results: 0,
        error: Some(1064),
        bytes: b"\xa2\0\0\x01\xff(\x04#42000You have an error in your SQL syntax; check the manua\
        l that corresponds to your MariaDB server version for the right syntax to use ne\
        ar 'SELEC' at line 1",
    },
    Captured {
        server: "MariaDB 11.8.6",
        command: "DO 1; SELECT id FROM cap LIMIT 1; SELECT no_such",
        capabilities: Capabilities(0x14003fa284),
        reply: ReplyForm::Results,
        rows: 1,
        results: 2,
        error: Some(1054),
        bytes: b"\x07\0\0\x01\0\0\0\n\0\0\0\x02\0\0\x02\x01\x01$\0\0\x03\x03def\x04test\x03cap\
        \x03cap\x02id\x02id\x0c?\0\x0b\0\0\0\x03\x03B\0\0\0\x05\0\0\x04\xfe\0\0*\0\x02\0\
        \0\x05\x011\x05\0\0\x06\xfe\0\0*\0-\0\0\x07\xff\x1e\x04#42S22Unknown column 'no_\
        such' in 'SELECT'",
    },
    Captured {
        server: "MariaDB 11.8.6",
        command: "CALL cap_p(@x)",
        capabilities: Capabilities(0x14003fa284),
        reply: ReplyForm::Results,
        rows: 1,
        results: 2,
        error: None,
        bytes: b"\x02\0\0\x01\x01\x01\x17\0\0\x02\x03def\0\0\0\x01a\0\x0c?\0\x01\0\0\0\x03\x81\0\
        \0\0\0\x05\0\0\x03\xfe\0\0\n\0\x02\0\0\x04\x011\x05\0\0\x05\xfe\0\0\n\0\x07\0\0\
        \x06\0\0\0\x02\0\0\0",
    },
    Captured {
        server: "MariaDB 11.8.6",
        command: "prepare SELECT id, v FROM cap WHERE id <= ?",
        capabilities: Capabilities(0x14003fa284),
        reply: ReplyForm::Prepare,
        rows: 0,
        results: 0,
        error: None,
        bytes: b"\x0c\0\0\x01\0\x01\0\0\0\x02\0\x01\0\0\0\0\x17\0\0\x02\x03def\0\0\0\x01?\0\x0c?\
        \0\0\0\0\0\x06\x80\0\0\0\0\x05\0\0\x03\xfe\0\0\x02\0$\0\0\x04\x03def\x04test\x03\
        cap\x03cap\x02id\x02id\x0c?\0\x0b\0\0\0\x03\x03B\0\0\0\"\0\0\x05\x03def\x04test\
        \x03cap\x03cap\x01v\x01v\x0c\xe0\0\x14\0\0\0\xfd\0\0\0\0\0\x05\0\0\x06\xfe\0\0\
        \x02\0",
    },
    Captured {
        server: "MariaDB 11.8.6",
        command: "execute SELECT id, v FROM cap WHERE id <= ?",
        capabilities: Capabilities(0x14003fa284),
        reply: ReplyForm::Results,
        rows: 3,
        results: 1,
        error: None,
        bytes: b"\x02\0\0\x01\x02\0\x05\0\0\x02\xfe\0\0\x02\0\n\0\0\x03\0\0\x01\0\0\0\x03one\x0c\
        \0\0\x04\0\0\x02\0\0\0\x05much \x06\0\0\x05\0\x08\x03\0\0\0\x05\0\0\x06\xfe\0\0\
        \x02\0",
    },
    Captured {
        server: "MariaDB 11.8.6",
        command: "execute CALL cap_p(?)",
        capabilities: Capabilities(0x14003fa284),
        reply: ReplyForm::Results,
        rows: 2,
        results: 3,
        error: None,
        bytes: b"\x02\0\0\x01\x01\x01\x17\0\0\x02\x03def\0\0\0\x01a\0\x0c?\0\x01\0\0\0\x03\x81\0\
        \0\0\0\x05\0\0\x03\xfe\0\0\n\0\x06\0\0\x04\0\0\x01\0\0\0\x05\0\0\x05\xfe\0\0\n\0\
        \x02\0\0\x06\x01\x01&\0\0\x07\x03def\x04test\x05cap_p\x05cap_p\x01x\x01x\x0c?\0\
        \x0b\0\0\0\x03\0\0\0\0\0\x05\0\0\x08\xfe\0\0\n\x10\x06\0\0\x09\0\0\x05\0\0\0\x05\
        \0\0\n\xfe\0\0\n\x10\x07\0\0\x0b\0\0\0\x02\0\0\0",
    },
    Captured {
        server: "MariaDB 11.8.6",
        command: "SELECT id, v FROM cap",
        capabilities: Capabilities(0x14013fa284),
        reply: ReplyForm::Results,
        rows: 3,
        results: 1,
        error: None,
        bytes: b"\x02\0\0\x01\x02\x01$\0\0\x02\x03def\x04test\x03cap\x03cap\x02id\x02id\x0c?\0\
        \x0b\0\0\0\x03\x03B\0\0\0\"\0\0\x03\x03def\x04test\x03cap\x03cap\x01v\x01v\x0c\
        \xe0\0\x14\0\0\0\xfd\0\0\0\0\0\x06\0\0\x04\x011\x03one\x08\0\0\x05\x012\x05much \
        \x03\0\0\x06\x013\xfb\x07\0\0\x07\xfe\0\0\"\0\0\0",
    },
    Captured {
        server: "MariaDB 11.8.6",
        command: "DO 1; SELECT id FROM cap LIMIT 1; SELECT no_such",
        capabilities: Capabilities(0x14013fa284),
        reply: ReplyForm::Results,
        rows: 1,
        results: 2,
        error: Some(1054),
        bytes: b"\x07\0\0\x01\0\0\0\n\0\0\0\x02\0\0\x02\x01\x01$\0\0\x03\x03def\x04test\x03cap\
        \x03cap\x02id\x02id\x0c?\0\x0b\0\0\0\x03\x03B\0\0\0\x02\0\0\x04\x011\x07\0\0\x05\
        \xfe\0\0*\0\0\0-\0\0\x06\xff\x1e\x04#42S22Unknown column 'no_such' in 'SELECT'",
    },
    Captured {
        server: "MariaDB 11.8.6",
        command: "prepare SELECT id, v FROM cap WHERE id <= ?",
        capabilities: Capabilities(0x14013fa284),
        reply: ReplyForm::Prepare,
        rows: 0,
        results: 0,
        error: None,
        bytes: b"\x0c\0\0\x01\0\x01\0\0\0\x02\0\x01\0\0\0\0\x17\0\0\x02\x03def\0\0\0\x01?\0\x0c?\
        \0\0\0\0\0\x06\x80\0\0\0\0$\0\0\x03\x03def\x04test\x03cap\x03cap\x02id\x02id\x0c\
        ?\0\x0b\0\0\0\x03\x03B\0\0\0\"\0\0\x04\x03def\x04test\x03cap\x03cap\x01v\x01v\
        \x0c\xe0\0\x14\0\0\0\xfd\0\0\0\0\0",
    },
    Captured {
        server: "MariaDB 11.8.6",
        command: "execute SELECT id, v FROM cap WHERE id <= ?",
        capabilities: Capabilities(0x14013fa284),
        reply: ReplyForm::Results,
        rows: 3,
        results: 1,
        error: None,
        bytes: b"\x02\0\0\x01\x02\0\n\0\0\x02\0\0\x01\0\0\0\x03one\x0c\0\0\x03\0\0\x02\0\0\0\x05m\
        uch \x06\0\0\x04\0\x08\x03\0\0\0\x07\0\0\x05\xfe\0\0\x02\0\0\0",
    },
    Captured {
        server: "MariaDB 11.8.6",
        command: "execute CALL cap_p(?)",
        capabilities: Capabilities(0x14013fa284),
        reply: ReplyForm::Results,
        rows: 2,
        results: 3,
        error: None,
        bytes: b"\x02\0\0\x01\x01\x01\x17\0\0\x02\x03def\0\0\0\x01a\0\x0c?\0\x01\0\0\0\x03\x81\0\
        \0\0\0\x06\0\0\x03\0\0\x01\0\0\0\x07\0\0\x04\xfe\0\0\n\0\0\0\x02\0\0\x05\x01\x01\
        &\0\0\x06\x03def\x04test\x05cap_p\x05cap_p\x01x\x01x\x0c?\0\x0b\0\0\0\x03\0\0\0\
        \0\0\x06\0\0\x07\0\0\x05\0\0\0\x07\0\0\x08\xfe\0\0\n\x10\0\0\x07\0\0\x09\0\0\0\
        \x02\0\0\0",
    },
    Captured {
        server: "MySQL 9.7.4",
        command: "INSERT INTO cap (v) VALUES ('one'), ('much too long'), (NULL)",
        capabilities: Capabilities(0x3fa285),
        reply: ReplyForm::Results,
        rows: 0,
        results: 1,
        error: None,
        bytes: b".\0\0\x01\0\x03\x01\x02\0\x01\0&Records: 3  Duplicates: 0  Warnings: 1",
    },
    Captured {
        server: "MySQL 9.7.4",
        command: "SELECT id, v FROM cap",
        capabilities: Capabilities(0x3fa285),
        reply: ReplyForm::Results,
        rows: 3,
        results: 1,
        error: None,
        bytes: b"\x01\0\0\x01\x02$\0\0\x02\x03def\x04test\x03cap\x03cap\x02id\x02id\x0c?\0\x0b\0\
        \0\0\x03\x03B\0\0\0\"\0\0\x03\x03def\x04test\x03cap\x03cap\x01v\x01v\x0c-\0\x14\
        \0\0\0\xfd\0\0\0\0\0\x05\0\0\x04\xfe\0\0\"\0\x06\0\0\x05\x011\x03one\x08\0\0\x06\
        \x012\x05much \x03\0\0\x07\x013\xfb\x05\0\0\x08\xfe\0\0\"\0",
    },
    Captured {
        server: "MySQL 9.7.4",
        command: "SELECT v FROM cap WHERE id = 99",
        capabilities: Capabilities(0x3fa285),
        reply: ReplyForm::Results,
        rows: 0,
        results: 1,
        error: None,
        bytes: b"\x01\0\0\x01\x01\"\0\0\x02\x03def\x04test\x03cap\x03cap\x01v\x01v\x0c-\0\x14\0\0\
        \0\xfd\0\0\0\0\0\x05\0\0\x03\xfe\0\0\x02\0\x05\0\0\x04\xfe\0\0\x02\0",
    },
    Captured {
        server: "MySQL 9.7.4",
        command: "SELEC",
        capabilities: Capabilities(0x3fa285),
        reply: ReplyForm::Results,
        rows: 0,
        results: 0,
        error: Some(1064),
        bytes: b"\xa0\0\0\x01\xff(\x04#42000You have an error in your SQL syntax; check the manua\
        l that corresponds to your MySQL server version for the right syntax to use near\
        \x20'SELEC' at line 1",
    },
    Captured {
        server: "MySQL 9.7.4",
        command: "DO 1; SELECT id FROM cap LIMIT 1; SELECT no_such",
        capabilities: Capabilities(0x3fa285),
        reply: ReplyForm::Results,
        rows: 1,
        results: 2,
        error: Some(1054),
        bytes: b"\x07\0\0\x01\0\0\0\n\0\0\0\x01\0\0\x02\x01$\0\0\x03\x03def\x04test\x03cap\x03cap\
        \x02id\x02id\x0c?\0\x0b\0\0\0\x03\x03B\0\0\0\x05\0\0\x04\xfe\0\0\n\0\x02\0\0\x05\
        \x011\x05\0\0\x06\xfe\0\0\n\x001\0\0\x07\xff\x1e\x04#42S22Unknown column 'no_suc\
        h' in 'field list'",
    },
    Captured {
        server: "MySQL 9.7.4",
        command: "CALL cap_p(@x)",
        capabilities: Capabilities(0x3fa285),
        reply: ReplyForm::Results,
        rows: 1,
        results: 2,
        error: None,
        bytes: b"\x01\0\0\x01\x01\x17\0\0\x02\x03def\0\0\0\x01a\0\x0c?\0\x02\0\0\0\x08\x81\0\0\0\
        \0\x05\0\0\x03\xfe\0\0\n\0\x02\0\0\x04\x011\x05\0\0\x05\xfe\0\0\n\0\x07\0\0\x06\
        \0\0\0\x02\0\0\0",
    },
    Captured {
        server: "MySQL 9.7.4",
        command: "prepare SELECT id, v FROM cap WHERE id <= ?",
        capabilities: Capabilities(0x3fa285),
        reply: ReplyForm::Prepare,
        rows: 0,
        results: 0,
        error: None,
        bytes: b"\x0c\0\0\x01\0\x01\0\0\0\x02\0\x01\0\0\0\0\x17\0\0\x02\x03def\0\0\0\x01?\0\x0c?\
        \0\x15\0\0\0\x08\x80\0\0\0\0\x05\0\0\x03\xfe\0\0\x02\0$\0\0\x04\x03def\x04test\
        \x03cap\x03cap\x02id\x02id\x0c?\0\x0b\0\0\0\x03\x03B\0\0\0\"\0\0\x05\x03def\x04t\
        est\x03cap\x03cap\x01v\x01v\x0c-\0\x14\0\0\0\xfd\0\0\0\0\0\x05\0\0\x06\xfe\0\0\
        \x02\0",
    },
    Captured {
        server: "MySQL 9.7.4",
        command: "execute SELECT id, v FROM cap WHERE id <= ?",
        capabilities: Capabilities(0x3fa285),
        reply: ReplyForm::Results,
        rows: 3,
        results: 1,
        error: None,
        bytes: b"\x01\0\0\x01\x02$\0\0\x02\x03def\x04test\x03cap\x03cap\x02id\x02id\x0c?\0\x0b\0\
        \0\0\x03\x03B\0\0\0\"\0\0\x03\x03def\x04test\x03cap\x03cap\x01v\x01v\x0c-\0\x14\
        \0\0\0\xfd\0\0\0\0\0\x05\0\0\x04\xfe\0\0\x02\0\n\0\0\x05\0\0\x01\0\0\0\x03one\
        \x0c\0\0\x06\0\0\x02\0\0\0\x05much \x06\0\0\x07\0\x08\x03\0\0\0\x05\0\0\x08\xfe\
        \0\0\x02\0",
    },
    Captured {
        server: "MySQL 9.7.4",
        command: "execute CALL cap_p(?)",
        capabilities: Capabilities(0x3fa285),
        reply: ReplyForm::Results,
        rows: 2,
        results: 3,
        error: None,
        bytes: b"\x01\0\0\x01\x01\x17\0\0\x02\x03def\0\0\0\x01a\0\x0c?\0\x02\0\0\0\x08\x81\0\0\0\
        \0\x05\0\0\x03\xfe\0\0\n\0\n\0\0\x04\0\0\x01\0\0\0\0\0\0\0\x05\0\0\x05\xfe\0\0\n\
        \0\x01\0\0\x06\x01&\0\0\x07\x03def\x04test\x05cap_p\x05cap_p\x01x\x01x\x0c?\0\
        \x0b\0\0\0\x03\0\0\0\0\0\x05\0\0\x08\xfe\0\0\n\x10\x06\0\0\x09\0\0\x05\0\0\0\x05\
        \0\0\n\xfe\0\0\x02\0\x07\0\0\x0b\0\0\0\x02\0\0\0",
    },
    Captured {
        server: "MySQL 9.7.4",
        command: "SELECT id, v FROM cap",
        capabilities: Capabilities(0x13fa285),
        reply: ReplyForm::Results,
        rows: 3,
        results: 1,
        error: None,
        bytes: b"\x01\0\0\x01\x02$\0\0\x02\x03def\x04test\x03cap\x03cap\x02id\x02id\x0c?\0\x0b\0\
        \0\0\x03\x03B\0\0\0\"\0\0\x03\x03def\x04test\x03cap\x03cap\x01v\x01v\x0c-\0\x14\
        \0\0\0\xfd\0\0\0\0\0\x06\0\0\x04\x011\x03one\x08\0\0\x05\x012\x05much \x03\0\0\
        \x06\x013\xfb\x07\0\0\x07\xfe\0\0\"\0\0\0",
    },
    Captured {
        server: "MySQL 9.7.4",
        command: "DO 1; SELECT id FROM cap LIMIT 1; SELECT no_such",
        capabilities: Capabilities(0x13fa285),
        reply: ReplyForm::Results,
        rows: 1,
        results: 2,
        error: Some(1054),
        bytes: b"\x07\0\0\x01\0\0\0\n\0\0\0\x01\0\0\x02\x01$\0\0\x03\x03def\x04test\x03cap\x03cap\
        \x02id\x02id\x0c?\0\x0b\0\0\0\x03\x03B\0\0\0\x02\0\0\x04\x011\x07\0\0\x05\xfe\0\
        \0\n\0\0\x001\0\0\x06\xff\x1e\x04#42S22Unknown column 'no_such' in 'field list'",
    },
    Captured {
        server: "MySQL 9.7.4",
        command: "prepare SELECT id, v FROM cap WHERE id <= ?",
        capabilities: Capabilities(0x13fa285),
        reply: ReplyForm::Prepare,
        rows: 0,
        results: 0,
        error: None,
        bytes: b"\x0c\0\0\x01\0\x01\0\0\0\x02\0\x01\0\0\0\0\x17\0\0\x02\x03def\0\0\0\x01?\0\x0c?\
        \0\x15\0\0\0\x08\x80\0\0\0\0$\0\0\x03\x03def\x04test\x03cap\x03cap\x02id\x02id\
        \x0c?\0\x0b\0\0\0\x03\x03B\0\0\0\"\0\0\x04\x03def\x04test\x03cap\x03cap\x01v\x01\
        v\x0c-\0\x14\0\0\0\xfd\0\0\0\0\0",
    },
    Captured {
        server: "MySQL 9.7.4",
        command: "execute SELECT id, v FROM cap WHERE id <= ?",
        capabilities: Capabilities(0x13fa285),
        reply: ReplyForm::Results,
        rows: 3,
        results: 1,
        error: None,
        bytes: b"\x01\0\0\x01\x02$\0\0\x02\x03def\x04test\x03cap\x03cap\x02id\x02id\x0c?\0\x0b\0\
        \0\0\x03\x03B\0\0\0\"\0\0\x03\x03def\x04test\x03cap\x03cap\x01v\x01v\x0c-\0\x14\
        \0\0\0\xfd\0\0\0\0\0\n\0\0\x04\0\0\x01\0\0\0\x03one\x0c\0\0\x05\0\0\x02\0\0\0\
        \x05much \x06\0\0\x06\0\x08\x03\0\0\0\x07\0\0\x07\xfe\0\0\x02\0\0\0",
    },
    Captured {
        server: "MySQL 9.7.4",
        command: "execute CALL cap_p(?)",
        capabilities: Capabilities(0x13fa285),
        reply: ReplyForm::Results,
        rows: 2,
        results: 3,
        error: None,
        bytes: b"\x01\0\0\x01\x01\x17\0\0\x02\x03def\0\0\0\x01a\0\x0c?\0\x02\0\0\0\x08\x81\0\0\0\
        \0\n\0\0\x03\0\0\x01\0\0\0\0\0\0\0\x07\0\0\x04\xfe\0\0\n\0\0\0\x01\0\0\x05\x01&\
        \0\0\x06\x03def\x04test\x05cap_p\x05cap_p\x01x\x01x\x0c?\0\x0b\0\0\0\x03\0\0\0\0\
        \0\x06\0\0\x07\0\0\x05\0\0\0\x07\0\0\x08\xfe\0\0\n\x10\0\0\x07\0\0\x09\0\0\0\x02\
        \0\0\0",
    },
];

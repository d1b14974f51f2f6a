//! Writers of each format, as the servers' own.

use std::fmt::Write as _;

/// Numbers that look random.
pub struct Drawn(pub u64);

impl Drawn {
    pub fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % bound
    }
}

/// A statement that a client sent.
pub struct Sent {
    pub number: usize,
    pub thread: u64,
    pub end_us: i64,
    pub took_us: u64,
    pub text: Vec<u8>,
}

impl Sent {
    fn second(&self) -> i64 {
        self.end_us / 1_000_000
    }

    /// The time of day; the day is 2026-03-10.
    fn clock(&self) -> String {
        let second = self.second() - 1_773_100_800;
        format!(
            "{:02}:{:02}:{:02}",
            second / 3600,
            second / 60 % 60,
            second % 60
        )
    }

    fn iso(&self, between: char) -> String {
        format!(
            "2026-03-10{between}{}.{:06}",
            self.clock(),
            self.end_us % 1_000_000
        )
    }

    fn took(&self) -> String {
        format!(
            "{}.{:06}",
            self.took_us / 1_000_000,
            self.took_us % 1_000_000
        )
    }
}

pub struct Writer {
    pub name: &'static str,
    pub format: &'static str,
    /// It is UTF-8 alone.
    pub is_text: bool,
    /// Statements that the format can hold.
    pub takes: fn(&[u8]) -> bool,
    pub write: fn(&[Sent]) -> Vec<u8>,
}

const fn writer(name: &'static str, format: &'static str, write: fn(&[Sent]) -> Vec<u8>) -> Writer {
    Writer {
        name,
        format,
        is_text: false,
        takes: |_| true,
        write,
    }
}

pub const WRITERS: [Writer; 13] = [
    writer("slow-mariadb", "slow", slow_mariadb),
    writer("slow-mysql", "slow", slow_mysql),
    writer("slow-percona", "slow", slow_percona),
    writer("slow-rewritten", "slow", slow_rewritten),
    writer("general-mariadb", "general", general_mariadb),
    writer("general-mysql", "general", general_mysql),
    writer("table-insert", "table", table_insert),
    writer("table-lines", "table", table_lines),
    writer("table-outfile", "table", table_outfile),
    Writer {
        // Longer ones may be cut.
        takes: |text| text.len() < 400,
        ..writer("audit", "audit", audit)
    },
    Writer {
        is_text: true,
        ..writer("proxysql", "proxysql", proxysql)
    },
    Writer {
        takes: |text| !text.contains(&b'\n') && !text.ends_with(b"\""),
        ..writer("maxscale", "maxscale", maxscale)
    },
    writer("tiproxy", "tiproxy", tiproxy),
];

fn joined(parts: impl Iterator<Item = (String, Vec<u8>, &'static [u8])>, head: &str) -> Vec<u8> {
    let mut log = head.as_bytes().to_vec();
    for (head, text, tail) in parts {
        log.extend_from_slice(head.as_bytes());
        log.extend_from_slice(&text);
        log.extend_from_slice(tail);
    }
    log
}

const HEAD_MARIADB: &str = "/usr/sbin/mariadbd, Version: 10.11.14-MariaDB. started with:\n\
    Tcp port: 3306  Unix socket: /run/mysqld/mysqld.sock\nTime\t\t    Id Command\tArgument\n";
const HEAD_MYSQL: &str = "/usr/sbin/mysqld, Version: 8.4.6 (MySQL). started with:\n\
    Tcp port: 3306  Unix socket: /run/mysqld/mysqld.sock\nTime                 Id Command    Argument\n";

fn slow_mariadb(sent: &[Sent]) -> Vec<u8> {
    let mut last = 0;
    let entries = sent.iter().map(|one| {
        let mut head = String::new();
        if last != one.second() {
            last = one.second();
            writeln!(head, "# Time: 260310 {}", one.clock()).unwrap();
        }
        write!(
            head,
            "# User@Host: shop[shop] @ app1 [10.0.0.11]\n\
             # Thread_id: {}  Schema: shop  QC_hit: No\n\
             # Query_time: {}  Lock_time: 0.000051  Rows_sent: 1  Rows_examined: 1\n\
             # Rows_affected: 0  Bytes_sent: 120\nSET timestamp={};\n",
            one.thread,
            one.took(),
            one.second()
        )
        .unwrap();
        (head, one.text.clone(), &b";\n"[..])
    });
    joined(entries, HEAD_MARIADB)
}

fn slow_mysql(sent: &[Sent]) -> Vec<u8> {
    let entries = sent.iter().enumerate().map(|(place, one)| {
        let head = format!(
            "# Time: {}Z\n# User@Host: shop[shop] @ app1 [10.0.0.11]  Id: {:5}\n\
             # Query_time: {}  Lock_time: 0.000002 Rows_sent: 1  Rows_examined: 1\n{}\
             SET timestamp={};\n",
            one.iso('T'),
            one.thread,
            one.took(),
            if place == 0 { "use shop;\n" } else { "" },
            one.second()
        );
        (head, one.text.clone(), &b";\n"[..])
    });
    joined(entries, HEAD_MYSQL)
}

fn slow_percona(sent: &[Sent]) -> Vec<u8> {
    let entries = sent.iter().map(|one| {
        let head = format!(
            "# Time: {}Z\n# User@Host: shop[shop] @ app1 [10.0.0.11]  Id: {:5}\n\
             # Schema: the shop  Last_errno: 0  Killed: 0\n\
             # Query_time: {}  Lock_time: 0.000002  Rows_sent: 1  Rows_examined: 1  Rows_affected: 0\n\
             # No InnoDB statistics available for this query\nSET timestamp={};\n",
            one.iso('T'),
            one.thread,
            one.took(),
            one.second()
        );
        (head, one.text.clone(), &b";\n"[..])
    });
    joined(entries, HEAD_MYSQL)
}

/// As `pt-query-digest --output slowlog`.
fn slow_rewritten(sent: &[Sent]) -> Vec<u8> {
    let entries = sent.iter().map(|one| {
        let head = format!(
            "# Time: 2026-03-10T{}\n# User@Host: shop[shop] @ app1 []\n# Thread_id: {}\n\
             # Query_time: {}  Lock_time: 0.000002  Rows_sent: 1  Rows_examined: 1\nuse shop;\n",
            one.clock(),
            one.thread,
            one.took()
        );
        (head, one.text.clone(), &b";\n"[..])
    });
    joined(entries, "")
}

fn general_mariadb(sent: &[Sent]) -> Vec<u8> {
    let mut last = 0;
    let entries = sent.iter().map(|one| {
        let stamp = match last == one.second() {
            true => "\t\t".to_owned(),
            false => format!("260310 {}\t", one.clock()),
        };
        last = one.second();
        let head = format!("{stamp}{:6} Query\t", one.thread);
        (head, one.text.clone(), &b"\n"[..])
    });
    let mut head = HEAD_MARIADB.to_owned();
    for thread in 10..15 {
        writeln!(
            head,
            "260310 10:00:00\t{thread:6} Connect\tshop@app1 on shop using TCP/IP"
        )
        .unwrap();
    }
    joined(entries, &head)
}

fn general_mysql(sent: &[Sent]) -> Vec<u8> {
    let entries = sent.iter().map(|one| {
        let head = format!("{}Z\t{:5} Execute\t", one.iso('T'), one.thread);
        (head, one.text.clone(), &b"\n"[..])
    });
    let mut head = HEAD_MYSQL.to_owned();
    for thread in 10..15 {
        writeln!(
            head,
            "2026-03-10T10:00:00.000000Z\t{thread:5} Connect\tshop@app1 on shop using TCP/IP"
        )
        .unwrap();
    }
    joined(entries, &head)
}

/// With a backslash in front of what the pairs name.
fn escaped(text: &[u8], pairs: &[(u8, u8)]) -> Vec<u8> {
    let mut escaped = Vec::new();
    for byte in text {
        match pairs.iter().find(|(from, _)| from == byte) {
            Some((_, to)) => escaped.extend_from_slice(&[b'\\', *to]),
            None => escaped.push(*byte),
        }
    }
    escaped
}

const QUOTED: [(u8, u8); 4] = [(b'\\', b'\\'), (b'\'', b'\''), (b'\n', b'n'), (0, b'0')];

fn table_insert(sent: &[Sent]) -> Vec<u8> {
    let entries = sent.iter().enumerate().map(|(place, one)| {
        let head = format!(
            "{}('{}','shop[shop] @ app1 [10.0.0.11]','00:00:{:02}.{:06}','00:00:00.000001',1,1,'shop',0,0,1,'",
            if place % 5 == 0 { "INSERT INTO `slow_log` VALUES " } else { "," },
            one.iso(' '),
            one.took_us / 1_000_000,
            one.took_us % 1_000_000
        );
        let mut text = escaped(&one.text, &QUOTED);
        text.extend_from_slice(format!("',{},0)", one.thread).as_bytes());
        let is_last = place % 5 == 4 || place + 1 == sent.len();
        (head, text, if is_last { &b";\n"[..] } else { b"" })
    });
    joined(
        entries,
        "-- MariaDB dump\n\n/*!40101 SET NAMES utf8mb4 */;\nLOCK TABLES `slow_log` WRITE;\n",
    )
}

/// As the client prints a table.
fn table_lines(sent: &[Sent]) -> Vec<u8> {
    let pairs = [(b'\\', b'\\'), (b'\t', b't'), (b'\n', b'n'), (0, b'0')];
    let names = "event_time\tuser_host\tthread_id\tserver_id\tcommand_type\targument\n";
    table_rows(sent, &pairs, names)
}

/// As the server writes one `INTO OUTFILE`.
fn table_outfile(sent: &[Sent]) -> Vec<u8> {
    let pairs = [(b'\\', b'\\'), (b'\t', b'\t'), (b'\n', b'\n'), (0, b'0')];
    table_rows(sent, &pairs, "")
}

fn table_rows(sent: &[Sent], pairs: &[(u8, u8)], names: &str) -> Vec<u8> {
    let mut head = names.to_owned();
    for thread in 10..15 {
        writeln!(
            head,
            "2026-03-10 10:00:00.000000\t[shop] @ app1 []\t{thread}\t1\tConnect\tshop@app1 on shop using TCP/IP"
        )
        .unwrap();
    }
    let entries = sent.iter().map(|one| {
        let head = format!(
            "{}\tshop[shop] @ app1 [10.0.0.11]\t{}\t1\tQuery\t",
            one.iso(' '),
            one.thread
        );
        (head, escaped(&one.text, pairs), &b"\n"[..])
    });
    joined(entries, &head)
}

fn audit(sent: &[Sent]) -> Vec<u8> {
    let pairs = [
        (b'\\', b'\\'),
        (b'\'', b'\''),
        (b'\n', b'n'),
        (b'\t', b't'),
        (b'\r', b'r'),
        (0, b'0'),
    ];
    let entries = sent.iter().map(|one| {
        let head = format!(
            "20260310 {},db1,shop,app1,{},{},QUERY,shop,'",
            one.clock(),
            one.thread,
            one.number
        );
        (head, escaped(&one.text, &pairs), &b"',0\n"[..])
    });
    joined(entries, "")
}

fn proxysql(sent: &[Sent]) -> Vec<u8> {
    let entries = sent.iter().map(|one| {
        let line = serde_json::json!({
            "client": "10.0.0.11:52344", "digest": "0x1", "duration_us": one.took_us,
            "endtime_timestamp_us": one.end_us, "event": "COM_QUERY", "hostgroup_id": 0,
            "query": String::from_utf8(one.text.clone()).unwrap(), "rows_sent": 1,
            "schemaname": "shop", "starttime_timestamp_us": one.end_us - one.took_us as i64,
            "thread_id": one.thread, "username": "shop",
        });
        (line.to_string(), Vec::new(), &b"\n"[..])
    });
    joined(entries, "")
}

fn maxscale(sent: &[Sent]) -> Vec<u8> {
    let entries = sent.iter().map(|one| {
        let head = format!("read,{},{},shop@app1,12,", one.thread, one.iso(' '));
        (head, one.text.clone(), &b",shop,1\n"[..])
    });
    joined(
        entries,
        "Service,Session,Date,User@Host,Total_reply_time,Query,Default_db,Num_rows\n",
    )
}

fn tiproxy(sent: &[Sent]) -> Vec<u8> {
    let one_of = |iso: String, thread: u64, text: &[u8]| {
        let head = format!(
            "# Time: {iso}789Z\n# Conn_ID: {thread}\n# Payload_len: {}\n",
            text.len()
        );
        (head, text.to_vec(), &b"\n"[..])
    };
    let first = sent.first().map(|one| one.iso('T')).unwrap_or_default();
    let begins = (10..15).map(|thread| one_of(first.clone(), thread, b"use shop"));
    let entries = sent
        .iter()
        .map(|one| one_of(one.iso('T'), one.thread, &one.text));
    joined(begins.chain(entries), "")
}

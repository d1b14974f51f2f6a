//! The model server as a program: its rows, its statements, its refusals, and what it counted.

use crate::program::{self, Folder, PROGRAM};
use contend_client::Target;
use contend_client::blocking::{ControlConnection, Whole};
use contend_client::request::Reply;
use contend_data::sbtest::dataset;
use contend_data::schema::Wish;
use contend_data::{KeyColumn, Sbtest, StorageEngine};
use contend_random::Stream;
use contend_reactor::socket::Address;
use contend_wire::mysql::{Options, PreparedStatement, command};
use contend_wire::{Credentials, Value};
use serde_json::{Map, Value as Json, json};
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

/// A model server that ends with the test.
pub struct Model {
    child: Child,
    out: BufReader<ChildStdout>,
    folder: Folder,
    pub listening: Json,
}

impl Model {
    pub fn start(name: &str, options: &[&str]) -> Self {
        Self::start_by(name, Command::new(PROGRAM), options)
    }

    /// By a command that becomes the program.
    pub fn start_by(name: &str, mut command: Command, options: &[&str]) -> Self {
        let folder = Folder::new(&format!("model-{name}"));
        let mut child = command
            .arg("model-server")
            .arg("--socket")
            .arg(folder.0.join("socket"))
            .arg("--truth")
            .arg(folder.0.join("truth"))
            .args(options)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        out.read_line(&mut line).unwrap();
        Self {
            child,
            out,
            listening: serde_json::from_str(&line).unwrap(),
            folder,
        }
    }

    pub fn pid(&self) -> i32 {
        self.child.id() as i32
    }

    pub fn socket(&self) -> PathBuf {
        self.folder.0.join("socket")
    }

    /// How our own client reaches it.
    pub fn target(&self) -> Target {
        Target {
            address: Address::Unix(self.socket()),
            credentials: Credentials::default(),
            options: Options {
                unix_socket: true,
                database: Some("sbtest".to_owned()),
                ..Options::default()
            },
            connect_timeout: Duration::from_secs(60),
        }
    }

    pub fn control(&self) -> Control {
        Control(ControlConnection::open(&self.target()).unwrap())
    }

    /// Runs a load of so many events against it; its last line.
    pub fn load(&self, workload: Json, load: Json) -> Json {
        program::done(&program::run(&self.plan(workload, load)))
    }

    pub fn plan(&self, workload: Json, load: Json) -> Json {
        let server = json!({"socket": self.socket(), "database": "sbtest"});
        json!({"version": 1, "server": server, "workload": workload, "load": load, "seed": 7})
    }

    pub fn signal(&self, signal: i32) {
        // SAFETY: the child is ours and has not been waited for.
        unsafe { libc::kill(self.pid(), signal) };
    }

    /// Lines of its truth so far.
    pub fn truths(&self) -> Vec<Json> {
        let text = std::fs::read_to_string(self.folder.0.join("truth")).unwrap();
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    /// Ends it as a user would; what it says at the end, and the last line of its truth.
    pub fn stop(mut self) -> (Json, Json) {
        self.signal(libc::SIGTERM);
        let mut text = String::new();
        self.out.read_to_string(&mut text).unwrap();
        let status = self.child.wait().unwrap();
        assert!(status.success(), "{status:?}");
        assert!(!self.socket().exists());
        let last = self.truths().pop().unwrap();
        assert_eq!(last["ended"], true);
        (serde_json::from_str(&text).unwrap(), last)
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A connection for single statements.
pub struct Control(ControlConnection);

impl Control {
    pub fn rows(&mut self, sql: &str) -> Vec<Vec<String>> {
        let rows = self.0.rows(sql, &mut |_| Ok(())).unwrap();
        let words = |value: Option<String>| value.unwrap_or_else(|| "NULL".to_owned());
        rows.into_iter()
            .map(|row| row.into_iter().map(words).collect())
            .collect()
    }

    /// The first value of the first row.
    pub fn number(&mut self, sql: &str) -> u64 {
        self.rows(sql)[0].last().unwrap().parse().unwrap()
    }

    pub fn status(&mut self, name: &str) -> u64 {
        self.number(&format!("SHOW GLOBAL STATUS LIKE '{name}'"))
    }

    pub fn run(&mut self, sql: &str) {
        self.0.run(sql, &mut |_| Ok(())).unwrap();
    }

    pub fn prepare(&mut self, sql: &str) -> PreparedStatement {
        PreparedStatement::new(self.asked_to_prepare(sql).prepared.unwrap())
    }

    /// The code of the error that a prepare must give.
    pub fn not_prepared(&mut self, sql: &str) -> u16 {
        self.asked_to_prepare(sql).error.unwrap().code
    }

    fn asked_to_prepare(&mut self, sql: &str) -> Whole {
        let mut out = Vec::new();
        command::prepare(&mut out, sql.as_bytes());
        self.0
            .whole(&out, Reply::Prepared, &mut |_| Ok(()))
            .unwrap()
    }

    pub fn execute(
        &mut self,
        statement: &mut PreparedStatement,
        values: &[Value<'_>],
    ) -> Vec<Vec<String>> {
        let mut out = Vec::new();
        statement.execute(&mut out, values).unwrap();
        let whole = self.0.whole(&out, Reply::Whole, &mut |_| Ok(())).unwrap();
        assert_eq!(whole.error, None);
        let words = |row: Vec<Option<String>>| row.into_iter().map(Option::unwrap).collect();
        whole.rows.into_iter().map(words).collect()
    }

    /// The code and the words of the error that a statement must give.
    pub fn refused(&mut self, sql: &str) -> (u16, String) {
        let failure = self.0.run(sql, &mut |_| Ok(())).unwrap_err();
        (
            failure
                .code
                .unwrap_or_else(|| panic!("{sql}: {}", failure.message)),
            failure.message,
        )
    }
}

fn points(rows: u32, points: u32) -> Json {
    json!({"kind": "random_points", "rows": rows, "points": points})
}

/// The rows that `contend-load fill` makes of a seed.
fn filled(rows: u64, seed: u64) -> Vec<Vec<String>> {
    let wish = Wish {
        engine: StorageEngine::MyIsam,
        seed,
        rows: Some(rows),
        table_options: "",
        table: None,
        tables: None,
        key: KeyColumn::RowNumber,
        keys: Map::new(),
    };
    let made = dataset(Sbtest::Study, &wish).unwrap();
    let mut text = Vec::new();
    made.tables[0].content.append(&mut text, 1..rows + 1);
    let text = String::from_utf8(text).unwrap();
    text.lines()
        .map(|line| line.split('\t').map(str::to_owned).collect())
        .collect()
}

#[test]
fn its_rows_are_those_of_a_table_filled_with_the_same_seed() {
    let wanted = filled(2_000, 9);
    for options in [&["--rows-in", "memory"][..], &["--rows-in", "."]] {
        let folder = Folder::new("model-rows-in");
        let mut command = Command::new(PROGRAM);
        command.current_dir(&folder.0);
        let options = [options, &["--rows", "2000", "--seed", "9"]].concat();
        let server = Model::start_by("rows", command, &options);
        let mut control = server.control();
        let all: Vec<String> = (0..2_002).map(|number| number.to_string()).collect();
        let list = all.join(", ");
        let select = "SELECT id, k, c, pad FROM sbtest WHERE";
        assert_eq!(control.rows(&format!("{select} k IN ({list})")), wanted);
        assert_eq!(control.rows(&format!("{select} id IN ({list})")), wanted);
        assert_eq!(
            control.rows(&format!("{select} k = 1777"))[..],
            wanted[1776..1777]
        );
        // In the order of the key, each once, those that are there.
        let some =
            control.rows("SELECT pad, id FROM `sbtest`.`sbtest` WHERE k IN (9,3,9,-1,4000000000)");
        let short = |row: &Vec<String>| vec![row[3].clone(), row[0].clone()];
        assert_eq!(some, [short(&wanted[2]), short(&wanted[8])]);
        server.stop();
        // The data file is written once, as long as MyISAM's would be.
        for file in std::fs::read_dir(&folder.0).unwrap() {
            assert_eq!(file.unwrap().metadata().unwrap().len(), 2_000 * 189);
        }
    }
}

#[test]
fn prepared_and_text_have_the_same_answers() {
    let server = Model::start(
        "prepared",
        &["--rows", "5000", "--variable", "key_cache_segments=8"],
    );
    let mut control = server.control();
    let mut random = Stream::new(3, 0);
    for (columns, by, points) in [
        ("id, k, c, pad", "k IN", 10),
        ("*", "k IN", 300),
        ("pad, k, pad", "id IN", 7),
        ("c", "id =", 1),
        ("c, id", "k =", 1),
    ] {
        let statement = |values: &[String]| match by {
            "k =" | "id =" => format!("SELECT {columns} FROM sbtest WHERE {by} {}", values[0]),
            _ => format!(
                "SELECT {columns} FROM sbtest WHERE {by} ({})",
                values.join(", ")
            ),
        };
        let marks = vec!["?".to_owned(); points];
        let mut prepared = control.prepare(&statement(&marks));
        for _ in 0..20 {
            let keys: Vec<i64> = (0..points).map(|_| random.below(5_100) as i64).collect();
            let texts: Vec<String> = keys.iter().map(i64::to_string).collect();
            let values: Vec<Value<'_>> = keys.iter().map(|key| Value::Int(*key)).collect();
            let rows = control.execute(&mut prepared, &values);
            assert_eq!(rows, control.rows(&statement(&texts)));
        }
    }
    // As values of other types, which a client may bind as well.
    let mut prepared = control.prepare("SELECT id FROM sbtest WHERE k IN (?, 6, ?, ?)");
    let values = [Value::Bytes(b"9"), Value::Null, Value::UInt(u64::MAX)];
    assert_eq!(control.execute(&mut prepared, &values), [["6"], ["9"]]);
    assert_eq!(control.status("Prepared_stmt_count"), 6);
    drop(control);
    let mut control = server.control();
    while control.status("Prepared_stmt_count") > 0 {}
    control.run("SET GLOBAL max_prepared_stmt_count = 0");
    assert_eq!(
        control.not_prepared("SELECT c FROM sbtest WHERE k = ?"),
        1461
    );
    assert_eq!(control.not_prepared("SHOW STATUS"), 1295);
    assert_eq!(control.not_prepared("SELECT c FROM sbtest"), 1235);
}

#[test]
fn it_counts_what_it_was_asked_as_a_server_does() {
    let server = Model::start("status", &["--rows", "20000"]);
    let mut control = server.control();
    control.run("LOAD INDEX INTO CACHE sbtest");
    let (used, unused) = (
        control.status("Key_blocks_used"),
        control.status("Key_blocks_unused"),
    );
    assert!(used > 300 && unused > used, "{used} {unused}");
    // It asks for each page but the header.
    assert_eq!(control.status("Key_reads"), used);
    let before = control.status("Key_read_requests");
    let done = server.load(
        points(20_000, 10),
        json!({"connections": 4, "measure_s": 600, "events": 500}),
    );
    assert_eq!(
        (&done["events"], &done["errors"]),
        (&json!(500), &json!([]))
    );
    let (requests, keys) = (
        control.status("Key_read_requests"),
        control.status("Handler_read_key"),
    );
    assert_eq!(keys, done["rows"].as_u64().unwrap());
    // Three walks of a point down three levels, and now and then a page more.
    let each = (requests - before) as f64 / keys as f64;
    assert!((9.0..9.3).contains(&each), "{each}");
    assert_eq!(
        (control.status("Key_reads"), control.status("Com_select")),
        (used, 500)
    );
    assert!(control.status("Questions") >= 500);
    control.run("SET GLOBAL key_cache_segments = 4");
    let caches = control.rows(
        "SELECT SEGMENT_NUMBER, `read_requests`, Full_Size FROM information_schema.KEY_CACHES",
    );
    let size = |size: &str| vec!["0".to_owned(), size.to_owned()];
    for (number, row) in caches[..4].iter().enumerate() {
        assert_eq!(row[0], (number + 1).to_string());
        assert_eq!(row[1..], size("33554432"));
    }
    assert_eq!(caches[4][0], "NULL");
    assert_eq!(caches[4][1..], size("134217728"));
    let whole =
        control.rows("SELECT * FROM information_schema.KEY_CACHES WHERE SEGMENT_NUMBER IS NULL");
    assert_eq!((whole.len(), whole[0].len()), (1, 12));
    let (served, truth) = server.stop();
    assert_eq!(
        (&served["queries"], &truth["queries"]),
        (&json!(500), &json!(500))
    );
    assert_eq!(
        (&truth["points"], &truth["epoch"]),
        (&json!(keys), &json!(1))
    );
}

#[test]
fn what_it_does_not_know_is_refused_in_the_server_s_codes() {
    let server = Model::start("refused", &["--rows", "1000"]);
    let mut control = server.control();
    for (sql, code, words) in [
        ("INSERT INTO sbtest VALUES (1)", 1290, "accepts no writes"),
        ("DROP TABLE sbtest", 1290, "model server"),
        (
            "LOAD DATA LOCAL INFILE 'x' INTO TABLE sbtest",
            1290,
            "model server",
        ),
        ("SELECT COUNT(*) FROM sbtest", 1235, "it supports SELECT"),
        (
            "SELECT c FROM sbtest WHERE k BETWEEN 1 AND 2",
            1235,
            "BETWEEN",
        ),
        (
            "SELECT c FROM sbtest WHERE k IN (1",
            1235,
            "it supports SELECT",
        ),
        (
            "SELECT c FROM sbtest WHERE k IN ('x')",
            1235,
            "it supports SELECT",
        ),
        ("SELECT c FROM sbtest WHERE k IN (?)", 1064, "prepared"),
        ("SELECT 1; SELECT 2", 1235, "it supports SELECT"),
        ("/*!40101 SET NAMES x", 1235, "it supports SELECT"),
        ("", 1235, "it supports SELECT"),
        ("SELECT d FROM sbtest WHERE k = 1", 1054, "'d'"),
        ("SELECT c FROM sbtest WHERE d = 1", 1054, "'d'"),
        ("SELECT c FROM sbtest2 WHERE k = 1", 1146, "sbtest.sbtest2"),
        (
            "SELECT c FROM other.sbtest WHERE k = 1",
            1146,
            "other.sbtest",
        ),
        ("LOAD INDEX INTO CACHE other", 1146, "sbtest.other"),
        ("USE other", 1049, "other"),
        ("SELECT A FROM information_schema.KEY_CACHES", 1054, "'A'"),
        ("SELECT A FROM information_schema.TABLES", 1109, "TABLES"),
        ("SELECT @@no_such", 1193, "no_such"),
        ("SET GLOBAL no_such = 1", 1193, "no_such"),
        ("SET SESSION no_such = 1", 1193, "no_such"),
        ("SET GLOBAL version = 'x'", 1238, "version"),
        ("SET GLOBAL key_cache_segments = 65", 1231, "0 to 64"),
        (
            "SET GLOBAL key_cache_segments = many",
            1232,
            "key_cache_segments",
        ),
        (
            "SET GLOBAL query_cache_size = 1000000",
            1231,
            "no such cache",
        ),
        (
            "SET GLOBAL key_buffer_size = 65536, GLOBAL key_cache_segments = 64",
            1231,
            "fewer segments",
        ),
        (
            "SET GLOBAL key_cache_segments = 9, GLOBAL pid_file = ''",
            1238,
            "pid_file",
        ),
    ] {
        let (found, message) = control.refused(sql);
        assert_eq!(found, code, "{sql}: {message}");
        assert!(message.contains(words), "{sql}: {message}");
    }
    assert_eq!(control.number("SELECT @@GLOBAL.key_cache_segments"), 0);
    // And it goes on.
    control.run("/*!40101 SET NAMES x */");
    assert_eq!(control.rows("SELECT id FROM sbtest WHERE k = 7"), [["7"]]);
    let unknown = Target {
        options: Options {
            database: Some("other".to_owned()),
            ..server.target().options
        },
        ..server.target()
    };
    assert_eq!(
        ControlConnection::open(&unknown).err().unwrap().code,
        Some(1049)
    );
}

#[test]
fn settings_of_clients_are_taken_and_variables_told() {
    let variables = [
        "--variable=key_buffer_size=8M",
        "--variable=max-connections=20",
    ];
    let server = Model::start("settings", &[&variables[..], &["--rows=1000"]].concat());
    let mut control = server.control();
    for sql in [
        "SET NAMES utf8mb4 COLLATE utf8mb4_general_ci",
        "SET AUTOCOMMIT = 1",
        "SET SESSION max_statement_time = 0, lock_wait_timeout = 300",
        "SET @x = CONCAT('a', 'b'), @y := 5",
        "SET SESSION TRANSACTION ISOLATION LEVEL READ UNCOMMITTED, READ ONLY",
        "BEGIN",
        "START TRANSACTION",
        "COMMIT",
        "SET @@GLOBAL.key_cache_division_limit = 30",
        "SET GLOBAL key_cache_age_threshold = DEFAULT;",
    ] {
        control.run(sql);
    }
    assert_eq!(
        control.rows(
            "SELECT @@key_buffer_size, @@GLOBAL.max_connections AS most, @@autocommit, 'x', NULL"
        ),
        [["8388608", "20", "1", "x", "NULL"]]
    );
    assert!(control.rows("SELECT VERSION(), @@version_comment")[0][1].contains("not a database"));
    assert_eq!(
        control.rows("SHOW VARIABLES LIKE 'key_cache_div%'"),
        [["key_cache_division_limit", "30"]]
    );
    let some =
        "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('KEY_BUFFER_SIZE', 'port', 'no_such')";
    assert_eq!(
        control.rows(some),
        [["key_buffer_size", "8388608"], ["port", "0"]]
    );
    assert!(control.rows("SHOW WARNINGS").is_empty());
    assert_eq!(control.rows("SHOW TABLES"), [["sbtest"]]);
    // A size is cut as MariaDB does it.
    control.run("SET GLOBAL key_buffer_size = 8390000");
    assert_eq!(control.number("SELECT @@key_buffer_size"), 8_388_608);
}

#[test]
fn nothing_of_knobs_and_truth_can_be_seen_by_a_client() {
    let server = Model::start(
        "unseen",
        &[
            "--rows=1000",
            "--knob=under_lock_ns=77377",
            "--knob=lock=fair",
        ],
    );
    let mut control = server.control();
    let lists = [
        "SHOW GLOBAL STATUS",
        "SHOW GLOBAL VARIABLES",
        "SELECT * FROM information_schema.KEY_CACHES",
        "SELECT * FROM information_schema.SYSTEM_VARIABLES",
    ];
    for sql in lists {
        let said = format!("{:?}", control.rows(sql)).to_lowercase();
        for word in ["77377", "fair", "knob", "truth", "under_lock", "waits"] {
            assert!(!said.contains(word), "{word} in {sql}");
        }
    }
}

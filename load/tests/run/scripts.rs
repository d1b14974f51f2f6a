//! Scripts as the workload of a plan.

use crate::fake::{self, FakeServer, Script};
use crate::program::{
    ENGINES, Folder, PROGRAM, done, failure, fed, lines, of_events, plan, run, run_as,
    until_it_ends,
};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::Write as _;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::ThreadId;

/// Answers everything right.
pub struct Kind;

impl Script for Kind {
    fn answer(&self, to: &mut UnixStream, command: u8, _: &[u8], _: usize) -> bool {
        to.write_all(&fake::right_answer(command)).is_ok()
    }
}

pub const TWO_QUERIES: &str = r#"
function thread_init()
  con = sysbench.sql.driver():connect()
end
function event()
  con:query("SELECT 1")
  con:query("SELECT 2")
end
print("a word of the script's own")
"#;

pub fn of(folder: &Folder, text: &str, server: &Path) -> Value {
    let path = folder.0.join("mine.lua");
    std::fs::write(&path, text).unwrap();
    let mut plan = plan(server, "auto");
    plan["workload"] = json!({"kind": "lua", "script": path});
    plan
}

/// Exit code and standard error of a plan that must be refused.
fn refusal(plan: &Value) -> String {
    let output = run(plan);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(output.stdout.is_empty());
    let said = String::from_utf8(output.stderr).unwrap();
    said.lines().last().unwrap_or_default().to_owned()
}

#[test]
fn what_a_plan_names_is_not_looked_for_beside_the_script() {
    let folder = Folder::new("lua-beside");
    let server = FakeServer::start(&folder.0, Kind);
    std::fs::create_dir(folder.0.join("scripts")).unwrap();
    let text = format!("{TWO_QUERIES}\nassert(io.open('mine.lua'))");
    std::fs::write(folder.0.join("scripts/mine.lua"), text).unwrap();
    let authority = rcgen::generate_simple_self_signed(vec!["db".to_owned()]).unwrap();
    std::fs::write(folder.0.join("ca.pem"), authority.cert.pem()).unwrap();
    let mut plan = of_events(plan(&server.socket, "auto"), 4);
    plan["server"]["socket"] = json!("fake.sock");
    plan["workload"] = json!({"kind": "lua", "script": "scripts/mine.lua"});
    let here = || {
        let mut program = Command::new(PROGRAM);
        program.current_dir(&folder.0);
        program
    };
    assert_eq!(done(&run_as(&mut here(), &plan))["events"], 4);
    plan["server"]["tls"] = json!({"mode": "verify-ca", "ca": "ca.pem"});
    let checked = fed(here().args(["run", "--check", "-"]), &plan.to_string());
    assert!(checked.status.success(), "{checked:?}");
}

/// What a script starts shall end as any program does.
const STARTS_A_PROGRAM: &str = r#"
function thread_init()
  local status = io.popen("grep SigBlk: /proc/self/status"):read("*a")
  assert(status:match("^SigBlk:%s*0+%s*$"), status)
end
function event()
end
"#;

#[test]
fn no_signal_is_kept_from_programs_that_a_script_starts() {
    let folder = Folder::new("lua-program");
    let server = FakeServer::start(&folder.0, Kind);
    let plan = of_events(of(&folder, STARTS_A_PROGRAM, &server.socket), 4);
    assert_eq!(done(&run(&plan))["events"], 4);
}

#[test]
fn queries_and_events_are_counted_apart() {
    for engine in ENGINES {
        let folder = Folder::new(&format!("lua-{engine}"));
        let server = FakeServer::start(&folder.0, Kind);
        let mut plan = of_events(of(&folder, TWO_QUERIES, &server.socket), 40);
        plan["load"]["engine"] = json!(engine);
        let output = run(&plan);
        let done = done(&output);
        assert_eq!(
            (&done["events"], &done["queries"]),
            (&json!(40), &json!(80))
        );
        assert_eq!(done["latency_us"]["count"], 40);
        assert_eq!(done["ended"], "events");
        let names: Vec<_> = done["classes"]
            .as_array()
            .unwrap()
            .iter()
            .map(|c| &c["name"])
            .collect();
        assert_eq!(names, ["read", "write", "other"]);
        // What a script prints is no outcome.
        assert!(lines(&output).iter().all(|line| line["type"].is_string()));
        assert!(String::from_utf8_lossy(&output.stderr).contains("a word of the script's own"));
    }
}

#[test]
fn a_rate_is_kept_by_scripts_too() {
    let folder = Folder::new("lua-rate");
    let server = FakeServer::start(&folder.0, Kind);
    let mut plan = of_events(of(&folder, TWO_QUERIES, &server.socket), 100);
    plan["load"]["arrival"] = json!({"kind": "open", "stages": [{"rate": 200.0}]});
    let done = done(&run(&plan));
    assert_eq!(done["arrival"], "open-loop");
    assert_eq!(done["events"], 100);
    // They are due in about half a second; who does not wait is done in a few milliseconds.
    assert!(done["measured_s"].as_f64().unwrap() > 0.3, "{done}");
}

/// Works for about 40 ms before it asks: the CPU time of other threads counts in.
const BUSY_THEN_ASKS: &str = r#"
function thread_init()
  con = sysbench.sql.driver():connect()
end
function event()
  local due = os.clock() + 0.04
  while os.clock() < due do end
  con:query("SELECT 1")
end
"#;

#[test]
fn what_a_script_does_before_it_asks_is_not_the_time_of_its_query() {
    for engine in ENGINES {
        let folder = Folder::new(&format!("lua-busy-{engine}"));
        let server = FakeServer::start(&folder.0, Kind);
        let mut plan = of_events(of(&folder, BUSY_THEN_ASKS, &server.socket), 10);
        plan["load"]["engine"] = json!(engine);
        plan["load"]["connections"] = json!(1);
        let us = |figures: &Value| figures["min"].as_f64().unwrap();

        let closed = done(&run(&plan));
        assert!(us(&closed["latency_us"]) >= 20_000.0, "{closed}");
        assert!(
            us(&closed["classes"][0]["latency_us"]) < 20_000.0,
            "{closed}"
        );

        plan["load"]["arrival"] = json!({"kind": "open", "stages": [{"rate": 20.0}]});
        let open = done(&run(&plan));
        assert!(us(&open["classes"][0]["latency_us"]) < 20_000.0, "{open}");
        assert!(us(&open["open"]["service_us"]) < 20_000.0, "{open}");
        assert!(us(&open["open"]["lag_us"]) >= 20_000.0, "{open}");
    }
}

#[test]
fn what_is_wrong_with_a_script_is_refused_before_anything_is_asked() {
    let folder = Folder::new("lua-wrong");
    let nowhere = folder.0.join("none.sock");
    let with = |text: &str| refusal(&of(&folder, text, &nowhere));
    assert!(with("function event(").contains("mine.lua:1:"));
    assert!(with("\nerror('not today')").contains("mine.lua:2: not today"));
    assert!(with("x = 1").contains("no function event()"));

    let mut plan = plan(&nowhere, "auto");
    plan["workload"] = json!({"kind": "lua", "script": "oltp_readonly"});
    let said = refusal(&plan);
    assert!(said.contains("did you mean \"oltp_read_only\"?"), "{said}");
    plan["workload"]["script"] = json!("./nosuch.lua");
    assert!(refusal(&plan).contains("cannot read ./nosuch.lua"));
    plan["workload"]["script"] = json!("oltp_read_only");
    for (options, words) in [
        (
            json!({"range_siz": 5}),
            "workload.options.range_siz: oltp_read_only has no such option; did you mean \"range_size\"?",
        ),
        (
            json!({"range_size": "x"}),
            "workload.options.range_size: \"x\" is not a number",
        ),
        (
            json!({"skip_trx": 7}),
            "workload.options.skip_trx: \"7\" is not true or false",
        ),
        (
            json!({"threads": 7}),
            "workload.options.threads: use load.connections",
        ),
        (
            json!({"mysql_host": "x"}),
            "workload.options.mysql_host: the measured server",
        ),
        (
            json!({"rand_type": "flat"}),
            "Invalid random numbers distribution: flat.",
        ),
        (
            json!({"range_size": 1, "range-size": 2}),
            "workload.options.range_size: it is set twice",
        ),
    ] {
        plan["workload"]["options"] = options;
        let said = refusal(&plan);
        assert!(said.contains(words), "{said}");
    }
    plan["workload"]["options"] = json!({});
    plan["load"]["reconnect_every"] = json!(5);
    assert!(refusal(&plan).contains("load.reconnect_every"));
}

#[test]
fn an_error_in_a_hook_is_the_outcome_with_file_and_line() {
    let folder = Folder::new("lua-fails");
    let server = FakeServer::start(&folder.0, Kind);
    let connects = "function thread_init() con = sysbench.sql.driver():connect() end\n";
    for (hook, text) in [
        (
            "init",
            "function init()\n error('in init') end function event() end".to_owned(),
        ),
        (
            "thread_init",
            "function thread_init()\n error('in thread_init') end function event() end".to_owned(),
        ),
        (
            "event",
            format!("{connects}function event() error('in event') end"),
        ),
    ] {
        let plan = until_it_ends(of(&folder, &text, &server.socket));
        let failure = failure(&run(&plan));
        let said = failure["message"].as_str().unwrap();
        assert!(
            said.contains(&format!("mine.lua:2: in {hook}")),
            "{hook}: {said}"
        );
    }
}

/// Refuses one kind of command.
struct Refuses {
    command: u8,
    code: u16,
    words: &'static str,
}

impl Script for Refuses {
    fn answer(&self, to: &mut UnixStream, command: u8, _: &[u8], _: usize) -> bool {
        let answer = if command == self.command {
            fake::error(1, self.code, "42000", self.words)
        } else {
            fake::right_answer(command)
        };
        to.write_all(&answer).is_ok()
    }
}

#[test]
fn an_error_whose_words_only_a_fatal_line_has_is_told_with_them_once() {
    let folder = Folder::new("lua-refused");
    let full = Refuses {
        command: 0x16,
        code: 1461,
        words: "Can't create more than max_prepared_stmt_count statements",
    };
    let server = FakeServer::start(&folder.0, full);
    let text = "function thread_init()\n con = sysbench.sql.driver():connect()\n \
                con:prepare('SELECT ?') end function event() end";
    for os_threads in ["off", "on"] {
        let mut plan = until_it_ends(of(&folder, text, &server.socket));
        plan["workload"]["options"] = json!({"os_threads": os_threads});
        let failure = failure(&run(&plan));
        let said = failure["message"].as_str().unwrap();
        let words =
            "mine.lua:3: error 1461 (42000): Can't create more than max_prepared_stmt_count";
        assert!(said.contains(words), "{said}");
        assert_eq!(
            (
                &failure["code"],
                &failure["sqlstate"],
                &failure["statement"]
            ),
            (&json!(1461), &json!("42000"), &json!("SELECT ?"))
        );
        let hint = failure["hint"].as_str().unwrap();
        assert!(hint.starts_with("raise max_prepared_stmt_count"), "{hint}");
    }
}

/// Lets one in, and nobody after it.
struct IsFull(u16, AtomicUsize);

impl Script for IsFull {
    fn greet(&self, to: &mut UnixStream) {
        let is_first = self.1.fetch_add(1, Ordering::Relaxed) == 0;
        let refusal = fake::error(0, self.0, "08004", "Too many connections");
        let _ = to.write_all(&if is_first { fake::greeting() } else { refusal });
    }

    fn answer(&self, to: &mut UnixStream, command: u8, _: &[u8], _: usize) -> bool {
        to.write_all(&fake::right_answer(command)).is_ok()
    }
}

#[test]
fn a_login_that_all_threads_are_refused_is_told_once() {
    let text = "function thread_init()\n sysbench.sql.driver():connect() end function event() end";
    // Another server's number says nothing of what helps: then the address does.
    for (code, help) in [(1040, "max_connections"), (9040, "fake.sock")] {
        let folder = Folder::new(&format!("lua-full-{code}"));
        let server = FakeServer::start(&folder.0, IsFull(code, AtomicUsize::new(0)));
        let failure = failure(&run(&of(&folder, text, &server.socket)));
        let said = failure["message"].as_str().unwrap();
        let words = format!("mine.lua:2: error {code} (08004): Too many connections");
        assert!(said.contains(&words), "{said}");
        assert_eq!(failure["code"], code);
        let hint = failure["hint"].as_str().unwrap();
        assert_eq!(hint.matches(help).count(), 1, "{hint}");
    }
}

#[test]
fn a_script_is_told_of_the_tables_unless_it_says_otherwise() {
    let folder = Folder::new("lua-tables");
    let text = r#"
sysbench.cmdline.options = {table_size = {"rows", 1}, tables = {"tables", 1}, name = {"", "x"}}
function event() end
function thread_init()
  error(("%d %d %s"):format(sysbench.opt.tables, sysbench.opt.table_size, sysbench.opt.name))
end
"#;
    let server = FakeServer::start(&folder.0, Kind);
    let mut plan = of(&folder, text, &server.socket);
    plan["workload"]["rows"] = json!(500);
    plan["workload"]["tables"] = json!(3);
    plan["workload"]["options"] = json!({"name": "y"});
    let said = failure(&run(&plan))["message"].as_str().unwrap().to_owned();
    assert!(said.contains("3 500 y"), "{said}");
    plan["workload"]["options"] = json!({"table-size": "2K"});
    let said = failure(&run(&plan))["message"].as_str().unwrap().to_owned();
    assert!(said.contains("3 2048 x"), "{said}");
}

pub fn script(plan: &Value, more: &[&str]) -> Output {
    let mut command = Command::new(PROGRAM);
    fed(command.args(["script", "-"]).args(more), &plan.to_string())
}

#[test]
fn a_script_is_described_without_a_server() {
    let folder = Folder::new("lua-describe");
    let text = r#"
print("a word")
sysbench.cmdline.options = {size = {"how large", 5}}
function prepare() end
function event() end
"#;
    let output = script(&of(&folder, text, Path::new("/nowhere")), &[]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let said: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (&said["bundled"], &said["prepare"]),
        (&json!(false), &json!(true))
    );
    assert_eq!(
        said["options"][0],
        json!({"name": "size", "kind": "number", "default": "5", "help": "how large"})
    );
    // A script without declared options takes any.
    let output = script(
        &of(&folder, "function event() end", Path::new("/nowhere")),
        &[],
    );
    let said: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (&said["prepare"], &said["options"]),
        (&json!(false), &json!(null))
    );
    let plan = plan(Path::new("/nowhere"), "auto");
    let output = script(&plan, &[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("is not a script"));
}

#[test]
fn prepare_runs_the_scripts_own() {
    let folder = Folder::new("lua-prepare");
    let server = FakeServer::start(&folder.0, Kind);
    let text = r#"
function prepare() sysbench.sql.driver():connect():query("CREATE TABLE t (id INT)") end
function event() end
"#;
    let output = script(&of(&folder, text, &server.socket), &["--prepare"]);
    assert_eq!(lines(&output), [json!({"type": "prepared"})], "{output:?}");
    let failing = "function prepare()\n error('no') end function event() end";
    let output = script(&of(&folder, failing, &server.socket), &["--prepare"]);
    let said = failure(&output)["message"].as_str().unwrap().to_owned();
    assert!(said.contains("mine.lua:2: no"), "{said}");
    let output = script(
        &of(&folder, "function event() end", &server.socket),
        &["--prepare"],
    );
    assert_eq!(output.status.code(), Some(2));
}

/// Answers every query with the first one that was asked on the same connection.
#[derive(Default)]
struct KnowsItself(Mutex<HashMap<ThreadId, String>>);

impl Script for KnowsItself {
    fn answer(&self, to: &mut UnixStream, _: u8, body: &[u8], _: usize) -> bool {
        let asked = String::from_utf8_lossy(body).into_owned();
        let mut known = self.0.lock().unwrap();
        let first = known.entry(std::thread::current().id()).or_insert(asked);
        to.write_all(&fake::table(&[&[first.as_str()]])).is_ok()
    }
}

#[test]
fn each_of_many_connections_of_a_thread_gets_its_own_answers() {
    let text = r#"
local many, connections = 300, {}
function thread_init()
  for place = 1, many do
    connections[place] = sysbench.sql.driver():connect()
    connections[place]:query("SELECT " .. place)
  end
end
function event()
  for place = 1, many do
    local said = connections[place]:query_row("SELECT 'who'")
    if said ~= "SELECT " .. place then
      error(("connection %d answers for another: %s"):format(place, said))
    end
  end
end
"#;
    for os_threads in ["off", "on"] {
        let folder = Folder::new(&format!("lua-many-{os_threads}"));
        let server = FakeServer::start(&folder.0, KnowsItself::default());
        let mut plan = of(&folder, text, &server.socket);
        plan["workload"]["options"] = json!({"os_threads": os_threads});
        plan["load"]["connections"] = json!(1);
        let done = done(&run(&of_events(plan, 2)));
        assert_eq!(done["events"], json!(2), "{done}");
    }
}

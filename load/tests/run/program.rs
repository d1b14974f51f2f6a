//! Runs the program with a plan, and reads what it wrote.

use serde_json::{Value, json};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

pub const PROGRAM: &str = env!("CARGO_BIN_EXE_contend-load");
pub const ENGINES: [&str; 2] = ["epoll", "auto"];

/// A folder that goes with the test.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("contend-load-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A run by time. Whether anything happens in its time is the host's affair: what a test wants to
/// happen is waited for by [`of_events`] or [`until_it_ends`].
pub fn plan(socket: &Path, engine: &str) -> Value {
    json!({
        "version": 1,
        "server": {"socket": socket, "connect_timeout_s": 60.0},
        "workload": {"kind": "point_select", "rows": 1000},
        "load": {
            "connections": 4, "warmup_s": 0.05, "measure_s": 0.3, "interval_s": 0.1,
            "engine": engine,
        },
        "seed": 7,
    })
}

/// The same plan, for so many events however long they take.
pub fn of_events(mut plan: Value, events: u64) -> Value {
    plan["load"]["events"] = json!(events);
    until_it_ends(plan)
}

/// The same plan, for a run that something else than its time must end.
pub fn until_it_ends(mut plan: Value) -> Value {
    plan["load"]["warmup_s"] = json!(0);
    plan["load"]["measure_s"] = json!(600);
    plan
}

pub fn run(plan: &Value) -> Output {
    run_as(&mut Command::new(PROGRAM), plan)
}

/// As [`run`], by a command for the program that was prepared in some way.
pub fn run_as(program: &mut Command, plan: &Value) -> Output {
    fed(program.args(["run", "-"]), &plan.to_string())
}

/// Runs a command with a text on its standard input.
pub fn fed(command: &mut Command, text: &str) -> Output {
    let child = begun(command.stdout(Stdio::piped()).stderr(Stdio::piped()), text);
    child.wait_with_output().unwrap()
}

/// Begins a command with a text on its standard input.
pub fn begun(command: &mut Command, text: &str) -> Child {
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(text.as_bytes()).unwrap();
    child
}

/// Runs a script as sysbench would.
pub fn sysbench(script: &Path, socket: &Path) -> Command {
    let mut program = Command::new(PROGRAM);
    program
        .arg("sysbench")
        .arg(script)
        .arg(format!("--mysql-socket={}", socket.display()))
        .arg("--mysql-user=u")
        .stdin(Stdio::null());
    program
}

/// Asks a program to end.
pub fn terminate(child: &Child) {
    let id = rustix::process::Pid::from_child(child);
    rustix::process::kill_process(id, rustix::process::Signal::TERM).unwrap();
}

/// All that a program wrote.
pub fn said(output: &Output) -> String {
    let text = [output.stdout.as_slice(), output.stderr.as_slice()].concat();
    String::from_utf8_lossy(&text).into_owned()
}

pub fn lines(output: &Output) -> Vec<Value> {
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// The last line, which must be `done`.
pub fn done(output: &Output) -> Value {
    let lines = lines(output);
    let last = lines.last().expect("no line at all").clone();
    assert_eq!(
        last["type"],
        "done",
        "{last}\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert_eq!(output.status.code(), Some(0));
    last
}

/// The failure of a run that must not have gone well.
pub fn failure(output: &Output) -> Value {
    let last = lines(output).last().expect("no line at all").clone();
    assert_eq!(last["type"], "error", "{last}");
    assert_eq!(output.status.code(), Some(1));
    last
}

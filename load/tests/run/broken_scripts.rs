//! Scripts that do what no script should: each ends in words, and contend-load by itself.

use crate::fake::{self, FakeServer, Script};
use crate::program::{Folder, PROGRAM, plan, said, sysbench, terminate};
use serde_json::{Value, json};
use std::io::Write as _;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

const SCRIPTS: &str = include_str!("broken_scripts.txt");
/// So many at once: most of their time is that of starting a program.
const AT_ONCE: usize = 4;
/// What an error line has.
const WORDS: [&str; 2] = ["FATAL: ", "contend-load: "];
/// What no broken script may lead to.
const FAULTS: [&str; 4] = [
    "panicked",
    "fault of contend-load",
    "foreign exception",
    "fatal runtime error",
];

/// Answers everything right.
struct Kind;

impl Script for Kind {
    fn answer(&self, to: &mut UnixStream, command: u8, _: &[u8], _: usize) -> bool {
        to.write_all(&fake::right_answer(command)).is_ok()
    }
}

fn scripts() -> Vec<&'static str> {
    let lines = SCRIPTS.lines().map(str::trim);
    lines
        .filter(|line| !line.is_empty() && !line.starts_with("--"))
        .collect()
}

/// With `event`, if the script has none.
fn whole(script: &str) -> String {
    match script.contains("event") {
        true => script.to_owned(),
        false => format!("{script}\nrawset(_G, 'event', function() end)"),
    }
}

fn one_event(script: &Path, socket: &Path) -> Command {
    let mut program = sysbench(script, socket);
    program.args(["--events=1", "--time=2", "run"]);
    program
}

fn planned(script: &Path, socket: &Path) -> Value {
    let mut plan = plan(socket, "auto");
    plan["workload"] = json!({"kind": "lua", "script": script});
    plan["load"]["connections"] = json!(1);
    plan["load"]["warmup_s"] = json!(0);
    plan["load"]["events"] = json!(1);
    plan["load"]["measure_s"] = json!(2);
    plan
}

/// What is wrong with how a program ended, if anything is.
fn fault(way: &str, script: &str, output: &Output) -> Option<String> {
    let said = said(output);
    let wrong = match output.status.code() {
        None => Some(format!("ended by a signal: {}", output.status)),
        Some(0) => None,
        Some(_) if !WORDS.iter().any(|words| said.contains(words)) => {
            Some("failed without a message".to_owned())
        }
        Some(_) => None,
    };
    let wrong = wrong.or_else(|| {
        let fault = FAULTS.iter().find(|fault| said.contains(**fault))?;
        Some(format!("says {fault:?}"))
    });
    wrong.map(|wrong| format!("{way}: {wrong}: {script}\n{said}"))
}

#[test]
fn no_script_ends_the_program_by_a_signal() {
    let folder = Folder::new("broken-scripts");
    let server = FakeServer::start(&folder.0, Kind);
    let scripts = scripts();
    assert!(scripts.len() > 100, "{}", scripts.len());
    let waiting = Mutex::new(scripts.into_iter().enumerate());
    let faults = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let Some((number, script)) = waiting.lock().unwrap().next() else {
                        return;
                    };
                    let path = folder.0.join(format!("{number}.lua"));
                    std::fs::write(&path, whole(script)).unwrap();
                    let plan = folder.0.join(format!("{number}.json"));
                    let of_plan = planned(&path, &server.socket).to_string();
                    std::fs::write(&plan, of_plan).unwrap();
                    let mut run = Command::new(PROGRAM);
                    run.arg("run").arg(&plan);
                    let mut check = Command::new(PROGRAM);
                    check.args(["run", "--check"]).arg(&plan);
                    let ways = [
                        ("sysbench", one_event(&path, &server.socket)),
                        ("run", run),
                        ("check", check),
                    ];
                    for (way, mut program) in ways {
                        let output = program.stdin(Stdio::null()).output().unwrap();
                        faults.lock().unwrap().extend(fault(way, script, &output));
                    }
                }
            });
        }
    });
    let faults = faults.into_inner().unwrap();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// By time, and by a signal that nobody has to send twice.
#[test]
fn a_script_that_computes_without_end_is_stopped_and_blamed() {
    let folder = Folder::new("endless-scripts");
    let server = FakeServer::start(&folder.0, Kind);
    let endless = [
        ("function event() while true do end end", vec![false, true]),
        (
            "function event() while true do pcall(function() while true do end end) end end",
            vec![false, true],
        ),
        // By time only after the 30 s that sysbench has for it.
        (
            "function thread_init() while true do end end function event() end",
            vec![true],
        ),
    ];
    for (number, (script, ways)) in endless.into_iter().enumerate() {
        let path = folder.0.join(format!("{number}.lua"));
        std::fs::write(&path, script).unwrap();
        for signalled in ways {
            let mut program = one_event(&path, &server.socket);
            program.arg("--drain-time=0");
            if signalled {
                program.arg("--time=600");
            }
            let begun = Instant::now();
            let child = program.stdout(Stdio::piped()).stderr(Stdio::piped());
            let child = child.spawn().unwrap();
            if signalled {
                std::thread::sleep(Duration::from_millis(700));
                terminate(&child);
            }
            let output = child.wait_with_output().unwrap();
            assert_eq!(fault("sysbench", script, &output), None);
            let said = said(&output);
            assert_eq!(output.status.code(), Some(1), "{said}");
            assert!(said.contains(&format!("{number}.lua")), "{said}");
            assert!(begun.elapsed() < Duration::from_secs(40), "{said}");
        }
    }
}

/// A fault of the script's own making is named before the signal ends the program.
#[test]
fn an_address_that_a_script_made_up_is_blamed_on_it() {
    let folder = Folder::new("made-up-address");
    let server = FakeServer::start(&folder.0, Kind);
    let path = folder.0.join("poke.lua");
    let script = "function event() local p = ffi.cast('int*', 8) p[0] = 1 end";
    std::fs::write(&path, script).unwrap();
    let output = one_event(&path, &server.socket).output().unwrap();
    let said = said(&output);
    assert_eq!(output.status.code(), None, "{said}");
    assert!(said.contains("poke.lua"), "{said}");
}

//! sysbench command lines whose threads or report hooks do not come back: each ends, and its figures
//! are those of the time in which events ran.

use crate::fake::{self, FakeServer, Script};
use crate::program::{Folder, said, sysbench, terminate};
use std::io::Write as _;
use std::os::unix::net::UnixStream;
use std::process::Stdio;
use std::time::Duration;

/// Answers everything but what is to be waited for.
struct Silent;

impl Script for Silent {
    fn answer(&self, to: &mut UnixStream, command: u8, body: &[u8], _: usize) -> bool {
        body.ends_with(b"WAIT") || to.write_all(&fake::right_answer(command)).is_ok()
    }
}

const CONNECTS: &str = "
    function thread_init() con = sysbench.sql.driver():connect() end
    function event() ffi.C.usleep(1000) con:query('SELECT 1') end
    ffi.cdef('int usleep(unsigned int);')
";
/// Each thread whose number is `from` or more has some events, then one without end.
const HANGS: &str = "
    sysbench.cmdline.options = { from = { '', 0 }, quick = { '', 5 } }
    local count = 0
    function event()
      count = count + 1
      if count <= sysbench.opt.quick or sysbench.tid < sysbench.opt.from then
        ffi.C.usleep(1000)
        con:query('SELECT 1')
      else
        con:query('WAIT')
      end
    end
";
/// Threads that do not hang have the time to end their last events, however busy the host is.
const LAST_EVENTS: &str = "--drain-time=5";
/// The event goes on whatever fails.
const PERSISTS: &str = "
    function event() while true do pcall(con.query, con, 'SELECT 1') end end
";

struct Ended {
    code: Option<i32>,
    said: String,
}

impl Ended {
    /// A figure of the report.
    fn number(&self, label: &str) -> f64 {
        let line = self.said.lines().find(|line| line.contains(label));
        let rest = line.and_then(|line| line.split(label).nth(1));
        let word = rest.and_then(|rest| rest.split_whitespace().next());
        let number = word.map(|word| word.trim_end_matches('s').parse());
        number
            .unwrap_or_else(|| panic!("no {label:?} in\n{}", self.said))
            .unwrap()
    }

    /// Events per second.
    fn rate(&self) -> f64 {
        let line = self
            .said
            .lines()
            .find(|line| line.contains("transactions:"));
        let (_, rate) = line.unwrap().split_once('(').unwrap();
        rate.split(' ').next().unwrap().parse().unwrap()
    }
}

/// Does the same with each at once: most of the time is waited for.
fn with_each<T: Send>(cases: impl IntoIterator<Item = T>, check: impl Fn(T) + Sync) {
    std::thread::scope(|scope| {
        for case in cases {
            scope.spawn(|| check(case));
        }
    });
}

/// How a script behind [`CONNECTS`] ends; if `signalled`, by SIGTERM once it has begun.
fn ended(name: &str, script: &str, words: &[&str], signalled: bool) -> Ended {
    let folder = Folder::new(&format!("script-ends-{name}"));
    let server = FakeServer::start(&folder.0, Silent);
    let path = folder.0.join("script.lua");
    std::fs::write(&path, format!("{CONNECTS}{script}")).unwrap();
    let mut program = sysbench(&path, &server.socket);
    program.arg("--drain-time=0").args(words).arg("run");
    let child = program.stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = child.spawn().unwrap();
    if signalled {
        // Long enough for what the test wants to be under way.
        std::thread::sleep(Duration::from_millis(1500));
        terminate(&child);
    }
    let output = child.wait_with_output().unwrap();
    Ended {
        code: output.status.code(),
        said: said(&output),
    }
}

#[test]
fn a_run_whose_threads_all_hang_fails_and_has_the_rates_of_its_time() {
    let cases = [
        ("all", HANGS, "--rate=0", 10.0),
        ("all-on-threads", HANGS, "--os-threads=on", 10.0),
        ("all-at-a-rate", HANGS, "--rate=1000", 10.0),
        ("none-ended", HANGS, "--quick=0", 0.0),
        ("persist", PERSISTS, "--rate=0", 0.0),
    ];
    with_each(cases, |(name, script, more, wanted)| {
        let ended = ended(name, script, &["--threads=2", "--time=1", more], false);
        let said = &ended.said;
        assert_eq!(ended.code, Some(1), "{name}: {said}");
        assert!(said.contains("2 of 2 thread(s)"), "{said}");
        assert_eq!(ended.number("total time:"), 1.0, "{said}");
        assert_eq!(ended.number("total number of events:"), wanted, "{said}");
        assert_eq!(ended.rate(), wanted, "{said}");
    });
}

#[test]
fn a_signal_ends_threads_that_hang_and_the_rates_have_the_time_until_then() {
    let ended = ended("signal", HANGS, &["--threads=2", "--time=600"], true);
    assert_eq!(ended.code, Some(1), "{}", ended.said);
    let total_s = ended.number("total time:");
    assert!(total_s > 0.2 && total_s < 600.0, "{}", ended.said);
    assert!(
        (ended.rate() * total_s - 10.0).abs() < 0.1,
        "{}",
        ended.said
    );
}

#[test]
fn one_thread_that_hangs_is_said_and_the_others_are_a_result() {
    let words = ["--threads=2", "--time=1", "--from=1", LAST_EVENTS];
    let ended = ended("one", HANGS, &words, false);
    assert_eq!(ended.code, Some(0), "{}", ended.said);
    assert!(ended.said.contains("1 of 2 thread(s)"), "{}", ended.said);
    assert!(ended.number("total time:") >= 1.0, "{}", ended.said);
}

#[test]
fn what_comes_after_the_last_event_is_in_no_rate() {
    const SLOW_S: f64 = 4.0;
    let slow = format!("os.execute('sleep {SLOW_S}')");
    let hooks = ["thread_done", "sysbench.hooks.report_intermediate"];
    let limits = [["--time=1", "--events=0"], ["--time=600", "--events=20"]];
    let cases = hooks
        .into_iter()
        .flat_map(|hook| limits.map(|limit| (hook, limit)));
    with_each(cases, |(hook, limit)| {
        let name = format!("after-{hook}{}", limit[1]);
        let script = format!("function {hook}() {slow} end");
        let words = [&limit[..], &["--report-interval=0.5", "--drain-time=60"]].concat();
        let ended = ended(&name, &script, &words, false);
        assert_eq!(ended.code, Some(0), "{}", ended.said);
        let total_s = ended.number("total time:");
        assert!(total_s < SLOW_S, "{name}: {}", ended.said);
        let events = ended.number("total number of events:");
        assert!((ended.rate() * total_s / events - 1.0).abs() < 0.01);
    });
}

const FOR_EVER: [&str; 2] = [
    "con = sysbench.sql.driver():connect() con:query('WAIT')",
    "while true do pcall(function() while true do end end) end",
];

#[test]
fn a_report_hook_that_never_comes_back_is_given_up() {
    let cases = [(0, false), (0, true), (1, false), (1, true)];
    with_each(cases, |(number, signalled)| {
        let name = format!("hook-{number}-{signalled}");
        let body = FOR_EVER[number];
        let hook = format!("function sysbench.hooks.report_intermediate() {body} end");
        let time = if signalled { "--time=600" } else { "--time=1" };
        let words = [time, "--report-interval=0.2", LAST_EVENTS];
        let ended = ended(&name, &hook, &words, signalled);
        assert_eq!(ended.code, Some(0), "{}", ended.said);
        let words = "report_intermediate had not returned";
        assert!(ended.said.contains(words), "{}", ended.said);
        assert!(ended.number("total number of events:") > 0.0);
    });
}

#[test]
fn a_whole_report_that_never_comes_back_or_fails_is_a_failure() {
    let bodies = FOR_EVER.into_iter().chain(["error('no')"]).enumerate();
    let options = ["--report-checkpoints=1", "--report-interval=0"];
    let cases = bodies.flat_map(|body| options.map(|option| (body, option)));
    with_each(cases, |((number, body), option)| {
        let name = format!("whole-{number}{option}");
        let hook = format!("function sysbench.hooks.report_cumulative() {body} end");
        let ended = ended(&name, &hook, &["--time=2", option], false);
        assert_eq!(ended.code, Some(1), "{}", ended.said);
        let words = "FATAL: `report_cumulative' function failed: ";
        assert!(ended.said.contains(words), "{}", ended.said);
    });
}

#[test]
fn the_end_of_a_script_whose_threads_all_hang_has_a_limit_too() {
    let script = format!(
        "{HANGS} function done() con = con or sysbench.sql.driver():connect() con:query('WAIT') end"
    );
    let ended = ended("the-end", &script, &["--time=1"], false);
    assert_eq!(ended.code, Some(1), "{}", ended.said);
    let words = "FATAL: `done' function failed: it had not returned after 1 s";
    assert!(ended.said.contains(words), "{}", ended.said);
    assert_eq!(ended.number("total time:"), 1.0, "{}", ended.said);
}

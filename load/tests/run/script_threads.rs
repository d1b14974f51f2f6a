//! Scripts that may block: one worker thread for each connection.

use crate::fake::FakeServer;
use crate::program::{Folder, done, lines, of_events, run, until_it_ends};
use crate::scripts::{Kind, TWO_QUERIES, of};
use serde_json::{Value, json};

#[test]
fn a_script_that_may_block_gets_threads_of_its_own_and_the_figures_of_every_run() {
    let folder = Folder::new("lua-threads");
    let server = FakeServer::start(&folder.0, Kind);
    let mut plan = of(&folder, TWO_QUERIES, &server.socket);
    plan["workload"]["options"] = json!({"os_threads": "on"});
    plan["load"]["measure_s"] = json!(1.0);
    let output = run(&plan);
    let timed = done(&output);
    assert_eq!(lines(&output)[0]["engine"], "threads");
    let number = |figure: &Value| figure.as_u64().unwrap();
    let (events, queries) = (number(&timed["events"]), number(&timed["queries"]));
    // An event belongs to the window that it began in, with all its queries.
    assert!(events > 0, "{timed}");
    assert_eq!(queries, 2 * (events + number(&timed["unfinished"])));
    assert_eq!(timed["latency_us"]["count"], events);
    assert_eq!(timed["ended"], "time");
    let of_intervals = lines(&output)
        .iter()
        .filter(|line| line["type"] == "interval")
        .map(|line| number(&line["queries"]))
        .sum::<u64>();
    assert_eq!(of_intervals + number(&timed["drained"]["queries"]), queries);

    // Each query is as long as those that the same script asks on the event loop.
    let figures = |os_threads: &str| {
        let mut plan = of_events(plan.clone(), 40);
        plan["workload"]["options"] = json!({"os_threads": os_threads});
        let done = done(&run(&plan));
        let read = done["classes"][0].clone();
        assert_eq!(read["latency_us"]["count"], 80, "{done}");
        assert!(read["latency_us"]["p50"].as_f64().unwrap() > 0.0, "{done}");
        let of = ["events", "queries", "rows", "bytes_sent", "bytes_received"];
        of.map(|name| number(&done[name]))
    };
    let on_threads = figures("on");
    assert_eq!(on_threads, figures("off"));
    assert_eq!(on_threads[..3], [40, 80, 80]);
    assert!(on_threads[3] > 0 && on_threads[4] > 0);
}

#[test]
fn threads_of_a_script_do_what_every_load_does() {
    let folder = Folder::new("lua-threads-load");
    let server = FakeServer::start(&folder.0, Kind);
    let mut plan = until_it_ends(of(&folder, TWO_QUERIES, &server.socket));
    plan["workload"]["options"] = json!({"os_threads": "on"});
    plan["load"]["events_each"] = json!(5);
    plan["load"]["arrival"] = json!({"kind": "closed", "think_s": 0.05});
    plan["load"]["idle_connections"] = json!(3);
    plan["load"]["answer_timeout_s"] = json!(60.0);
    let thought = done(&run(&plan));
    assert_eq!(thought["events"], 20, "{thought}");
    // Four think times lie between five events.
    assert!(thought["measured_s"].as_f64().unwrap() > 0.2, "{thought}");
    // The first connection looks whether the server has room.
    assert_eq!(server.connections(), 1 + 4 + 3);

    let mut plan = of(&folder, TWO_QUERIES, &server.socket);
    let load = plan["load"].as_object_mut().unwrap();
    load.remove("measure_s");
    load.remove("interval_s");
    load.insert(
        "slices".to_owned(),
        json!({"slice_s": 0.4, "settle_s": 0.01, "rounds": 2}),
    );
    let mut blocking = plan["workload"].clone();
    blocking["options"] = json!({"os_threads": "on"});
    let native = json!({"kind": "point_select", "rows": 1000});
    plan["arms"] = json!([
        {"name": "script", "workload": blocking},
        {"name": "native", "workload": native},
    ]);
    let output = run(&plan);
    let hopped = done(&output);
    for (place, queries) in [(0, 2), (1, 1)] {
        let arm = &hopped["arms"][place]["done"];
        let number = |name: &str| arm[name].as_u64().unwrap();
        assert!(number("events") > 0, "{arm}");
        assert_eq!(number("queries"), queries * number("events"), "{arm}");
        assert_eq!(number("rows"), number("queries"), "{arm}");
    }
}

/// One thread waits in the C library, where nothing wakes it.
const WAITS_IN_C: &str = r#"
ffi.cdef("int pause(void);")
local count = 0
function thread_init()
  con = sysbench.sql.driver():connect()
end
function event(thread)
  count = count + 1
  if thread == 0 and count == 4 then
    ffi.C.pause()
  end
  con:query("SELECT 1")
end
"#;

#[test]
fn a_thread_that_stays_in_c_ends_with_the_run_and_keeps_its_figures() {
    let folder = Folder::new("lua-threads-pause");
    let server = FakeServer::start(&folder.0, Kind);
    let mut plan = of(&folder, WAITS_IN_C, &server.socket);
    plan["load"]["warmup_s"] = json!(0);
    for connections in [1, 3] {
        plan["load"]["connections"] = json!(connections);
        let output = run(&plan);
        let done = done(&output);
        assert_eq!(done["ended"], "time");
        assert_eq!(
            (&done["unfinished"], &done["unanswered"]),
            (&json!(1), &json!(1))
        );
        let number = |name: &str| done[name].as_u64().unwrap();
        assert_eq!(number("begun"), number("events") + 1, "{done}");
        assert_eq!(number("rows"), number("events"), "{done}");
        match connections {
            1 => assert_eq!(number("events"), 3, "{done}"),
            _ => assert!(number("events") > 3, "{done}"),
        }
        let intervals = lines(&output);
        let intervals = intervals.iter().filter(|line| line["type"] == "interval");
        let queries = intervals.map(|line| line["queries"].as_u64().unwrap());
        let drained = done["drained"]["queries"].as_u64().unwrap();
        assert_eq!(queries.sum::<u64>() + drained, number("queries"));
    }
}

#[test]
fn a_signal_ends_threads_of_a_script_with_their_figures() {
    let folder = Folder::new("lua-threads-signal");
    let server = FakeServer::start(&folder.0, Kind);
    let mut plan = of(&folder, TWO_QUERIES, &server.socket);
    plan["workload"]["options"] = json!({"os_threads": "on"});
    plan["load"]["measure_s"] = json!(3600.0);
    let done = crate::interrupted(&plan);
    assert_eq!(done["ended"], "signal");
    assert!(done["measured_s"].as_f64().unwrap() < 3600.0);
}

#[test]
fn threads_of_a_script_share_a_rate_and_a_limit_of_events() {
    let folder = Folder::new("lua-threads-rate");
    let server = FakeServer::start(&folder.0, Kind);
    for os_threads in ["on", "off"] {
        let mut plan = of(&folder, TWO_QUERIES, &server.socket);
        plan["workload"]["options"] = json!({"os_threads": os_threads});
        plan["load"]["measure_s"] = json!(60.0);
        plan["load"]["warmup_s"] = json!(0);
        plan["load"]["events"] = json!(25);
        let limited = done(&run(&plan));
        let counts = (&limited["events"], &limited["queries"], &limited["ended"]);
        assert_eq!(counts, (&json!(25), &json!(50), &json!("events")));
        let stages = json!([{"rate": 200}]);
        plan["load"]["arrival"] = json!({"kind": "open", "process": "even", "stages": stages});
        let paced = done(&run(&plan));
        assert_eq!(
            (&paced["events"], &paced["ended"], &paced["arrival"]),
            (&json!(25), &json!("events"), &json!("open-loop"))
        );
        // 25 events at 200 a second: the last one is due after 120 ms.
        assert!(paced["measured_s"].as_f64().unwrap() >= 0.119, "{paced}");
        assert_eq!(paced["open"]["lag_us"]["count"], 25);
        assert_eq!(paced["open"]["service_us"]["count"], 25);
    }
}

/// The first thread computes, and each of the others sleeps until it is done.
const BUSY_ONE_OF_FOUR: &str = r#"
sysbench.cmdline.options = { done = {"Where it is said", ""} }
function event(thread)
  if thread > 0 then
    repeat
      ffi.C.usleep(300000)
    until io.open(sysbench.opt.done)
    return
  end
  local till = os.clock() + 1
  repeat
    sysbench.rand.uniform(1, 10)
  until os.clock() > till
  io.open(sysbench.opt.done, "w"):close()
end
"#;

#[test]
fn the_busiest_of_the_threads_is_told_and_not_their_mean() {
    let folder = Folder::new("lua-busiest");
    let server = FakeServer::start(&folder.0, Kind);
    let mut plan = of(&folder, BUSY_ONE_OF_FOUR, &server.socket);
    plan["workload"]["options"] = json!({"os_threads": "on", "done": folder.0.join("done")});
    plan["load"]["interval_s"] = json!(0);
    let done = done(&run(&of_events(plan, 4)));
    let number = |value: &Value| value.as_f64().unwrap();
    let all = number(&done["client"]["cpu_us"]) / 1e6 / number(&done["measured_s"]);
    let busiest = number(&done["client_busiest_thread_share"]);
    // The mean is a quarter of all. One computes for a second of CPU time, however long a crowded
    // host takes to give it that, beside which what the program itself takes is little.
    assert!(busiest > 0.7 * all && busiest <= 1.05 * all, "{done}");
}

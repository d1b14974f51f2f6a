//! When events begin, and how often connections do.

use crate::Torn;
use crate::ends::Hang;
use crate::fake::{self, FakeServer, Script};
use crate::program::{ENGINES, Folder, done, failure, of_events, plan, run};
use serde_json::json;
use std::io::Write;
use std::os::unix::net::UnixStream;
use std::sync::{Condvar, Mutex};
use std::time::Duration;

/// Answers right, each after a pause.
pub struct Slow(pub Duration);

impl Script for Slow {
    fn answer(&self, to: &mut UnixStream, command: u8, _: &[u8], _: usize) -> bool {
        if command == 0x17 {
            std::thread::sleep(self.0);
        }
        to.write_all(&fake::right_answer(command)).is_ok()
    }
}

#[test]
fn an_open_loop_counts_from_the_intended_time() {
    for engine in ENGINES {
        let folder = Folder::new(&format!("open-{engine}"));
        let server = FakeServer::start(&folder.0, Slow(Duration::from_millis(1)));
        let mut plan = plan(&server.socket, engine);
        plan["load"]["measure_s"] = json!(1.0);
        plan["load"]["arrival"] =
            json!({"kind": "open", "process": "even", "stages": [{"rate": 200}]});
        let done = done(&run(&plan));
        assert_eq!(done["arrival"], "open-loop");
        let open = &done["open"];
        assert!(
            (open["due_per_s"].as_f64().unwrap() - 200.0).abs() < 20.0,
            "{done}"
        );
        assert_eq!(open["service_us"]["count"], done["latency_us"]["count"]);
        assert_eq!(open["lag_us"]["count"], done["latency_us"]["count"]);
        assert!(open["service_us"]["min"].as_f64().unwrap() >= 1000.0);
    }
}

#[test]
fn an_event_that_is_due_wakes_an_idle_worker() {
    for engine in ENGINES {
        let folder = Folder::new(&format!("wakes-{engine}"));
        let server = FakeServer::start(&folder.0, Torn(1000));
        // Between two events nothing else happens: no answer is on its way, no interval ends. So
        // if nobody were woken the run would not end in its time, however fast the host.
        let mut plan = of_events(plan(&server.socket, engine), 40);
        plan["load"]["interval_s"] = json!(0);
        plan["load"]["arrival"] =
            json!({"kind": "open", "process": "even", "stages": [{"rate": 100}]});
        let done = done(&run(&plan));
        assert_eq!(done["open"]["lag_us"]["count"], 40, "{done}");
        assert!(done["measured_s"].as_f64().unwrap() < 600.0, "{done}");
    }
}

#[test]
fn a_rate_that_cannot_be_kept_is_called_overload() {
    let folder = Folder::new("overload");
    let server = FakeServer::start(&folder.0, Slow(Duration::from_millis(10)));
    let mut plan = plan(&server.socket, "auto");
    // Four connections answer 400 a second at the very most. All bounds below are on one side, and
    // a host that stands still only takes the figures further from them: fewer answers, longer
    // waits.
    // Without a warm-up every answer is of an event that was due in the window: with one, a slow host
    // may do nothing in the window but answer what was due before it.
    plan["load"]["warmup_s"] = json!(0);
    plan["load"]["measure_s"] = json!(1.0);
    plan["load"]["arrival"] = json!({"kind": "open", "stages": [{"rate": 4000}]});
    let done = done(&run(&plan));
    let open = &done["open"];
    assert_eq!(open["overloaded"], true, "{done}");
    // 3600 at the least; half of that is left to where in its interval the last look falls.
    assert!(open["backlog_growth_per_s"].as_f64().unwrap() > 1800.0);
    // Of the events that were due in the first tenth of a second a quarter are begun in the last.
    assert!(open["oldest_wait_s"].as_f64().unwrap() > 0.1);
    // An answer takes 10 ms, so what the last events took is their wait since they were due.
    let (response, lag) = (&done["latency_us"], &open["lag_us"]);
    assert!(response["p99"].as_f64().unwrap() > 100_000.0, "{done}");
    assert!(
        response["p99"].as_f64() >= lag["p99"].as_f64(),
        "counted from when it was begun: {done}"
    );
}

#[test]
fn think_time_paces_a_closed_loop() {
    let folder = Folder::new("think");
    let server = FakeServer::start(&folder.0, Torn(1000));
    let mut plan = plan(&server.socket, "auto");
    plan["load"]["measure_s"] = json!(1.0);
    plan["load"]["arrival"] = json!({"kind": "closed", "think_s": 0.05});
    let done = done(&run(&plan));
    let events = done["events"].as_u64().unwrap();
    // Four connections, 1 s, one event each 0.05 s and a bit.
    assert!(events > 0 && events <= 84, "{events}");
}

#[test]
fn connections_churn_and_idle_ones_only_stand() {
    let folder = Folder::new("churn");
    let server = FakeServer::start(&folder.0, Torn(1000));
    // Fifty for each connection.
    let mut plan = of_events(plan(&server.socket, "auto"), 200);
    plan["load"]["reconnect_every"] = json!(5);
    plan["load"]["idle_connections"] = json!(3);
    plan["load"]["storm"] = json!(true);
    let done = done(&run(&plan));
    assert_eq!(done["setup_connect_us"]["count"], 7);
    let connects = done["connect_us"]["count"].as_u64().unwrap();
    assert!(connects > 0);
    assert!(server.connections() as u64 >= 7 + connects);
    assert_eq!(
        (&done["reconnects"], &done["errors"]),
        (&json!(0), &json!([]))
    );
    // Each connection had five events, the ones in progress at the edges fewer.
    let events = done["events"].as_u64().unwrap();
    assert!(
        events.abs_diff(connects * 5) <= 40,
        "{events} events, {connects} connects"
    );
}

/// Greets the first, who only looks whether there is room, and then nobody before so many have
/// come.
struct Crowd {
    wanted: usize,
    come: (Mutex<usize>, Condvar),
}

impl Script for Crowd {
    fn greet(&self, to: &mut UnixStream) {
        let (come, all) = &self.come;
        let mut come = come.lock().unwrap();
        *come += 1;
        all.notify_all();
        let patience = Duration::from_secs(3600);
        let is_first = *come == 1;
        let few = |come: &mut usize| !is_first && *come < self.wanted;
        let guard = all.wait_timeout_while(come, patience, few).unwrap();
        drop(guard);
        let _ = to.write_all(&fake::greeting());
    }
    fn answer(&self, to: &mut UnixStream, command: u8, _: &[u8], _: usize) -> bool {
        to.write_all(&fake::right_answer(command)).is_ok()
    }
}

#[test]
fn a_storm_opens_all_connections_at_once() {
    for storm in [true, false] {
        let folder = Folder::new(&format!("storm-{storm}"));
        let crowd = Crowd {
            wanted: 1 + 100,
            come: Default::default(),
        };
        let server = FakeServer::start(&folder.0, crowd);
        let mut plan = plan(&server.socket, "auto");
        plan["server"]["connect_timeout_s"] = json!(if storm { 60 } else { 1 });
        plan["load"]["connections"] = json!(100);
        plan["load"]["threads"] = json!(1);
        plan["load"]["storm"] = json!(storm);
        let output = run(&plan);
        if storm {
            assert_eq!(done(&output)["setup_connect_us"]["count"], 100);
        } else {
            // The first of them wait in vain for those that come after them.
            failure(&output);
        }
    }
}

#[test]
fn an_answer_that_takes_too_long_costs_the_connection() {
    let folder = Folder::new("too-long");
    let server = FakeServer::start(&folder.0, Hang(10));
    // Ten for each connection, which is more than it answers.
    let mut plan = of_events(plan(&server.socket, "auto"), 40);
    plan["load"]["answer_timeout_s"] = json!(0.05);
    let done = done(&run(&plan));
    assert!(done["reconnects"].as_u64().unwrap() > 0);
    let error = &done["errors"][0];
    assert!(
        error["message"]
            .as_str()
            .unwrap()
            .contains("no answer within 0.05 s"),
        "{error}"
    );
}

#[test]
fn a_run_of_so_many_events_has_so_many() {
    for (threads, arrival) in [
        (1, json!({"kind": "closed"})),
        (3, json!({"kind": "closed"})),
        (2, json!({"kind": "open", "stages": [{"rate": 100_000}]})),
    ] {
        let folder = Folder::new(&format!("events-{threads}"));
        let server = FakeServer::start(&folder.0, Torn(1000));
        let mut plan = of_events(plan(&server.socket, "auto"), 101);
        plan["load"]["threads"] = json!(threads);
        plan["load"]["arrival"] = arrival;
        let done = done(&run(&plan));
        assert_eq!(
            (&done["events"], &done["ended"]),
            (&json!(101), &json!("events"))
        );
    }
}

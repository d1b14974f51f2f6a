//! The null server as a program, and loads and fills against it: what it injects must be seen,
//! what it was asked must be counted on both sides.

use crate::program::{self, PROGRAM};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

/// A null server that ends with the test.
pub struct Server {
    child: Child,
    out: BufReader<ChildStdout>,
    pub socket: PathBuf,
    listening: Value,
}

impl Server {
    pub fn start(name: &str, options: &[&str]) -> Self {
        let file = format!("contend-{name}-{}", std::process::id());
        let socket = std::env::temp_dir().join(file);
        let mut child = Command::new(PROGRAM)
            .arg("null-server")
            .arg("--socket")
            .arg(&socket)
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
            socket,
            listening: serde_json::from_str(&line).unwrap(),
        }
    }

    /// Ends it as a user would; returns what it says at the end.
    pub fn stop(mut self) -> Value {
        let pid = self.child.id().to_string();
        assert!(
            Command::new("kill")
                .args(["-TERM", &pid])
                .status()
                .unwrap()
                .success()
        );
        let mut text = String::new();
        self.out.read_to_string(&mut text).unwrap();
        let status = self.child.wait().unwrap();
        assert!(status.success(), "{status:?} {:?}", status.signal());
        assert!(!self.socket.exists());
        serde_json::from_str(&text).unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub fn plan(server: Value, workload: Value, load: Value) -> Value {
    json!({"version": 1, "server": server, "workload": workload, "load": load, "seed": 7})
}

pub fn socket(path: &Path) -> Value {
    json!({"socket": path})
}

fn points(count: u32) -> Value {
    json!({"kind": "random_points", "rows": 1000, "points": count})
}

/// Runs a plan; its last line.
pub fn run(plan: &Value) -> Value {
    program::done(&program::run(plan))
}

#[test]
fn every_query_is_answered_with_the_rows_it_asked_for() {
    let server = Server::start("rows", &["--threads", "2"]);
    let mut asked = 0;
    for protocol in ["prepared", "text"] {
        for connections in [1, 7] {
            let load = json!({"connections": connections, "measure_s": 600, "events": 700,
                "protocol": protocol});
            let done = run(&plan(socket(&server.socket), points(10), load));
            let queries = done["queries"].as_u64().unwrap();
            assert_eq!(queries, 700);
            assert_eq!(done["rows"].as_u64().unwrap(), 10 * queries, "{protocol}");
            assert_eq!(done["errors"], json!([]));
            asked += queries;
        }
    }
    let served = server.stop();
    assert!(served["queries"].as_u64().unwrap() >= asked);
    assert!(served["connections"].as_u64().unwrap() >= 16);
}

#[test]
fn a_free_port_of_the_loopback_address_is_told() {
    let server = Server::start("port", &["--port", "0"]);
    let port = server.listening["port"].as_u64().unwrap();
    let load = json!({"connections": 3, "measure_s": 600, "events": 30});
    let at = json!({"host": "127.0.0.1", "port": port});
    let done = run(&plan(
        at,
        json!({"kind": "point_select", "rows": 1000}),
        load,
    ));
    assert_eq!((&done["rows"], &done["queries"]), (&json!(30), &json!(30)));
    server.stop();
}

#[test]
fn a_service_time_is_the_least_that_is_measured() {
    for (service, low_us) in [("constant", 20_000.0), ("exponential", 0.0)] {
        let options = ["--service-us", "20000", "--service", service];
        let server = Server::start(service, &options);
        let load = json!({"connections": 8, "measure_s": 1.0});
        let done = run(&plan(socket(&server.socket), points(1), load));
        let latency = &done["latency_us"];
        // Histograms keep three digits: their values may be a thousandth low.
        assert!(
            latency["min"].as_f64().unwrap() >= low_us * 0.998,
            "{latency}"
        );
        // Nobody can be served faster than the service takes: 8 connections, 20 ms each.
        let random_luck = if service == "exponential" { 2.0 } else { 1.0 };
        assert!(done["qps"].as_f64().unwrap() <= 8.0 / 0.020 * 1.05 * random_luck);
        assert!(
            latency["max"].as_f64().unwrap() >= 20_000.0 * 0.998,
            "{latency}"
        );
    }
}

#[test]
fn a_stall_is_seen_by_every_connection_that_waits() {
    let server = Server::start("stall", &["--stall-every-s", "0.5", "--stall-ms", "300"]);
    let load = json!({"connections": 4, "measure_s": 1.2});
    let done = run(&plan(socket(&server.socket), points(1), load));
    // At the latest half a second after the start all four stand still for 300 ms.
    assert!(
        done["latency_us"]["max"].as_f64().unwrap() >= 295_000.0,
        "{done}"
    );
}

/// What a percentile of a `done` line says.
fn us(figures: &Value, percentile: &str) -> f64 {
    figures[percentile].as_f64().unwrap()
}

#[test]
fn a_fixed_service_time_is_what_is_reported() {
    let load = json!({"connections": 8, "measure_s": 1.0});
    let quick = Server::start("truth-quick", &[]);
    let noise = run(&plan(socket(&quick.socket), points(1), load.clone()));
    let slow = Server::start("truth-fixed", &["--service-us", "20000"]);
    let done = run(&plan(socket(&slow.socket), points(1), load));
    let latency = &done["latency_us"];
    assert!(us(latency, "min") >= 20_000.0 * 0.998, "{latency}");
    // What comes on top of it is the host's: never more in the middle than at worst without it.
    let most_us = 20_000.0 * 1.5 + us(&noise["latency_us"], "max");
    assert!(us(latency, "p50") <= most_us, "{latency} {noise}");
}

#[test]
fn a_random_service_time_keeps_its_shape() {
    let options = ["--service-us", "20000", "--service", "exponential"];
    let server = Server::start("truth-random", &options);
    let load = json!({"connections": 16, "measure_s": 2.0});
    let done = run(&plan(socket(&server.socket), points(1), load));
    // Of an exponential time the median is 0.69 of the mean, p90 is 2.3 and p99 4.6 times the mean.
    // A busy host adds to every answer and takes from none.
    // Of a few hundred answers the p99 wavers; were all times equally likely it would be 39.6 ms.
    for (percentile, truth_us, least) in [
        ("mean", 20_000.0, 0.8),
        ("p50", 13_863.0, 0.8),
        ("p90", 46_052.0, 0.8),
        ("p99", 92_103.0, 0.6),
    ] {
        let found_us = us(&done["latency_us"], percentile);
        assert!(found_us >= truth_us * least, "{percentile}: {done}");
    }
    assert!(us(&done["latency_us"], "p50") < us(&done["latency_us"], "mean"));
}

#[test]
fn stalls_are_in_the_response_of_an_open_loop_and_hidden_from_a_closed_one() {
    let server = Server::start(
        "truth-stall",
        &["--stall-every-s", "1", "--stall-ms", "300"],
    );
    let measure = |arrival: Value| {
        let load = json!({"connections": 4, "measure_s": 4.0, "arrival": arrival});
        run(&plan(socket(&server.socket), points(1), load))
    };
    let steady = json!({"kind": "open", "process": "even", "stages": [{"rate": 400.0}]});
    let (open, closed) = (measure(steady), measure(json!({"kind": "closed"})));
    // Three stalls at least lie in any four seconds, so at least 3 · (300 ms - t) / 4 s of what is
    // due at a steady rate waits longer than t: a tenth of it longer than 166 ms.
    let response_us = us(&open["latency_us"], "p90");
    assert!(response_us >= 150_000.0, "{open}");
    // Only four requests are under way when the server stands still; all others begin late.
    assert!(
        us(&open["open"]["service_us"], "p90") < response_us / 2.0,
        "{open}"
    );
    assert!(
        us(&open["open"]["lag_us"], "p90") > response_us / 2.0,
        "{open}"
    );
    // Who waits for answers asks nothing meanwhile: four of thousands saw each stall.
    assert!(
        us(&closed["latency_us"], "p90") < response_us / 2.0,
        "{closed}"
    );
    assert!(us(&closed["latency_us"], "max") >= 295_000.0, "{closed}");
    assert_eq!(
        (&open["arrival"], &closed["arrival"]),
        (&json!("open-loop"), &json!("closed-loop"))
    );
}

#[test]
fn thousands_of_connections_are_all_served() {
    let server = Server::start("thousands", &["--threads", "2"]);
    // The warm-up has none, so that the first question of each connection counts.
    let load = json!({"connections": 2000, "measure_s": 600, "events_each": 10});
    let done = run(&plan(socket(&server.socket), points(1), load));
    assert_eq!(
        (&done["events"], &done["ended"]),
        (&json!(20_000), &json!("events"))
    );
    assert_eq!(
        (&done["errors"], &done["reconnects"]),
        (&json!([]), &json!(0))
    );
    assert_eq!(done["setup_connect_us"]["count"], 2000);
    let (least, most) = (&done["least_served"], &done["most_served"]);
    assert_eq!((least, most), (&json!(10), &json!(10)));
    assert!((done["fairness"].as_f64().unwrap() - 1.0).abs() < 1e-9);
}

#[test]
fn what_keeps_no_lock_and_no_rows_is_not_filled() {
    let server = Server::start("fill", &[]);
    let filled = Command::new(PROGRAM)
        .args(["fill", "--rows", "20", "--engine", "MyISAM", "--socket"])
        .arg(&server.socket)
        .output()
        .unwrap();
    assert_eq!(filled.status.code(), Some(1));
    let words = String::from_utf8(filled.stderr).unwrap();
    assert!(words.contains("GET_LOCK"), "{words}");
}

#[test]
fn a_place_that_is_taken_is_refused_and_one_that_is_deserted_is_not() {
    let server = Server::start("taken", &[]);
    let refused = Command::new(PROGRAM)
        .args(["null-server", "--socket"])
        .arg(&server.socket)
        .output()
        .unwrap();
    assert_eq!(refused.status.code(), Some(1));
    assert!(
        String::from_utf8(refused.stderr)
            .unwrap()
            .contains("another server")
    );
    let deserted = server.socket.clone();
    drop(server);
    assert!(deserted.exists());
    let again = Server::start("taken", &[]);
    assert_eq!(again.socket, deserted);
    again.stop();
}

#[test]
fn nowhere_to_listen_is_a_wrong_request() {
    let refused = Command::new(PROGRAM).arg("null-server").output().unwrap();
    assert_eq!(refused.status.code(), Some(2));
    let wrong = ["null-server", "--port", "0", "--service-us", "NaN"];
    let refused = Command::new(PROGRAM).args(wrong).output().unwrap();
    assert_eq!(refused.status.code(), Some(2));
}

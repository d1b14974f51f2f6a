//! The null server as a station of so many servers, whose times anybody can compute.

use crate::null_server::{Server, plan, run, socket};
use crate::program::{self, PROGRAM};
use serde_json::{Value, json};
use std::process::{Command, Output, Stdio};

/// Microseconds. Long beside whatever a busy host adds, so that an event tells which time was its.
const MEAN_US: &str = "20000";

fn arrivals(plan: &Value, options: &[&str]) -> Output {
    let mut command = Command::new(PROGRAM);
    command.args(["arrivals", "-"]).args(options);
    program::fed(command.stderr(Stdio::piped()), &plan.to_string())
}

/// The service times of a seed's first events, in µs.
fn services_us(seed: u64, count: usize) -> Vec<f64> {
    let open = json!({"kind": "open", "process": "even", "stages": [{"rate": 1000.0}]});
    let load = json!({"connections": 1, "measure_s": 600, "events": count, "arrival": open});
    let select = json!({"kind": "sql", "text": "SELECT 1;"});
    let seed = seed.to_string();
    let options = [
        "--service-us",
        MEAN_US,
        "--service",
        "exponential",
        "--seed",
        &seed,
    ];
    let printed = arrivals(&plan(json!({"socket": "/s"}), select, load), &options);
    assert!(printed.status.success());
    let text = String::from_utf8(printed.stdout).unwrap();
    text.lines()
        .skip(1)
        .map(|line| line.split(',').nth(2).unwrap().parse::<f64>().unwrap() / 1000.0)
        .collect()
}

/// How long one event of this text takes, in µs, if the server has just started.
fn takes_us(name: &str, seed: u64, text: &str, protocol: &str) -> f64 {
    let seed = seed.to_string();
    let options = [
        "--servers",
        "1",
        "--service-us",
        MEAN_US,
        "--service",
        "exponential",
    ];
    let server = Server::start(name, &[&options[..], &["--seed", &seed]].concat());
    let load = json!({"connections": 1, "measure_s": 600, "events": 1, "protocol": protocol});
    let workload = json!({"kind": "sql", "text": text});
    let done = run(&plan(socket(&server.socket), workload, load));
    assert_eq!(done["latency_us"]["count"], 1);
    done["latency_us"]["max"].as_f64().unwrap()
}

#[test]
fn more_than_there_are_servers_wait_for_their_turn() {
    let options = ["--servers", "2", "--service-us", MEAN_US];
    let server = Server::start("station", &options);
    let load = json!({"connections": 8, "measure_s": 600, "events": 40});
    let points = json!({"kind": "random_points", "rows": 1000, "points": 1});
    let done = run(&plan(socket(&server.socket), points, load));
    // Two at a time for 20 ms each; of 8 the last has waited for three others.
    assert!(done["measured_s"].as_f64().unwrap() >= 0.399, "{done}");
    // Even if the host stands still again and again, and all of them begin anew together.
    let mean_us = done["latency_us"]["mean"].as_f64().unwrap();
    assert!(mean_us >= 49_000.0, "{done}");
    let served = server.stop();
    assert!(served["late_us"]["max"].as_f64() >= served["late_us"]["mean"].as_f64());
    assert_eq!(served["turnarounds"]["queries"], 0, "{served}");
}

#[test]
fn a_query_s_time_is_that_of_its_number_in_either_protocol() {
    let drawn = services_us(11, 200);
    let longest = (0..200)
        .max_by(|a, b| drawn[*a].total_cmp(&drawn[*b]))
        .unwrap();
    // Of 200 times the longest is four means and more: no other number may give as much.
    assert!(drawn[longest] > 80_000.0);
    for protocol in ["prepared", "text"] {
        let name = format!("number-{protocol}");
        let text = format!("SELECT {{event:serial({longest})}};");
        let found_us = takes_us(&name, 11, &text, protocol);
        // A histogram's value may be a thousandth low.
        assert!(found_us >= drawn[longest] * 0.998, "{protocol}: {found_us}");
    }
}

#[test]
fn without_a_number_the_first_query_of_the_load_is_number_0() {
    // A seed whose first event takes long, and the next ones do not.
    let seed = (1..1000)
        .find(|seed| {
            let drawn = services_us(*seed, 3);
            drawn[0] > 80_000.0 && drawn[1..].iter().all(|time| *time < 20_000.0)
        })
        .unwrap();
    // The server is asked for its limits before: that is not of the load.
    let first_us = takes_us("receipt", seed, "SELECT c FROM sbtest1;", "text");
    assert!(first_us >= services_us(seed, 1)[0] * 0.998, "{first_us}");
}

#[test]
fn a_granted_turnaround_gives_the_speed_that_was_asked_for() {
    let options = [
        "--servers",
        "4",
        "--service-us",
        MEAN_US,
        "--turnaround-us",
        "1e9",
    ];
    let server = Server::start("turnaround", &options);
    let load = json!({"connections": 4, "measure_s": 600, "events": 400});
    let select = json!({"kind": "sql", "text": "SELECT c FROM sbtest1;"});
    let done = run(&plan(socket(&server.socket), select, load));
    // 100 services of each connection, back to back from its first query on; what comes on top is
    // one way there and back, and not a hundred. Sooner than that no answer may come.
    let took_s = done["measured_s"].as_f64().unwrap();
    assert!(took_s >= 100.0 * 0.020 * 0.998, "{took_s}");
    let served = server.stop();
    // All but the first query of each, which had no answer before.
    assert_eq!(served["turnarounds"]["queries"], 396, "{served}");
}

#[test]
fn a_closed_loop_has_no_schedule_to_print() {
    let load = json!({"connections": 1, "measure_s": 1});
    let select = json!({"kind": "sql", "text": "SELECT 1;"});
    let refused = arrivals(&plan(json!({"socket": "/s"}), select, load), &[]);
    assert_eq!(refused.status.code(), Some(2));
    let words = String::from_utf8(refused.stderr).unwrap();
    assert!(words.starts_with("contend-load: load.arrival: "), "{words}");
}

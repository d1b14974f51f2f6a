//! `contend-load cpus --state`: what it says, and of which CPUs.

use crate::program::PROGRAM;
use serde_json::{Value, json};
use std::process::{Command, Output};

fn cpus(arguments: &[&str]) -> Output {
    let mut command = Command::new(PROGRAM);
    command.arg("cpus").args(arguments).output().unwrap()
}

fn said(output: &Output) -> Value {
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn the_state_says_how_far_apart_the_cpus_are() {
    let mut state = said(&cpus(&["--state"]));
    let cpus = state["cpus"].as_u64().unwrap();
    assert_eq!(state["of_pairs"], json!(cpus * (cpus - 1) / 2));
    assert_eq!(state["memory_ns"], Value::Null);
    assert_eq!(state["type"], "cpu_state");
    for pair in state["pairs"].as_array_mut().unwrap() {
        let [one, other] = [&pair["cpus"][0], &pair["cpus"][1]].map(|cpu| cpu.as_u64().unwrap());
        assert!(one < other);
        assert!(pair["handover_ns"].as_f64().unwrap() > 0.0);
        assert!(pair["wake_us"].as_f64().unwrap() > 0.0);
        assert_eq!(pair.as_object().unwrap().len(), 3);
    }
    assert_eq!(state.as_object().unwrap().len(), 5);
}

#[test]
fn memory_is_measured_if_asked_for() {
    assert!(
        said(&cpus(&["--state", "--memory"]))["memory_ns"]
            .as_f64()
            .unwrap()
            > 1.0
    );
}

#[test]
fn one_cpu_is_no_pair_and_no_error() {
    let output = Command::new("taskset")
        .args(["--cpu-list", &one_of_ours(), PROGRAM, "cpus", "--state"])
        .output()
        .unwrap();
    let state = said(&output);
    assert_eq!(
        (&state["cpus"], &state["pairs"], &state["of_pairs"]),
        (&json!(1), &json!([]), &json!(0))
    );
    let words = String::from_utf8(output.stderr).unwrap();
    assert!(words.contains("two CPUs are needed"), "{words}");
}

/// The number of a CPU that this process may use.
fn one_of_ours() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let list = status
        .lines()
        .find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    let first = list.unwrap().trim().split([',', '-']).next().unwrap();
    first.to_owned()
}

#[test]
fn what_belongs_to_the_state_alone_is_refused_without_it() {
    for wrong in [
        ["--memory"].as_slice(),
        &["--pairs", "3"],
        &["--state", "--pairs", "0"],
        &["--state", "--rounds", "2"],
    ] {
        let output = cpus(wrong);
        assert_eq!(output.status.code(), Some(2), "{wrong:?}: {output:?}");
        assert!(output.stdout.is_empty());
    }
}

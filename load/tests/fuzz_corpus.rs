//! The fuzz targets as plain tests: the committed corpus, and a bounded number of its mutations.
//!
//! The mutations are the same in every run, so a failure here can be repeated. The fuzzer itself
//! (`tools/test_long.py fuzzing`) goes where these cannot.

#![allow(clippy::unwrap_used)]

use std::path::Path;

use contend_random::Stream;

#[path = "../fuzz/targets/answer.rs"]
mod answer;
#[path = "../fuzz/targets/channel.rs"]
mod channel;
#[path = "../fuzz/targets/handler_socket.rs"]
mod handler_socket;
#[path = "../fuzz/targets/login.rs"]
mod login;
#[path = "../fuzz/targets/logs.rs"]
mod logs;
#[path = "../fuzz/targets/model.rs"]
mod model;
#[path = "../fuzz/targets/plan.rs"]
mod plan;
#[path = "../fuzz/targets/slap.rs"]
mod slap;
#[path = "../fuzz/targets/sql.rs"]
mod sql;
#[path = "../fuzz/targets/tokens.rs"]
mod tokens;

const SEED: u64 = 42;

/// Runs the target on every file of its corpus and on `mutations` of each.
fn run(name: &str, mutations: u32, target: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("load/fuzz/corpus")
        .join(name);
    let mut files: Vec<_> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    assert!(!files.is_empty(), "no corpus in {}", folder.display());
    let seeds: Vec<Vec<u8>> = files
        .iter()
        .map(|file| std::fs::read(file).unwrap())
        .collect();
    let mut random = Stream::new(SEED, 0);
    for seed in &seeds {
        target(seed);
        for _ in 0..mutations {
            let mut data = seed.clone();
            for _ in 0..1 + random.below(4) {
                mutate(&mut data, &seeds, &mut random);
            }
            target(&data);
        }
    }
}

/// Changes, removes, repeats or adds a few bytes, or crosses over to another seed.
fn mutate(data: &mut Vec<u8>, seeds: &[Vec<u8>], random: &mut Stream) {
    let at = random.below(data.len() as u64 + 1) as usize;
    let length = (random.below(8) as usize).min(data.len() - at);
    match random.below(6) {
        0 => data
            .iter_mut()
            .skip(at)
            .take(1)
            .for_each(|byte| *byte ^= 1 << random.below(8)),
        1 => data.iter_mut().skip(at).take(length).for_each(|byte| {
            let special = [0x00, 0x01, 0xfb, 0xfc, 0xfd, 0xfe, 0xff];
            *byte = special[random.below(7) as usize];
        }),
        2 => drop(data.drain(at..at + length)),
        3 => {
            let repeated = data[at..at + length].repeat(1 + random.below(20) as usize);
            data.splice(at..at, repeated);
        }
        4 => data.insert(at, random.below(256) as u8),
        _ => {
            let other = &seeds[random.below(seeds.len() as u64) as usize];
            let from = random.below(other.len() as u64 + 1) as usize;
            data.truncate(at);
            data.extend_from_slice(&other[from..]);
        }
    }
}

#[test]
fn answers() {
    run("answer", 2000, answer::run);
}

#[test]
fn answers_of_handler_socket() {
    run("handler_socket", 2000, handler_socket::run);
}

#[test]
fn logins() {
    run("login", 2000, login::run);
}

#[test]
fn logs_of_servers() {
    run("logs", 300, logs::run);
}

#[test]
fn channels() {
    run("channel", 300, channel::run);
}

#[test]
fn clients_of_the_model_server() {
    run("model", 300, model::run);
}

#[test]
fn scripts() {
    run("sql", 1000, sql::run);
}

#[test]
fn tokens_of_sql() {
    run("tokens", 1000, tokens::run);
}

#[test]
fn mysqlslap_words() {
    run("slap", 1000, slap::run);
}

#[test]
fn plans() {
    run("plan", 1000, plan::run);
}

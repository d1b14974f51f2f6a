//! The requests of a client, step by step.
#![allow(clippy::unwrap_used)]

use super::*;
use crate::client_list::ClientList;
use contend_engine::workload::{Answer, Workload as _};
use contend_figures::IgnoredErrors;
use contend_wire::{Capabilities, Summary};

fn list(texts: &[&str]) -> Clients {
    let text = |text: &&str| Text::Plain((*text).to_owned());
    Clients {
        statements: texts.iter().map(text).collect(),
        ..Clients::default()
    }
}

/// All requests and steps of a client in `events` events and at its end, with good answers only.
fn done(clients: Clients, events: u64) -> Vec<String> {
    let seat = SeatPlace {
        index: 0,
        count: 1,
        worker: 0,
        seed: 1,
    };
    let Ok(mut session) = ClientList::new(clients).session(seat) else {
        return Vec::new();
    };
    let mut all = Vec::new();
    walk(session.as_mut(), Call::Start, &mut all);
    for cycle in 0..events {
        let call = Call::Event {
            cycle,
            late_ns: 0,
            counts: true,
        };
        walk(session.as_mut(), call, &mut all);
    }
    walk(session.as_mut(), Call::Finish, &mut all);
    all
}

fn walk(session: &mut dyn Session, call: Call<'_>, all: &mut Vec<String>) {
    let mut out = Vec::new();
    let mut step = session.next(call, &mut out);
    loop {
        let sent = String::from_utf8_lossy(out.get(5..).unwrap_or_default()).into_owned();
        out.clear();
        step = match step {
            Step::Send(request) => {
                all.push(sent);
                if request.ends.is_some() {
                    return;
                }
                let answer = Answer {
                    summary: Summary::default(),
                    ..Answer::default()
                };
                session.next(Call::Answer(&answer), &mut out)
            }
            Step::Connect(_) => {
                all.push("connect".to_owned());
                let call = Call::Connected {
                    link: 0,
                    capabilities: Capabilities::NONE,
                };
                session.next(call, &mut out)
            }
            Step::Disconnect(link) => {
                all.push("quit".to_owned());
                session.next(Call::Lost(link), &mut out)
            }
            _ => return,
        };
    }
}

#[test]
fn the_list_is_begun_again() {
    assert_eq!(done(list(&["a", "b"]), 3), ["connect", "a", "b", "a"]);
}

#[test]
fn a_client_commits_now_and_then_and_at_its_end() {
    let clients = Clients {
        init: vec!["off".to_owned()],
        commit_every: 2,
        ..list(&["a"])
    };
    assert_eq!(
        done(clients, 3),
        ["connect", "off", "a", "a", "COMMIT", "a", "COMMIT"]
    );
}

#[test]
fn what_is_open_is_committed_before_the_connection_is_closed() {
    let clients = Clients {
        init: vec!["off".to_owned()],
        commit_every: 5,
        reconnect_every: 2,
        ..list(&["a", "b", "c"])
    };
    let all = done(clients, 3);
    let back = [
        "connect", "off", "a", "b", "COMMIT", "quit", "connect", "off", "c", "COMMIT",
    ];
    assert_eq!(all, back);
}

#[test]
fn keys_are_those_of_the_seed() {
    let clients = || Clients {
        statements: vec![Text::ByKey("id = ".to_owned())],
        keys: (0..9).map(|key| key.to_string()).collect(),
        ..Clients::default()
    };
    let all = done(clients(), 40);
    assert_eq!(all, done(clients(), 40));
    for key in 0..9 {
        assert!(all.contains(&format!("id =  '{key}'")), "{all:?}");
    }
}

#[test]
fn a_statement_that_fails_counts_as_failed_though_a_commit_follows() {
    let clients = Clients {
        commit_every: 1,
        ignores: IgnoredErrors::parse(["all"]).unwrap(),
        ..list(&["a"])
    };
    let seat = SeatPlace {
        index: 0,
        count: 1,
        worker: 0,
        seed: 1,
    };
    let mut session = ClientList::new(clients).session(seat).unwrap();
    walk(session.as_mut(), Call::Start, &mut Vec::new());
    let mut out = Vec::new();
    session.next(
        Call::Event {
            cycle: 0,
            late_ns: 0,
            counts: true,
        },
        &mut out,
    );
    let error = ServerError {
        code: 1062,
        sqlstate: *b"23000",
        message: "Duplicate entry".to_owned(),
    };
    let failed = Answer {
        error: Some(&error),
        ..Answer::default()
    };
    let commit = session.next(Call::Answer(&failed), &mut out);
    assert!(matches!(commit, Step::Send(_)) && out.ends_with(b"COMMIT"));
    let end = session.next(Call::Answer(&Answer::default()), &mut out);
    assert!(matches!(end, Step::EventDropped), "{end:?}");
}

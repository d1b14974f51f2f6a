//! The requests of terminals, answered by a server that has one answer for each kind of question.
//! Each fault that other kits have is a test here.
#![allow(clippy::unwrap_used, clippy::panic)]

mod draws;
mod looks;
mod routes;
mod transactions;

use super::*;
use crate::native::{Native, Retries, Way};
use contend_client::request::Ending;
use contend_engine::workload::{Answer, Call, SeatPlace, Session, Step, Verdict, Workload};
use contend_plan::Protocol;
use contend_random::nurand::A_C_LAST;
use contend_wire::{Capabilities, Flavour, ServerError, Summary};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

const PRICE: &str = "12.34";
const STOCK: i64 = 30;
const LAST_ORDER: &str = "3001";

fn keys(told: serde_json::Value) -> Keys {
    let mut all = json!({"warehouses": 10, "c_load": 33});
    let told = told.as_object().unwrap().clone();
    all.as_object_mut().unwrap().extend(told);
    serde_json::from_value(all).unwrap()
}

/// A terminal with the statements that it has asked since the event began.
struct Asked {
    session: Box<dyn Session>,
    out: Vec<u8>,
    statements: Vec<String>,
    /// The node of each statement.
    links: Vec<u16>,
    ending: Ending,
    names: Vec<String>,
    /// Rows of customers by name.
    of_name: usize,
    /// The value that LAST_INSERT_ID(…) has kept, in answers.
    insert_id: u64,
}

impl Asked {
    fn new(told: serde_json::Value) -> Self {
        Self::at(told, 0)
    }

    fn at(told: serde_json::Value, index: u32) -> Self {
        Self::by_way(told, index, Self::way())
    }

    fn way() -> Way {
        Way {
            protocol: Protocol::Text,
            retries: Retries {
                limit: 3,
                pause: Duration::ZERO,
            },
            ..Way::default()
        }
    }

    fn by_way(told: serde_json::Value, index: u32, way: Way) -> Self {
        let nodes = way.route.nodes();
        let workload = Native::new(Tpcc::new(keys(told)), way);
        let seat = SeatPlace {
            index,
            count: 1,
            worker: 0,
            seed: 11,
        };
        let mut session = workload.session(seat).unwrap();
        let mut out = Vec::new();
        session.next(Call::Start, &mut out);
        for link in 0..nodes {
            let call = Call::Connected {
                link,
                capabilities: Capabilities::NONE,
            };
            let is_ready = matches!(session.next(call, &mut out), Step::Ready);
            assert_eq!(is_ready, link + 1 == nodes);
        }
        Self {
            session,
            out,
            statements: Vec::new(),
            links: Vec::new(),
            ending: Ending::default(),
            names: workload
                .kinds()
                .iter()
                .map(|kind| kind.name.clone())
                .collect(),
            of_name: 5,
            insert_id: 3001,
        }
    }

    fn call(&mut self, call: Call<'_>) -> Step {
        self.out.clear();
        self.session.next(call, &mut self.out)
    }

    /// One whole event; the name of its kind.
    fn event(&mut self, cycle: u64) -> String {
        self.statements.clear();
        self.links.clear();
        let mut step = self.call(begin(cycle));
        loop {
            let request = match step {
                Step::Send(request) => request,
                Step::EventEnd(ending) => {
                    self.ending = ending;
                    return self.names[usize::from(ending.kind)].clone();
                }
                other => panic!("{other:?}"),
            };
            self.statements.push(self.session.statement());
            self.links.push(request.link);
            if let Some(ending) = request.ends {
                self.ending = ending;
                return self.names[usize::from(ending.kind)].clone();
            }
            let (bytes, summary) = answer(
                self.statements.last().unwrap(),
                self.of_name,
                self.insert_id,
            );
            let answer = Answer {
                summary,
                bytes: Some(&bytes),
                ..Answer::default()
            };
            step = self.call(Call::Answer(&answer));
        }
    }

    /// The statements of the first event of this kind.
    fn first(&mut self, kind: &str) -> Vec<String> {
        let found = (0..1000).any(|cycle| self.event(cycle) == kind);
        assert!(found, "no {kind}");
        self.statements.clone()
    }

    /// The statements of all events of one kind, one list per event.
    fn all(&mut self, kind: &str, cycles: u64) -> Vec<Vec<String>> {
        let mut all = Vec::new();
        for cycle in 0..cycles {
            if self.event(cycle) == kind {
                all.push(self.statements.clone());
            }
        }
        all
    }
}

fn begin(cycle: u64) -> Call<'static> {
    Call::Event {
        cycle,
        late_ns: 0,
        counts: true,
    }
}

/// The server's answer: rows as text, and the summary.
fn answer(sql: &str, of_name: usize, last_insert_id: u64) -> (Vec<u8>, Summary) {
    let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<String>>();
    let rows: Vec<Vec<String>> = if sql.starts_with("SELECT d_next_o_id") {
        vec![words(&format!("{LAST_ORDER} 0.1"))]
    } else if sql.starts_with("SELECT i_price") {
        match numbers(sql).last() {
            Some(item) if *item > 100_000 => vec![],
            _ => vec![words(&format!("{PRICE} name data"))],
        }
    } else if sql.starts_with("SELECT i_id") {
        let there = numbers(sql).into_iter().filter(|item| *item <= 100_000);
        there
            .map(|item| words(&format!("{item} {PRICE} name data")))
            .collect()
    } else if sql.starts_with("SELECT s_quantity") {
        vec![words(&format!("{STOCK} data information-of-24-bytes!"))]
    } else if sql.starts_with("SELECT s_w_id") {
        let pairs = numbers(&sql[sql.find(" IN (").unwrap()..]);
        let row = |pair: &[u64]| {
            words(&format!(
                "{} {} {STOCK} data information-of-24-bytes!",
                pair[0], pair[1]
            ))
        };
        pairs.chunks_exact(2).map(row).collect()
    } else if sql.starts_with("SELECT c_id") {
        (1..=of_name)
            .map(|id| vec![(id * 100).to_string()])
            .collect()
    } else if sql.starts_with("SELECT c_first") {
        let credit = if numbers(sql).last().unwrap().is_multiple_of(2) {
            "BC"
        } else {
            "GC"
        };
        vec![words(&format!("a b c d e f g h i j {credit} l m n"))]
    } else if sql.starts_with("SELECT c_data") {
        vec![vec!["x".repeat(500)]]
    } else if sql.starts_with("SELECT w_name") || sql.starts_with("SELECT d_name") {
        vec![vec!["somewhere".to_owned()]]
    } else if sql.starts_with("SELECT no_o_id") || sql.contains("RETURNING no_o_id") {
        // District 4 has no new order.
        match numbers(sql).get(1) {
            Some(4) => vec![],
            _ => vec![vec!["2101".to_owned()]],
        }
    } else if sql.starts_with("SELECT SUM") {
        vec![vec!["250.75".to_owned()]]
    } else if sql.starts_with("SELECT o_c_id") || sql.starts_with("SELECT o_id") {
        vec![vec!["77".to_owned()]]
    } else if sql.starts_with("SELECT") {
        vec![vec!["1".to_owned()]]
    } else {
        vec![]
    };
    let summary = Summary {
        rows: rows.len() as u64,
        last_insert_id,
        ..Summary::default()
    };
    (in_packets(&rows), summary)
}

fn in_packets(rows: &[Vec<String>]) -> Vec<u8> {
    let columns = rows.first().map_or(1, Vec::len);
    let mut packets = vec![vec![columns as u8]];
    packets.extend(vec![b"\x03def".to_vec(); columns]);
    packets.push(b"\xfe\0\0\x02\0".to_vec());
    for row in rows {
        let mut packet = Vec::new();
        for value in row {
            match value.len() {
                short @ 0..251 => packet.push(short as u8),
                long => packet.extend_from_slice(&[0xfc, long as u8, (long >> 8) as u8]),
            }
            packet.extend_from_slice(value.as_bytes());
        }
        packets.push(packet);
    }
    packets.push(b"\xfe\0\0\x02\0".to_vec());
    let mut bytes = Vec::new();
    for (place, packet) in packets.iter().enumerate() {
        let [low, high, ..] = packet.len().to_le_bytes();
        bytes.extend_from_slice(&[low, high, 0, (place + 1) as u8]);
        bytes.extend_from_slice(packet);
    }
    bytes
}

/// The whole numbers of a statement that are values and not parts of names.
fn numbers(sql: &str) -> Vec<u64> {
    let words = sql.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '.'));
    words.filter_map(|word| word.parse().ok()).collect()
}

fn starting<'s>(statements: &'s [String], with: &str) -> Vec<&'s String> {
    let them = statements.iter().filter(|sql| sql.starts_with(with));
    them.collect()
}

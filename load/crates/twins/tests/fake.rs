//! A run against servers that keep what they are asked.

#![allow(clippy::unwrap_used, clippy::panic)]
use contend_figures::outcome::{AskDone, AskEnded, AskOutcome};
use contend_plan::AskPlan;
use contend_reactor::socket::Address;
use contend_recording::Determined;
use contend_servers::null_server::testing::NullServer;
use contend_servers::serve::{Answering, Cell, ColumnOut, Refusal, ReplyWriter, ServiceTime};
use contend_twins::{AskSample, SampledStatement, SampledTemplate, run};
use contend_wire::mysql::BoundValues;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::Duration;

type Log = Arc<Mutex<Vec<(&'static str, String)>>>;

/// Answers each statement with one row, its own text; those with `slow` in it after a while, and
/// those with `refused` on arm `b` not at all.
struct Fake {
    arm: &'static str,
    log: Log,
}

impl Answering for Fake {
    type Client = ();
    type Statement = ();
    const VERSION: &str = "12.0.0-fake";

    fn welcome(&mut self, _number: u32) {}

    fn query(&mut self, (): &mut (), sql: &[u8], reply: &mut ReplyWriter<'_>) {
        let text = String::from_utf8_lossy(sql).into_owned();
        if text.contains("slow") {
            std::thread::sleep(Duration::from_millis(300));
        }
        let is_refused = text.contains("refused") && self.arm == "b";
        let is_query = text.starts_with("SELECT");
        self.log.lock().unwrap().push((self.arm, text.clone()));
        if is_refused {
            return reply.error(&Refusal::new(1146, b"42S02", "Table 'x.y' doesn't exist"));
        }
        if !is_query {
            return reply.ok(0);
        }
        let columns = [ColumnOut::text("a")];
        let other = format!("{}{text}", self.arm);
        let shown = if text.contains("differs") {
            &other
        } else {
            &text
        };
        reply.columns(&columns);
        reply.row(&columns, &[Cell::Text(shown.as_bytes())]);
        reply.end_of_rows();
    }

    fn prepare(&mut self, (): &mut (), _sql: &[u8]) -> Result<(), Refusal> {
        Err(Refusal::new(1295, b"HY000", "no"))
    }

    fn shape<'s>(&'s self, (): &'s ()) -> (u16, &'s [ColumnOut]) {
        (0, &[])
    }

    fn execute(
        &mut self,
        (): &mut (),
        (): &(),
        _values: BoundValues<'_>,
        _reply: &mut ReplyWriter<'_>,
    ) {
    }
}

/// A sample of ten statements of each of these words.
fn sample(words: &[&str]) -> AskSample {
    let mut sample = AskSample::default();
    for (template, word) in words.iter().enumerate() {
        sample.templates.push(SampledTemplate {
            number: template as u32,
            statements: 10,
            share: 0.5,
            ..SampledTemplate::default()
        });
        for number in 0..10 {
            sample.statements.push(SampledStatement {
                number,
                template,
                text: format!("SELECT '{word}', {number}").into_bytes().into(),
                database: 0,
                ansi_quotes: false,
                no_backslash_escapes: false,
                is_read: true,
                determined: Determined::Wholly,
                timestamp_us: Some(1_700_000_000_000_001),
                last_insert_id: None,
                rows_sent: Some(number % 2),
            });
        }
    }
    sample
}

fn asked(words: &[&str], keys: serde_json::Value) -> (AskDone, Vec<(&'static str, String)>) {
    let log = Log::default();
    let servers = ["a", "b"].map(|arm| {
        let log = Arc::clone(&log);
        let make = move || Fake {
            arm,
            log: Arc::clone(&log),
        };
        NullServer::answering(ServiceTime::None, None, make)
    });
    let arms: Vec<_> = ["a", "b"]
        .iter()
        .zip(&servers)
        .map(|(name, server)| {
            let Address::Unix(path) = server.target().address else {
                return serde_json::Value::Null;
            };
            serde_json::json!({"name": name, "server": {"socket": path}})
        })
        .collect();
    let mut plan = serde_json::json!({"version": 1, "recording": "", "arms": arms, "warm": false});
    for (key, value) in keys.as_object().unwrap() {
        plan[key] = value.clone();
    }
    let plan: AskPlan = serde_json::from_value(plan).unwrap();
    let mut lines = Vec::new();
    let stop = AtomicBool::new(false);
    let done = run(&plan, &sample(words), &stop, &mut |line| lines.push(line)).unwrap();
    assert!(matches!(lines[0], AskOutcome::Hello(_)));
    let log = std::mem::take(&mut *log.lock().unwrap());
    (done, log)
}

#[test]
fn each_statement_is_sent_to_both_arms_before_the_next_and_each_begins_half() {
    let (done, log) = asked(&["one", "two"], serde_json::json!({"rounds": 2}));
    assert_eq!(
        (done.ended, done.asked, done.planned),
        (AskEnded::Done, 40, 40)
    );
    let texts: Vec<_> = log
        .iter()
        .filter(|(_, text)| text.starts_with("SELECT '"))
        .collect();
    assert_eq!(texts.len(), 80);
    let mut first = 0;
    for twins in texts.chunks(2) {
        assert_eq!(twins[0].1, twins[1].1);
        assert_ne!(twins[0].0, twins[1].0);
        first += u32::from(twins[0].0 == "a");
    }
    assert_eq!(first, 20);
    // Not template by template.
    assert!(texts[..20].iter().any(|(_, text)| text.contains("one")));
    assert!(texts[..20].iter().any(|(_, text)| text.contains("two")));
    let sets = log
        .iter()
        .filter(|(_, text)| text == "SET timestamp=1700000000.000001");
    assert_eq!(sets.count(), 80);
    let template = &done.templates[0];
    // Once each, though in two rounds.
    assert_eq!(template.pairs[0].pairs, 10);
    assert_eq!(
        (
            template.arms[0].rows_logged,
            template.arms[0].rows_as_logged
        ),
        (20, 10)
    );
    assert_eq!(done.arms[1].figures.count, 40);
}

#[test]
fn answers_that_differ_and_errors_of_one_side_are_counted() {
    let (done, _) = asked(&["differs", "refused"], serde_json::json!({}));
    let [differs, refused] = &done.templates[..] else {
        panic!("two templates");
    };
    assert_eq!(differs.pairs[0].results_differ, 10);
    assert_eq!(differs.pairs[0].rows_differ, 0);
    assert_eq!(refused.one_sided, 10);
    assert_eq!(refused.arms[1].errors["1146"], 10);
    assert_eq!((refused.arms[0].count, refused.arms[1].count), (10, 0));
    assert_eq!(refused.pairs[0].pairs, 0);
    assert_eq!(done.missing_tables[0].table, "x.y");
    assert!((done.missing_tables_share - 0.5).abs() < 1e-9);
}

#[test]
fn a_template_that_is_too_slow_three_times_is_not_sent_again() {
    let (done, _) = asked(&["slow", "quick"], serde_json::json!({"limit_s": 0.1}));
    let slow = &done.templates[0];
    assert_eq!(slow.stopped.as_deref(), Some("too_slow"));
    assert_eq!(
        (slow.asked, slow.arms[0].too_slow, slow.arms[1].too_slow),
        (3, 3, 3)
    );
    assert_eq!(done.templates[1].asked, 10);
    assert_eq!((done.ended, done.incomplete_templates), (AskEnded::Done, 0));
}

#[test]
fn the_time_limit_ends_a_run_and_unfinished_templates_are_counted() {
    let keys = serde_json::json!({"rounds": 100_000, "for_s": 0.2, "warm": true});
    let (done, _) = asked(&["one", "two"], keys);
    assert_eq!((done.ended, done.incomplete_templates), (AskEnded::Time, 2));
    assert_eq!(done.warm, 2);
    assert!(done.asked > 0 && done.asked < done.planned);
}

//! What native sessions ask, and when they ask it again.
#![allow(clippy::unwrap_used, clippy::panic)]
use super::*;
use crate::random::{Sampler, Shape};
use crate::wire::{Prepared, ServerError};
use crate::workload::point_select::PointSelect;

/// The texts that the first `cycles` events of a kind ask, step by step.
pub fn asked(kind: &impl Kind, seed: u64, cycles: u64) -> Vec<String> {
    let statements: Vec<Statement> = kind
        .queries()
        .into_iter()
        .map(|query| Statement::new(query.pieces))
        .collect();
    let mut texts = Vec::new();
    for cycle in 0..cycles {
        let mut event = Event::new(seed, cycle);
        for step in 0.. {
            let mut parameters = Parameters::default();
            let ask = kind.ask(step, &mut event, &mut parameters);
            let statement = &statements[ask.query];
            assert_eq!(statement.marks(), parameters.count());
            texts.push(statement.text(&parameters));
            if ask.is_last {
                break;
            }
        }
    }
    texts
}

fn session(protocol: Protocol) -> NativeSession<PointSelect> {
    let keys = Sampler::new(Shape::Uniform, 1, 100);
    let kind = PointSelect::new(Tables::new("sbtest", None), keys);
    let init = Arc::from(["SET @a = 1".to_owned()]);
    NativeSession::new(Arc::new(kind), Way { protocol, init }, 3)
}

fn request(step: Step) -> Request {
    match step {
        Step::Send(request) => request,
        other => panic!("{other:?}"),
    }
}

#[test]
fn prepares_on_every_new_connection_and_asks_by_cycle() {
    let mut session = session(Protocol::Prepared);
    let mut out = Vec::new();
    assert!(matches!(
        session.next(Call::Start, &mut out),
        Step::Connect(SERVER)
    ));
    for _ in 0..2 {
        out.clear();
        let step = session.set_up(0, &mut out);
        assert_eq!(request(step).reply, Reply::Counts);
        assert_eq!(session.statement(), "SET @a = 1");
        let step = session.next(Call::Answer(&Answer::default()), &mut out);
        assert_eq!(request(step).reply, Reply::Prepared);
        assert_eq!(
            session.statement(),
            "PREPARE SELECT c FROM sbtest WHERE id = ?"
        );
        let prepared = Prepared {
            id: 4,
            columns: 1,
            parameters: 1,
        };
        let answer = Answer {
            prepared: Some(prepared),
            ..Answer::default()
        };
        assert!(matches!(
            session.next(Call::Answer(&answer), &mut out),
            Step::Ready
        ));
        out.clear();
        let asked = request(session.next(
            Call::Event {
                cycle: 5,
                late_ns: 0,
            },
            &mut out,
        ));
        assert!(asked.ends && asked.class == Class::Of(0));
        assert_eq!(out[4], 0x17);
        assert!(matches!(
            session.next(Call::Lost(0), &mut out),
            Step::Connect(SERVER)
        ));
    }
}

#[test]
fn a_retried_event_asks_the_same_again() {
    let mut session = session(Protocol::Text);
    let (mut first, mut again) = (Vec::new(), Vec::new());
    session.next(
        Call::Event {
            cycle: 8,
            late_ns: 0,
        },
        &mut first,
    );
    let error = ServerError {
        code: 1205,
        sqlstate: *b"HY000",
        message: "Lock wait".to_owned(),
    };
    let answer = Answer {
        error: Some(&error),
        verdict: Verdict::Retry,
        ..Answer::default()
    };
    request(session.next(Call::Answer(&answer), &mut again));
    assert_eq!(first, again);
    let answer = Answer {
        error: Some(&error),
        verdict: Verdict::Ignore,
        ..Answer::default()
    };
    assert!(matches!(
        session.next(Call::Answer(&answer), &mut again),
        Step::EventEnd
    ));
}

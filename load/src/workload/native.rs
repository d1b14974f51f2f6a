//! The session of every native workload: prepare, ask step by step, begin again where it must.

use super::statement::{Parameters, Statement, wants_prepare};
use super::{Answer, Call, Class, Link, Reply, Request, Seat, Session, Step, Verdict, Workload};
use crate::outcome::Failure;
use crate::plan::Protocol;
use crate::random::Stream;
use crate::wire::command;
use std::sync::Arc;

/// One kind of native workload: its queries, and what it asks at each step of an event.
///
/// Every draw comes from the event's own stream, so cycle n of a seed asks the same question
/// on any connection of any thread.
pub trait Kind: Send + Sync + 'static {
    /// Names of the statement classes.
    fn classes(&self) -> Vec<String>;

    /// The queries that [`Self::ask`] chooses from.
    fn queries(&self) -> Vec<Query>;

    /// Steps of an event.
    fn steps(&self) -> u32;

    /// Puts the values of a step and returns the place of its query.
    fn ask(&self, step: u32, stream: &mut Stream, parameters: &mut Parameters) -> usize;
}

/// One query of a kind: its class, and its text with a `?` for each value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    pub class: u8,
    pub sql: String,
}

impl Query {
    pub fn new(class: u8, sql: String) -> Self {
        Self { class, sql }
    }
}

/// A kind as a workload.
pub struct Native<K> {
    kind: Arc<K>,
    protocol: Protocol,
    classes: Vec<String>,
}

impl<K: Kind> Native<K> {
    pub fn new(kind: K, protocol: Protocol) -> Self {
        Self {
            classes: kind.classes(),
            kind: Arc::new(kind),
            protocol,
        }
    }
}

impl<K: Kind> Workload for Native<K> {
    fn classes(&self) -> &[String] {
        &self.classes
    }

    fn is_single_query(&self) -> bool {
        self.classes.len() == 1 && self.kind.steps() == 1
    }

    fn session(&self, seat: Seat) -> Result<Box<dyn Session>, Failure> {
        Ok(Box::new(NativeSession::new(
            Arc::clone(&self.kind),
            self.protocol,
            seat.seed,
        )))
    }
}

/// The only link of a native session, and the server it goes to.
const LINK: Link = 0;
const SERVER: u16 = 0;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Preparing the query at this place.
    Preparing(usize),
    Ready,
    /// Waiting for the answer to this step.
    Asking(u32),
    /// Taking back a transaction that failed, before the event begins again.
    RollingBack,
}

struct NativeSession<K> {
    kind: Arc<K>,
    protocol: Protocol,
    steps: u32,
    statements: Vec<(Class, Statement)>,
    seed: u64,
    cycle: u64,
    stream: Stream,
    parameters: Parameters,
    /// The query asked last.
    asked: usize,
    state: State,
}

impl<K: Kind> NativeSession<K> {
    fn new(kind: Arc<K>, protocol: Protocol, seed: u64) -> Self {
        let statements = kind
            .queries()
            .iter()
            .map(|query| (Class::Of(query.class), Statement::new(&query.sql)))
            .collect();
        Self {
            steps: kind.steps(),
            kind,
            protocol,
            statements,
            seed,
            cycle: 0,
            stream: Stream::for_cycle(seed, 0),
            parameters: Parameters::default(),
            asked: 0,
            state: State::Ready,
        }
    }

    /// Prepares the query at `place`, or is ready where there is none left.
    fn prepare(&mut self, place: usize, out: &mut Vec<u8>) -> Step {
        match self.statements.get(place) {
            Some((_, statement)) if wants_prepare(self.protocol) => {
                statement.put_prepare(out);
                self.asked = place;
                self.state = State::Preparing(place);
                Step::Send(Request {
                    link: LINK,
                    class: Class::Uncounted,
                    reply: Reply::Prepared,
                    ends: false,
                })
            }
            _ => {
                self.state = State::Ready;
                Step::Ready
            }
        }
    }

    #[inline]
    fn begin(&mut self, out: &mut Vec<u8>) -> Step {
        self.stream = Stream::for_cycle(self.seed, self.cycle);
        self.ask(0, out)
    }

    #[inline]
    fn ask(&mut self, step: u32, out: &mut Vec<u8>) -> Step {
        self.parameters.clear();
        self.asked = self.kind.ask(step, &mut self.stream, &mut self.parameters);
        self.state = State::Asking(step);
        let Some((class, statement)) = self.statements.get_mut(self.asked) else {
            return Step::Stop;
        };
        if let Err(error) = statement.put(out, &self.parameters) {
            return Step::Fail(Box::new(Failure {
                message: error.to_string(),
                hint: None,
                code: None,
                sqlstate: None,
                statement: Some(self.statement()),
            }));
        }
        Step::Send(Request {
            link: LINK,
            class: *class,
            reply: Reply::Counts,
            ends: step + 1 == self.steps,
        })
    }

    fn answered(&mut self, answer: &Answer<'_>, out: &mut Vec<u8>) -> Step {
        match self.state {
            State::Preparing(place) => {
                if let (Some(prepared), Some((_, statement))) =
                    (answer.prepared, self.statements.get_mut(place))
                {
                    statement.set_prepared(prepared);
                }
                // An ignored error leaves the statement as text, which asks the same.
                self.prepare(place + 1, out)
            }
            State::Asking(step) => match (answer.error, answer.verdict) {
                (Some(_), Verdict::Retry) if self.steps > 1 => self.roll_back(out),
                (Some(_), Verdict::Retry) => self.begin(out),
                _ if step + 1 == self.steps => Step::EventEnd,
                _ => self.ask(step + 1, out),
            },
            State::RollingBack => self.begin(out),
            State::Ready => Step::Ready,
        }
    }

    /// After an error inside a transaction the server may have kept it open.
    fn roll_back(&mut self, out: &mut Vec<u8>) -> Step {
        command::query(out, b"ROLLBACK");
        self.state = State::RollingBack;
        Step::Send(Request {
            link: LINK,
            class: Class::Uncounted,
            reply: Reply::Counts,
            ends: false,
        })
    }
}

impl<K: Kind> Session for NativeSession<K> {
    fn next(&mut self, call: Call<'_>, out: &mut Vec<u8>) -> Step {
        match call {
            Call::Event { cycle } => {
                self.cycle = cycle;
                self.begin(out)
            }
            Call::Answer(answer) => self.answered(answer, out),
            Call::Start => Step::Connect(SERVER),
            Call::Connected { .. } => self.prepare(0, out),
            // A native session judges no errors, so nothing breaks but by loss.
            Call::Lost(_) | Call::Broken(_) => {
                self.statements
                    .iter_mut()
                    .for_each(|(_, statement)| statement.forget());
                Step::Connect(SERVER)
            }
            Call::Woken => Step::Ready,
            Call::Finish => Step::Stop,
        }
    }

    fn statement(&self) -> String {
        match (self.state, self.statements.get(self.asked)) {
            (State::RollingBack, _) => "ROLLBACK".to_owned(),
            (State::Preparing(_), Some((_, statement))) => format!("PREPARE {}", statement.sql()),
            (_, Some((_, statement))) => statement.text(&self.parameters),
            (_, None) => String::new(),
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]
    use super::*;
    use crate::plan::Distribution;
    use crate::wire::{Prepared, ServerError, Summary};
    use crate::workload::point_select::PointSelect;

    /// The texts that the first `cycles` events of a kind ask, step by step.
    pub fn asked(kind: &impl Kind, seed: u64, cycles: u64) -> Vec<String> {
        let statements: Vec<Statement> = kind
            .queries()
            .iter()
            .map(|query| Statement::new(&query.sql))
            .collect();
        let mut texts = Vec::new();
        for cycle in 0..cycles {
            let mut stream = Stream::for_cycle(seed, cycle);
            for step in 0..kind.steps() {
                let mut parameters = Parameters::default();
                let statement = &statements[kind.ask(step, &mut stream, &mut parameters)];
                assert_eq!(statement.marks(), parameters.count());
                texts.push(statement.text(&parameters));
            }
        }
        texts
    }

    const GOOD: Answer<'static> = Answer {
        summary: Summary {
            rows: 1,
            affected_rows: 0,
            last_insert_id: 0,
            results: 1,
            columns: 1,
            warnings: 0,
            status: 0,
            failed: false,
        },
        error: None,
        verdict: Verdict::Ignore,
        prepared: None,
        bytes: None,
    };

    fn session(protocol: Protocol) -> NativeSession<PointSelect> {
        let kind = PointSelect::new("sbtest", 100, &Distribution::default());
        NativeSession::new(Arc::new(kind), protocol, 3)
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
            let step = session.prepare(0, &mut out);
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
                ..GOOD
            };
            assert!(matches!(
                session.next(Call::Answer(&answer), &mut out),
                Step::Ready
            ));
            out.clear();
            let asked = request(session.next(Call::Event { cycle: 5 }, &mut out));
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
        session.next(Call::Event { cycle: 8 }, &mut first);
        let error = ServerError {
            code: 1205,
            sqlstate: *b"HY000",
            message: "Lock wait".to_owned(),
        };
        let answer = Answer {
            error: Some(&error),
            verdict: Verdict::Retry,
            ..GOOD
        };
        request(session.next(Call::Answer(&answer), &mut again));
        assert_eq!(first, again);
        let answer = Answer {
            error: Some(&error),
            verdict: Verdict::Ignore,
            ..GOOD
        };
        assert!(matches!(
            session.next(Call::Answer(&answer), &mut again),
            Step::EventEnd
        ));
    }
}

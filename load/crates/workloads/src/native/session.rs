//! The session of every native workload: connect, prepare, event after event, again if it must.

use super::requests::Requests;
use super::{Asker, EventEnd, Interrupted, Kind, LastQuestion, OpenEvent, Own, Way};
use crate::async_session::{AsyncSession, DriverCall, NextCall, SessionState};
use crate::statement::Parameters;
use contend_client::request::{Class, Ending, LinkNumber, Reply, Request};
use contend_engine::workload::{Call, SeatPlace, Step};
use contend_figures::outcome::Failure;
use contend_wire::Capabilities;
use contend_wire::mysql::command;
use std::convert::Infallible;
use std::sync::Arc;

pub(super) struct NativeState<K: Kind> {
    kind: Arc<K>,
    pub own: K::Own,
    way: Arc<Way>,
    pub requests: Requests,
    seed: u64,
    pub event: OpenEvent,
    pub values: Parameters,
    /// The link used last.
    link: LinkNumber,
    last: LastRequest,
}

/// The request sent last.
#[derive(Clone, Copy)]
enum LastRequest {
    /// A request of a link's setup, by its number.
    SetUp(usize),
    /// A query, by its place.
    Query(usize),
    Rollback,
}

const ROLLBACK: &str = "ROLLBACK";

/// The session of one seat.
pub fn session<K: Kind>(
    kind: Arc<K>,
    requests: Requests,
    way: Arc<Way>,
    seat: SeatPlace,
) -> AsyncSession<NativeState<K>, impl Future<Output = Infallible>> {
    let state = NativeState {
        kind: Arc::clone(&kind),
        own: K::Own::of(seat),
        way,
        requests,
        seed: seat.seed,
        event: OpenEvent::new(seat.seed, 0),
        values: Parameters::default(),
        link: 0,
        last: LastRequest::Query(0),
    };
    AsyncSession::new(state, async move |driver| {
        let mut asker = Asker { driver };
        let mut heard = asker.driver.heard();
        loop {
            let DriverCall::Event(cycle) = heard else {
                // Rare, and large: in place it would more than double the memory of every session.
                heard = Box::pin(asker.between_events(heard)).await;
                continue;
            };
            asker.begin(cycle);
            heard = match kind.event(&mut asker).await {
                Ok(LastQuestion::Asked(end)) => match asker.driver.called().await {
                    DriverCall::Answer => asker.answered(end).await,
                    other => other,
                },
                Ok(LastQuestion::End(end)) => asker.ended(end).await,
                Err(Interrupted) => match asker.driver.heard() {
                    DriverCall::Answer => asker.again().await,
                    other => other,
                },
            };
        }
    })
}

/// The functions below do a step, or several, and return why the driver called after it.
impl<K: Kind> Asker<K> {
    #[cold]
    async fn between_events(&mut self, heard: DriverCall) -> DriverCall {
        match heard {
            DriverCall::Connected { link, capabilities } => self.set_up(link, capabilities).await,
            DriverCall::Lost(link) => self.connect_again(Some(link)).await,
            // A native session judges no errors, so nothing breaks but by loss.
            DriverCall::Broken => self.connect_again(None).await,
            DriverCall::Start => self.connect_or_ready().await,
            DriverCall::Event(_) | DriverCall::Answer | DriverCall::Woken => {
                self.driver.step(Step::Ready).await
            }
            DriverCall::Finish => self.driver.step(Step::Stop).await,
        }
    }

    /// Connects to the first server to which there is no link, or is ready.
    fn connect_or_ready(&mut self) -> NextCall<'_, NativeState<K>> {
        let closed = self.driver.with(|turn| turn.state.requests.first_closed());
        self.driver.step(closed.map_or(Step::Ready, Step::Connect))
    }

    /// A link is gone: this one, or the one used last.
    fn connect_again(&mut self, link: Option<LinkNumber>) -> NextCall<'_, NativeState<K>> {
        self.driver.with(|turn| turn.state.forget(link));
        self.connect_or_ready()
    }

    /// Prepares what the events need on a new link.
    async fn set_up(&mut self, link: LinkNumber, capabilities: Capabilities) -> DriverCall {
        let failure = self.driver.with(|turn| turn.state.open(link, capabilities));
        if let Some(failure) = failure {
            return self.driver.step(Step::Fail(Box::new(failure))).await;
        }
        let mut next = 0;
        while let Some(number) = self.driver.with(|turn| {
            let state = &mut *turn.state;
            let (number, reply) = state.requests.put_set_up(link, next, turn.out)?;
            state.last = LastRequest::SetUp(number);
            *turn.step = state.uncounted(reply);
            Some(number)
        }) {
            let heard = self.driver.called().await;
            let DriverCall::Answer = heard else {
                return heard;
            };
            // An ignored error leaves the statement as text, which asks the same.
            self.driver.with(|turn| {
                if let Call::Answer(answer) = turn.call {
                    let requests = &mut turn.state.requests;
                    requests.set_prepared(link, number, answer.prepared);
                }
            });
            next = number + 1;
        }
        self.driver.with(|turn| turn.state.requests.set_up(link));
        self.connect_or_ready().await
    }

    #[inline(always)]
    fn begin(&mut self, cycle: u64) {
        self.driver
            .with(|turn| turn.state.event = OpenEvent::new(turn.state.seed, cycle));
    }

    fn ended(&mut self, end: EventEnd) -> NextCall<'_, NativeState<K>> {
        let ending = self.driver.with(|turn| turn.state.ending(end));
        self.driver.step(Step::EventEnd(ending))
    }

    /// The last question of an event is answered: by an error, or the session would not be called.
    async fn answered(&mut self, end: EventEnd) -> DriverCall {
        let is_refused = self
            .driver
            .with(|turn| matches!(turn.call, Call::Answer(answer) if answer.is_retried()));
        match is_refused {
            true => self.again().await,
            false => self.ended(end).await,
        }
    }

    /// Begins the event again, or gives it up. After an error inside a transaction the server may
    /// have kept it open.
    #[cold]
    async fn again(&mut self) -> DriverCall {
        let is_open = self.driver.with(|turn| {
            let state = &mut *turn.state;
            let is_open = state.kind.leaves_transaction(&state.event);
            if is_open {
                command::query(turn.out, ROLLBACK.as_bytes());
                state.last = LastRequest::Rollback;
                *turn.step = state.uncounted(Reply::Counts);
            }
            is_open
        });
        if is_open {
            let heard = self.driver.called().await;
            let DriverCall::Answer = heard else {
                return heard;
            };
        }
        let step = self.driver.with(|turn| {
            let tries = match turn.call {
                Call::Answer(answer) => answer.tries,
                _ => 0,
            };
            turn.state.way.retries.again(&turn.state.event, tries)
        });
        self.driver.step(step).await
    }
}

impl<K: Kind> NativeState<K> {
    fn forget(&mut self, link: Option<LinkNumber>) {
        self.link = link.unwrap_or(self.link);
        self.requests.forget(self.link);
    }

    /// Checks that the server of a new link knows the requests before anything is prepared.
    fn open(&mut self, link: LinkNumber, capabilities: Capabilities) -> Option<Failure> {
        self.link = link;
        (!self.requests.open(link, capabilities)).then(|| Failure {
            hint: Some(
                "MariaDB has it; for other servers change workload.insert_by or \
                 workload.bulk_execute"
                    .to_owned(),
            ),
            ..self.failure("the server has no bulk execute (COM_STMT_BULK_EXECUTE)".to_owned())
        })
    }

    pub fn route_by(&mut self, others: impl FnOnce(&mut dyn FnMut(u64))) {
        if self.way.route.looks_at_all_keys() {
            self.event.node = self.way.route.node_of_all(&self.event, others);
        }
    }

    /// Puts a question of the event.
    #[inline(always)]
    pub fn send(
        &mut self,
        query: usize,
        wants_rows: bool,
        ends: Option<EventEnd>,
        out: &mut Vec<u8>,
    ) -> Step {
        self.last = LastRequest::Query(query);
        match (self.requests).put(query, &self.event, &self.values, out) {
            Ok(request) => {
                self.link = request.link;
                Step::Send(Request {
                    reply: match request.reply {
                        Reply::Counts if wants_rows => Reply::Whole,
                        reply => reply,
                    },
                    ends: ends.map(|end| self.ending(end)),
                    ..request
                })
            }
            Err(error) => Step::Fail(Box::new(self.failure(error.to_string()))),
        }
    }

    fn uncounted(&self, reply: Reply) -> Step {
        Step::Send(Request {
            link: self.link,
            class: Class::Uncounted,
            reply,
            ends: None,
        })
    }

    #[inline]
    fn ending(&self, end: EventEnd) -> Ending {
        Ending {
            kind: self.event.kind,
            rolled_back: end == EventEnd::RolledBack,
        }
    }

    /// How the answer to the question is written.
    #[inline(always)]
    pub fn form(&self) -> (Capabilities, bool) {
        match self.last {
            LastRequest::Query(query) => self.requests.form(self.link, query),
            _ => (Capabilities::NONE, false),
        }
    }

    /// The events rely on this row. Its values are gone by now: the statement is shown as the
    /// workload has it.
    #[cold]
    pub fn missing(&self, what: &str) -> Box<Failure> {
        let mut failure = self.failure(format!(
            "the tables do not match the workload: there is no {what}"
        ));
        failure.hint = Some("reload the tables".to_owned());
        if let LastRequest::Query(query) = self.last {
            failure.statement = Some(self.requests.text(query, None));
        }
        Box::new(failure)
    }

    #[cold]
    fn failure(&self, message: String) -> Failure {
        Failure {
            statement: Some(self.statement()),
            ..Failure::plain(message)
        }
    }

    /// The query asked last, and its values.
    #[cfg(test)]
    pub fn asked(&mut self) -> (usize, Parameters) {
        let query = match self.last {
            LastRequest::Query(query) => query,
            _ => 0,
        };
        (query, std::mem::take(&mut self.values))
    }
}

impl<K: Kind> SessionState for NativeState<K> {
    fn statement(&self) -> String {
        match self.last {
            LastRequest::SetUp(number) => self.requests.set_up_text(self.link, number),
            LastRequest::Query(query) => self.requests.text(query, Some(&self.values)),
            LastRequest::Rollback => ROLLBACK.to_owned(),
        }
    }

    fn put_local_file(&mut self, out: &mut Vec<u8>) {
        if let LastRequest::Query(query) = self.last
            && let Some(columns) = self.requests.file_columns(query)
        {
            self.values.put_lines(usize::from(columns), out);
        }
    }

    fn kind(&self) -> u8 {
        self.event.kind
    }

    fn due_ns(&mut self, cycle: u64, ended_ns: u64) -> u64 {
        self.event = OpenEvent::new(self.seed, cycle);
        let (event, own) = (&mut self.event, &mut self.own);
        self.kind.due_ns(event, own, ended_ns)
    }
}

//! How an event asks: its questions, and the parts of the answers that it reads.

use super::session::NativeState;
use super::{Kind, OpenEvent};
use crate::async_session::Driver;
use crate::statement::Parameters;
use contend_engine::workload::{Answer, Call, Step};
use contend_wire::mysql::ResultRows;
use contend_wire::{Capabilities, Summary, Value};
use std::pin::Pin;
use std::task::{Context, Poll};

/// How an event came to its end.
pub type EventResult = Result<LastQuestion, Interrupted>;

/// The last step of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LastQuestion {
    /// Its last question is sent: the event ends with the answer, and in this way.
    Asked(EventEnd),
    /// It ends without a further question.
    End(EventEnd),
}

/// The end of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventEnd {
    Done,
    /// The event rolled back its transaction on purpose.
    RolledBack,
}

/// The event does not go on: the server refused its question, and the plan begins such events
/// again, or the driver called for something else than the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interrupted;

/// What an event asks by.
pub struct Asker<K: Kind> {
    pub(super) driver: Driver<NativeState<K>>,
}

impl<K: Kind> Asker<K> {
    /// Uses the event, and the state that its session keeps.
    #[inline(always)]
    pub fn with<R>(&mut self, take: impl FnOnce(&mut OpenEvent, &mut K::Own) -> R) -> R {
        self.driver
            .with(|turn| take(&mut turn.state.event, &mut turn.state.own))
    }

    /// The event has these keys besides its own. A route by key sends it to a node that reaches all
    /// of them.
    pub fn also_needs(&mut self, others: impl FnOnce(&mut dyn FnMut(u64))) {
        self.driver.with(|turn| turn.state.route_by(others));
    }

    /// A query with the values that `put` draws and puts. `put` returns the query's place in
    /// [`Kind::queries`].
    #[inline(always)]
    pub fn ask<P>(&mut self, put: P) -> Asked<'_, K, P>
    where
        P: FnOnce(&mut OpenEvent, &mut Parameters) -> usize,
    {
        Asked { asker: self, put }
    }

    /// Ends the run: this, which every event relies on, is not in the tables.
    pub async fn missing(&mut self, what: &'static str) -> Interrupted {
        let failed = self
            .driver
            .with(|turn| Step::Fail(turn.state.missing(what)));
        self.driver.step(failed).await;
        Interrupted
    }
}

/// A question, to be sent in one of these ways.
#[must_use]
pub struct Asked<'a, K: Kind, P> {
    asker: &'a mut Asker<K>,
    put: P,
}

impl<'a, K: Kind, P> Asked<'a, K, P>
where
    P: FnOnce(&mut OpenEvent, &mut Parameters) -> usize,
{
    /// Reads nothing from the answer but whether it is good.
    #[inline(always)]
    pub fn done(self) -> impl Future<Output = Result<(), Interrupted>> {
        self.summary(|_| Ok(()))
    }

    /// Reads from the answer's summary. An error of `take` names a row that every event relies on
    /// and that is not in the tables: the run has failed.
    #[inline(always)]
    pub fn summary<T>(
        self,
        take: impl FnOnce(Said<'_>) -> Result<T, &'static str>,
    ) -> impl Future<Output = Result<T, Interrupted>> {
        self.send(false, None).answer(take)
    }

    /// As [`Self::summary`], and reads the rows too.
    #[inline(always)]
    pub fn rows<T>(
        self,
        take: impl FnOnce(Said<'_>) -> Result<T, &'static str>,
    ) -> impl Future<Output = Result<T, Interrupted>> {
        self.send(true, None).answer(take)
    }

    /// The event ends with the answer, and in this way.
    #[inline(always)]
    pub fn last(self, end: EventEnd) -> EventResult {
        self.send(false, Some(end));
        Ok(LastQuestion::Asked(end))
    }

    #[inline(always)]
    fn send(self, wants_rows: bool, ends: Option<EventEnd>) -> &'a mut Asker<K> {
        self.asker.driver.with(|turn| {
            let state = &mut *turn.state;
            state.values.clear();
            let query = (self.put)(&mut state.event, &mut state.values);
            *turn.step = state.send(query, wants_rows, ends, turn.out);
        });
        self.asker
    }
}

/// Waits for an answer, and takes what the event needs of it.
struct AwaitedAnswer<'a, K: Kind, F> {
    asker: &'a mut Asker<K>,
    is_sent: bool,
    take: Option<F>,
}

/// Nothing of it is pinned.
impl<K: Kind, F> Unpin for AwaitedAnswer<'_, K, F> {}

impl<K: Kind, T, F> Future for AwaitedAnswer<'_, K, F>
where
    F: FnOnce(Said<'_>) -> Result<T, &'static str>,
{
    type Output = Result<T, Interrupted>;

    #[inline(always)]
    fn poll(mut self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<Self::Output> {
        if !self.is_sent {
            self.is_sent = true;
            return Poll::Pending;
        }
        let take = self.take.take();
        self.asker.driver.with(|turn| {
            let (Call::Answer(answer), Some(take)) = (turn.call, take) else {
                return Poll::Ready(Err(Interrupted));
            };
            if answer.is_retried() {
                return Poll::Ready(Err(Interrupted));
            }
            let (capabilities, is_prepared) = turn.state.form();
            match take(Said {
                answer,
                capabilities,
                is_prepared,
            }) {
                Ok(taken) => Poll::Ready(Ok(taken)),
                Err(what) => {
                    *turn.step = Step::Fail(turn.state.missing(what));
                    Poll::Pending
                }
            }
        })
    }
}

impl<K: Kind> Asker<K> {
    #[inline(always)]
    fn answer<T, F>(&mut self, take: F) -> AwaitedAnswer<'_, K, F>
    where
        F: FnOnce(Said<'_>) -> Result<T, &'static str>,
    {
        AwaitedAnswer {
            asker: self,
            is_sent: false,
            take: Some(take),
        }
    }
}

/// An answer that an event may read. After an error that the plan ignores it has no values.
#[derive(Clone, Copy, Debug)]
pub struct Said<'a> {
    answer: &'a Answer<'a>,
    capabilities: Capabilities,
    is_prepared: bool,
}

impl Said<'_> {
    /// Rows, affected rows, the insert id of the OK packet, and the like.
    pub fn summary(&self) -> &Summary {
        &self.answer.summary
    }

    /// The server refused, and the plan ignores that error.
    pub fn is_refused(&self) -> bool {
        self.answer.error.is_some()
    }

    /// Calls `take` with the values of the first row, in order; false if there is no row. The query
    /// must have been sent with [`Asked::rows`].
    pub fn first_row(&self, take: impl FnMut(Value<'_>)) -> bool {
        self.rows().next_row(take).unwrap_or(false)
    }

    /// Applies `take` to the value in column `at` of the first row; none if there is no row or no
    /// such column. The query must have been sent with [`Asked::rows`].
    pub fn value_at<T>(&self, at: usize, take: impl FnOnce(Value<'_>) -> T) -> Option<T> {
        let (mut place, mut take, mut taken) = (0, Some(take), None);
        self.first_row(|value| {
            if place == at {
                taken = take.take().map(|take| take(value));
            }
            place += 1;
        });
        taken
    }

    /// The rows, if the question asked for them.
    pub fn rows(&self) -> ResultRows {
        let bytes = self.answer.bytes.unwrap_or_default();
        match self.is_prepared {
            true => ResultRows::of_prepared(bytes, self.capabilities),
            false => ResultRows::new(bytes, self.capabilities),
        }
    }
}

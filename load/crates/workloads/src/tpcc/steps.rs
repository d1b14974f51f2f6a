//! How a transaction asks: by its steps, whose statements are in the book.

use super::Tpcc;
use super::book::{Book, TpccStep};
use super::deck::Card;
use super::keys::Ask;
use crate::native::{Asked, Asker, EventEnd, EventResult, Interrupted, OpenEvent, Said};
use crate::statement::Parameters;
use contend_random::Stream;

/// The steps of a transaction in progress.
pub struct Steps<'a> {
    pub ask: &'a mut Asker<Tpcc>,
    pub book: &'a Book,
    pub card: Card,
}

impl Steps<'_> {
    /// How rows are accessed.
    pub fn way(&self) -> Ask {
        self.book.ask
    }

    /// Draws the input of the terminal's user.
    pub fn draw<T>(&mut self, draw: impl FnOnce(&mut Stream) -> T) -> T {
        self.ask.with(|event, _| draw(&mut event.stream))
    }

    /// Asks the statement of a step with the values that `put` puts.
    #[inline(always)]
    pub fn ask(
        &mut self,
        step: TpccStep,
        put: impl FnOnce(&mut Parameters),
    ) -> Asked<'_, Tpcc, impl FnOnce(&mut OpenEvent, &mut Parameters) -> usize> {
        self.ask_variant(step, 0, put)
    }

    /// As [`Self::ask`], with one of several texts of the step.
    #[inline(always)]
    pub fn ask_variant(
        &mut self,
        step: TpccStep,
        variant: usize,
        put: impl FnOnce(&mut Parameters),
    ) -> Asked<'_, Tpcc, impl FnOnce(&mut OpenEvent, &mut Parameters) -> usize> {
        let query = self.book.place(self.card, step, variant);
        self.ask.ask(move |_, values| {
            put(values);
            query
        })
    }

    pub fn begin(&mut self) -> impl Future<Output = Result<(), Interrupted>> {
        self.ask(TpccStep::Begin, |_| ()).done()
    }

    /// Ends the transaction by its only statement.
    pub fn call(&mut self, put: impl FnOnce(&mut Parameters)) -> EventResult {
        self.ask(TpccStep::Call, put).last(EventEnd::Done)
    }

    pub fn commit(&mut self) -> EventResult {
        self.ask(TpccStep::Commit, |_| ()).last(EventEnd::Done)
    }

    pub fn roll_back(&mut self) -> EventResult {
        self.ask(TpccStep::Rollback, |_| ())
            .last(EventEnd::RolledBack)
    }
}

/// The number that LAST_INSERT_ID(…) has kept; 0 if it does not come with the answer.
pub fn kept_id(said: Said<'_>) -> Result<u64, &'static str> {
    Ok(said.summary().last_insert_id)
}

/// The answer has a row, or `what` is missing.
pub fn has_row(what: &'static str) -> impl FnOnce(Said<'_>) -> Result<(), &'static str> {
    move |said| match said.summary().rows {
        0 => Err(what),
        _ => Ok(()),
    }
}

/// The whole number in the first column of the first row.
pub fn number(said: Said<'_>) -> Option<u64> {
    let number = said.value_at(0, |value| value.as_int());
    number.flatten().map(|number| number as u64)
}

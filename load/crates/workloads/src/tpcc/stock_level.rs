//! Stock-Level (clause 2.8): the number of low items in the last orders of the terminal's district.

use super::book::{Book, Wording};
use super::deck::Card;
use super::keys::Ask;
use crate::native::{EventEnd, NextStep, Said, WhyAsked};
use crate::statement::Parameters;
use contend_random::Stream;

const ORDERS: u64 = 20;
const THRESHOLD_MIN: u64 = 10;
const THRESHOLD_MAX: u64 = 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StockLevelStep {
    Begin,
    Order,
    Count,
    Commit,
    Call,
}

pub fn wordings(ask: Ask) -> Vec<Wording> {
    let say = |step, name| Wording::new(step as usize, name);
    if ask == Ask::Procedure {
        let call = "CALL contend_stock_level(?, ?, ?)";
        return vec![say(StockLevelStep::Call, "call").text(call)];
    }
    vec![
        say(StockLevelStep::Begin, "begin").frame(),
        say(StockLevelStep::Order, "select_district")
            .text("SELECT d_next_o_id FROM district WHERE d_w_id = ? AND d_id = ?"),
        say(StockLevelStep::Count, "select_count").text(
            "SELECT COUNT(DISTINCT s_i_id) FROM order_line \
             JOIN stock ON s_w_id = ol_w_id AND s_i_id = ol_i_id \
             WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id < ? AND ol_o_id >= ? \
             AND s_quantity < ?",
        ),
        say(StockLevelStep::Commit, "commit").frame(),
    ]
}

#[derive(Debug)]
pub struct StockLevel {
    step: StockLevelStep,
    warehouse: u64,
    district: u64,
    threshold: u64,
    next_order: u64,
}

impl StockLevel {
    pub fn draw(home: (u64, u64), stream: &mut Stream) -> Self {
        Self {
            step: StockLevelStep::Begin,
            warehouse: home.0,
            district: home.1,
            threshold: stream.uniform(THRESHOLD_MIN, THRESHOLD_MAX),
            next_order: 0,
        }
    }

    pub fn next(&mut self, heard: WhyAsked<'_>, book: &Book, values: &mut Parameters) -> NextStep {
        match heard {
            WhyAsked::Said(said) => match self.after(said) {
                Ok(step) => self.step = step,
                Err(missing) => return NextStep::Broken(missing),
            },
            WhyAsked::Begin | WhyAsked::Unheard if book.ask == Ask::Procedure => {
                self.step = StockLevelStep::Call
            }
            WhyAsked::Begin | WhyAsked::Unheard => {}
        }
        let place = book.place(Card::StockLevel, self.step as usize, 0);
        if !matches!(self.step, StockLevelStep::Begin | StockLevelStep::Commit) {
            values.ints([self.warehouse, self.district]);
        }
        match self.step {
            StockLevelStep::Begin => NextStep::in_turn(place, false),
            StockLevelStep::Order => NextStep::read(place),
            StockLevelStep::Count => {
                let first = self.next_order.saturating_sub(ORDERS);
                values.ints([self.next_order, first, self.threshold]);
                NextStep::in_turn(place, false)
            }
            StockLevelStep::Commit => NextStep::last(place, EventEnd::Done),
            StockLevelStep::Call => {
                values.int(self.threshold);
                NextStep::last(place, EventEnd::Done)
            }
        }
    }

    fn after(&mut self, said: Said<'_>) -> Result<StockLevelStep, &'static str> {
        Ok(match self.step {
            StockLevelStep::Begin => StockLevelStep::Order,
            StockLevelStep::Order => {
                let order = said.value_at(0, |value| value.as_int()).flatten();
                self.next_order = order.ok_or("district")? as u64;
                StockLevelStep::Count
            }
            StockLevelStep::Count | StockLevelStep::Commit | StockLevelStep::Call => {
                StockLevelStep::Commit
            }
        })
    }
}

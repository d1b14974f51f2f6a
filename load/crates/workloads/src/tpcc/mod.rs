//! The transactions of TPC-C (revision 5.11), every row effect of them.
//!
//! A session is a terminal. A user's whole input is drawn when an event begins, from the event's
//! own stream, in an order that does not depend on `ask`. So the same seed leaves the same rows
//! with each `ask`, and a repeated transaction has the same input.

mod book;
mod deck;
mod delivery;
mod facts;
mod keys;
mod look;
mod new_order;
mod order_status;
mod payment;
mod procedures;
mod stock_level;
mod terminal;
#[cfg(test)]
mod tests;
mod work;

pub use keys::Keys;

use super::native::{EventEnd, GoingOn, Kind, NextStep, OpenEvent, QueryText, WhyAsked};
use book::Book;
use contend_engine::workload::{EventKind, LookedAtServer};
use contend_figures::outcome::Failure;
use contend_random::nurand::Constants;
use deck::Card;
use facts::{CUSTOMERS, Facts, ITEMS};
use keys::{Delivery as When, Mix};
use std::sync::OnceLock;
use terminal::Terminal;
use work::Work;

/// Keeps think times apart from what an event asks.
const THINK_PART: u64 = 1 << 41;

pub struct Tpcc {
    keys: Keys,
    book: Book,
    facts: OnceLock<Facts>,
}

impl Tpcc {
    pub fn new(keys: Keys) -> Self {
        let facts = OnceLock::new();
        if let (Some(c_load), Some(warehouses)) = (keys.c_load, keys.warehouses) {
            let told = facts.set(Facts {
                warehouses: warehouses.into(),
                customers: CUSTOMERS,
                items: ITEMS,
                constants: Constants::of_run(c_load.into()),
                first_home: keys.first_warehouse.into(),
                last_home: keys.last_warehouse.unwrap_or(warehouses).into(),
            });
            // It was empty.
            debug_assert!(told.is_ok());
        }
        Self {
            book: work::book(keys.ask, keys.deliveries),
            keys,
            facts,
        }
    }

    fn card(&self, event: &OpenEvent, terminal: &mut Terminal) -> Card {
        let is_deferred = self.keys.deliveries == When::Deferred;
        terminal.card(event.cycle, is_deferred, |deck| match self.keys.mix {
            Mix::Deck => deck.draw(),
            Mix::Weights => self
                .keys
                .mix_weights
                .draw(&mut event.stream.part(THINK_PART + 1)),
        })
    }

    /// Draws the input of the terminal's user.
    fn begin(&self, facts: &Facts, event: &mut OpenEvent, terminal: &mut Terminal) -> Work {
        let card = self.card(event, terminal);
        let home = terminal.home(facts);
        event.kind = card.place() as u8;
        event.key = home.0;
        let stream = &mut event.stream;
        match card {
            Card::NewOrder => {
                Work::NewOrder(new_order::NewOrder::draw(&self.keys, facts, home.0, stream))
            }
            Card::Payment => {
                Work::Payment(payment::Payment::draw(&self.keys, facts, home.0, stream))
            }
            Card::OrderStatus => {
                Work::OrderStatus(order_status::OrderStatus::draw(facts, home.0, stream))
            }
            Card::StockLevel => Work::StockLevel(stock_level::StockLevel::draw(home, stream)),
            Card::Delivery => {
                terminal.carrier = delivery::draw_carrier(stream);
                match self.keys.deliveries {
                    When::AtOnce => {
                        Work::Delivery(delivery::Delivery::new(card, home.0, terminal.carrier))
                    }
                    When::Deferred => Work::Queued,
                }
            }
            Card::DeferredDelivery => {
                Work::Delivery(delivery::Delivery::new(card, home.0, terminal.carrier))
            }
        }
    }
}

impl Kind for Tpcc {
    type Own = Terminal;

    fn events(&self) -> Vec<EventKind> {
        self.book.kinds.clone()
    }

    fn queries(&self) -> Vec<QueryText> {
        self.book.queries.clone()
    }

    fn is_single_query(&self) -> bool {
        false
    }

    fn leaves_transaction(&self, _event: &OpenEvent) -> bool {
        true
    }

    fn other_keys(&self, _event: &OpenEvent, terminal: &Terminal, tell: &mut dyn FnMut(u64)) {
        match &terminal.work {
            Work::NewOrder(work) => work.suppliers().for_each(tell),
            Work::Payment(work) => tell(work.customer_warehouse()),
            // All of these stay at home.
            Work::OrderStatus(_) | Work::Delivery(_) | Work::StockLevel(_) | Work::Queued => {}
        }
    }

    fn look(&self, server: &mut dyn LookedAtServer) -> Result<(), Failure> {
        if self.keys.ask == keys::Ask::NoRead {
            look::refuse_no_read(server)?;
        }
        if self.keys.c_load.is_none() {
            let found = look::facts(&self.keys, server)?;
            if *self.facts.get_or_init(|| found) != found {
                return Err(look::other_data());
            }
        }
        match self.keys.ask {
            keys::Ask::Procedure => procedures::create(server),
            _ => Ok(()),
        }
    }

    fn thinks(&self) -> bool {
        self.keys.waits_percent > 0
    }

    fn due_ns(&self, event: &mut OpenEvent, terminal: &mut Terminal, ended_ns: u64) -> u64 {
        self.card(event, terminal);
        terminal.due_ns(
            ended_ns,
            self.keys.waits_percent,
            event.stream_of(THINK_PART),
        )
    }

    fn next(&self, on: GoingOn<'_, Terminal>) -> NextStep {
        let (heard, event, terminal, values) = (on.heard, on.event, on.own, on.values);
        if matches!(heard, WhyAsked::Begin) {
            let Some(facts) = self.facts.get() else {
                return NextStep::Broken("table contend_tpcc");
            };
            terminal.work = self.begin(facts, event, terminal);
        }
        match &mut terminal.work {
            Work::NewOrder(work) => work.next(heard, &self.book, values),
            Work::Payment(work) => work.next(heard, &self.book, values),
            Work::OrderStatus(work) => work.next(heard, &self.book, values),
            Work::Delivery(work) => work.next(heard, &self.book, values),
            Work::StockLevel(work) => work.next(heard, &self.book, values),
            Work::Queued => NextStep::End(EventEnd::Done),
        }
    }
}

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
mod steps;
mod stock_level;
mod terminal;
#[cfg(test)]
mod tests;
mod work;

pub use keys::Keys;

use super::native::{Asker, EventEnd, EventResult, Kind, LastQuestion, OpenEvent, QueryText};
use book::Book;
use contend_engine::workload::{EventKind, LookedAtServer};
use contend_figures::outcome::Failure;
use contend_random::nurand::Constants;
use deck::Card;
use facts::{CUSTOMERS, Facts, ITEMS};
use keys::{Delivery as When, Mix};
use new_order::NewOrder;
use order_status::OrderStatus;
use payment::Payment;
use std::sync::OnceLock;
use steps::Steps;
use stock_level::StockLevel;
use terminal::Terminal;

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

    async fn event(&self, ask: &mut Asker<Self>) -> EventResult {
        let Some(facts) = self.facts.get() else {
            return Err(ask.missing("table contend_tpcc").await);
        };
        let (card, home) = ask.with(|event, terminal| {
            let card = self.card(event, terminal);
            let home = terminal.home(facts);
            event.kind = card.place() as u8;
            event.key = home.0;
            (card, home)
        });
        let book = &self.book;
        let steps = &mut Steps { ask, book, card };
        // A transaction has other keys than its home's if it reaches out to other warehouses.
        match card {
            Card::NewOrder => {
                let mut order =
                    steps.draw(|stream| NewOrder::draw(&self.keys, facts, home.0, stream));
                steps
                    .ask
                    .also_needs(|tell| order.suppliers().for_each(tell));
                order.run(steps).await
            }
            Card::Payment => {
                let mut payment =
                    steps.draw(|stream| Payment::draw(&self.keys, facts, home.0, stream));
                steps
                    .ask
                    .also_needs(|tell| tell(payment.customer_warehouse()));
                payment.run(steps).await
            }
            Card::OrderStatus => {
                let status = steps.draw(|stream| OrderStatus::draw(facts, home.0, stream));
                status.run(steps).await
            }
            Card::StockLevel => {
                let level = steps.draw(|stream| StockLevel::draw(home, stream));
                level.run(steps).await
            }
            Card::Delivery => {
                let carrier = steps.draw(delivery::draw_carrier);
                steps.ask.with(|_, terminal| terminal.carrier = carrier);
                match self.keys.deliveries {
                    When::AtOnce => delivery::run(home.0, carrier, steps).await,
                    When::Deferred => Ok(LastQuestion::End(EventEnd::Done)),
                }
            }
            Card::DeferredDelivery => {
                let carrier = steps.ask.with(|_, terminal| terminal.carrier);
                delivery::run(home.0, carrier, steps).await
            }
        }
    }
}

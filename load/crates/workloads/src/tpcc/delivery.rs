//! Delivery (clause 2.7): the oldest order of each district, all ten in one transaction.

use super::book::{Book, Wording};
use super::deck::Card;
use super::facts::DISTRICTS;
use super::keys::Ask;
use crate::native::{EventEnd, NextStep, Said, WhyAsked};
use crate::statement::{Parameters, cents_of};
use contend_random::Stream;

const CARRIERS: u64 = 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DeliveryStep {
    Begin,
    Oldest,
    Take,
    Customer,
    Carrier,
    Lines,
    Sum,
    Pay,
    Commit,
    Call,
}

/// A carrier; the terminal keeps it of a delivery that is queued.
pub fn draw_carrier(stream: &mut Stream) -> u64 {
    stream.uniform(1, CARRIERS)
}

pub fn wordings(ask: Ask) -> Vec<Wording> {
    let say = |step, name| Wording::new(step as usize, name);
    if ask == Ask::Procedure {
        return vec![say(DeliveryStep::Call, "call").text("CALL contend_delivery(?, ?)")];
    }
    let mut wordings = vec![say(DeliveryStep::Begin, "begin").frame()];
    // Without the lock it is sought among the rows of when the transaction began, and the order may
    // have come since.
    const CUSTOMER: &str =
        "SELECT o_c_id FROM orders WHERE o_w_id = ? AND o_d_id = ? AND o_id = ? FOR UPDATE";
    const LINES: &str = "ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?";
    const WHERE: &str = "WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?";
    if ask == Ask::NoRead {
        let pay = format!(
            "UPDATE customer SET c_balance = c_balance + \
             (SELECT SUM(ol_amount) FROM order_line WHERE {LINES}), \
             c_delivery_cnt = c_delivery_cnt + 1 {WHERE}"
        );
        wordings.extend([
            say(DeliveryStep::Oldest, "delete_new_order").text(
                "DELETE FROM new_order WHERE no_w_id = ? AND no_d_id = ? \
                 ORDER BY no_o_id LIMIT 1 RETURNING no_o_id",
            ),
            say(DeliveryStep::Carrier, "update_order").text(
                "UPDATE orders SET o_carrier_id = ?, o_c_id = LAST_INSERT_ID(o_c_id) \
                 WHERE o_w_id = ? AND o_d_id = ? AND o_id = ?",
            ),
            // Asked if the answer has no customer, as through a front.
            say(DeliveryStep::Customer, "select_order").text(CUSTOMER),
            say(DeliveryStep::Pay, "update_customer").text(&pay),
        ]);
    } else {
        let pay = format!(
            "UPDATE customer SET c_balance = c_balance + ?, c_delivery_cnt = c_delivery_cnt + 1 \
             {WHERE}"
        );
        let sum = format!("SELECT SUM(ol_amount) FROM order_line WHERE {LINES}");
        wordings.extend([
            say(DeliveryStep::Oldest, "select_new_order").text(
                "SELECT no_o_id FROM new_order WHERE no_w_id = ? AND no_d_id = ? \
                 ORDER BY no_o_id LIMIT 1 FOR UPDATE",
            ),
            say(DeliveryStep::Take, "delete_new_order")
                .text("DELETE FROM new_order WHERE no_w_id = ? AND no_d_id = ? AND no_o_id = ?"),
            say(DeliveryStep::Customer, "select_order").text(CUSTOMER),
            say(DeliveryStep::Carrier, "update_order").text(
                "UPDATE orders SET o_carrier_id = ? WHERE o_w_id = ? AND o_d_id = ? AND o_id = ?",
            ),
            say(DeliveryStep::Sum, "select_sum").text(&sum),
            say(DeliveryStep::Pay, "update_customer").text(&pay),
        ]);
    }
    let lines = format!("UPDATE order_line SET ol_delivery_d = NOW() WHERE {LINES}");
    wordings.extend([
        say(DeliveryStep::Lines, "update_order_lines").text(&lines),
        say(DeliveryStep::Commit, "commit").frame(),
    ]);
    wordings
}

#[derive(Debug)]
pub struct Delivery {
    card: Card,
    step: DeliveryStep,
    warehouse: u64,
    carrier: u64,
    district: u64,
    order: u64,
    customer: u64,
    cents: i64,
}

impl Delivery {
    /// `card`: it is done at once, or was queued.
    pub fn new(card: Card, warehouse: u64, carrier: u64) -> Self {
        Self {
            card,
            step: DeliveryStep::Begin,
            warehouse,
            carrier,
            district: 1,
            order: 0,
            customer: 0,
            cents: 0,
        }
    }

    pub fn next(&mut self, heard: WhyAsked<'_>, book: &Book, values: &mut Parameters) -> NextStep {
        match heard {
            WhyAsked::Said(said) => match self.after(said, book.ask) {
                Ok(step) => self.step = step,
                Err(missing) => return NextStep::Broken(missing),
            },
            WhyAsked::Begin | WhyAsked::Unheard if book.ask == Ask::Procedure => {
                self.step = DeliveryStep::Call
            }
            WhyAsked::Begin | WhyAsked::Unheard => {}
        }
        self.put(values, book.ask);
        let place = book.place(self.card, self.step as usize, 0);
        match self.step {
            DeliveryStep::Commit | DeliveryStep::Call => NextStep::last(place, EventEnd::Done),
            DeliveryStep::Oldest | DeliveryStep::Customer | DeliveryStep::Sum => {
                NextStep::read(place)
            }
            _ => NextStep::in_turn(place, false),
        }
    }

    fn after(&mut self, said: Said<'_>, ask: Ask) -> Result<DeliveryStep, &'static str> {
        let number = || said.value_at(0, |value| value.as_int()).flatten();
        Ok(match self.step {
            DeliveryStep::Begin => DeliveryStep::Oldest,
            DeliveryStep::Oldest => match (number(), ask) {
                // A district without a new order is skipped, clause 2.7.4.2.
                (None, _) => self.next_district(),
                (Some(order), _) => {
                    self.order = order as u64;
                    match ask {
                        Ask::NoRead => DeliveryStep::Carrier,
                        _ => DeliveryStep::Take,
                    }
                }
            },
            DeliveryStep::Take => DeliveryStep::Customer,
            DeliveryStep::Customer => {
                self.customer = number().ok_or("order of a new order")? as u64;
                match ask {
                    Ask::NoRead => DeliveryStep::Lines,
                    _ => DeliveryStep::Carrier,
                }
            }
            DeliveryStep::Carrier if ask == Ask::NoRead => {
                self.customer = said.summary().last_insert_id;
                // Customers count from 1: the answer had none.
                match self.customer {
                    0 => DeliveryStep::Customer,
                    _ => DeliveryStep::Lines,
                }
            }
            DeliveryStep::Carrier => DeliveryStep::Lines,
            DeliveryStep::Lines if ask == Ask::NoRead => DeliveryStep::Pay,
            DeliveryStep::Lines => DeliveryStep::Sum,
            DeliveryStep::Sum => {
                self.cents = said.value_at(0, cents_of).ok_or("line of an order")?;
                DeliveryStep::Pay
            }
            DeliveryStep::Pay => self.next_district(),
            DeliveryStep::Commit | DeliveryStep::Call => DeliveryStep::Commit,
        })
    }

    fn next_district(&mut self) -> DeliveryStep {
        self.district += 1;
        match self.district > DISTRICTS {
            true => DeliveryStep::Commit,
            false => DeliveryStep::Oldest,
        }
    }

    fn put(&self, values: &mut Parameters, ask: Ask) {
        match self.step {
            DeliveryStep::Oldest => values.ints([self.warehouse, self.district]),
            DeliveryStep::Take
            | DeliveryStep::Customer
            | DeliveryStep::Lines
            | DeliveryStep::Sum => self.put_order(values),
            DeliveryStep::Carrier => {
                values.int(self.carrier);
                self.put_order(values);
            }
            DeliveryStep::Pay => {
                match ask {
                    Ask::NoRead => self.put_order(values),
                    _ => values.cents(self.cents),
                }
                values.ints([self.warehouse, self.district, self.customer]);
            }
            DeliveryStep::Call => values.ints([self.warehouse, self.carrier]),
            DeliveryStep::Begin | DeliveryStep::Commit => {}
        }
    }

    fn put_order(&self, values: &mut Parameters) {
        values.ints([self.warehouse, self.district, self.order]);
    }
}

//! Delivery (clause 2.7): the oldest order of each district, all ten in one transaction.

use super::book::{Book, Wording};
use super::deck::Card;
use super::facts::DISTRICTS;
use super::keys::Ask;
use crate::random::Stream;
use crate::workload::native::{End, Heard, Next, Said};
use crate::workload::statement::{Parameters, cents_of};

const CARRIERS: u64 = 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
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
    let say = |step, name, text: &str| Wording::new(step as usize, name, text);
    let frame = |step, name, text: &str| Wording::frame(step as usize, name, text);
    if ask == Ask::Procedure {
        return vec![say(Step::Call, "call", "CALL contend_delivery(?, ?)")];
    }
    let mut wordings = vec![frame(Step::Begin, "begin", "BEGIN")];
    const LINES: &str = "ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?";
    const WHERE: &str = "WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?";
    if ask == Ask::NoRead {
        let pay = format!(
            "UPDATE customer SET c_balance = c_balance + \
             (SELECT SUM(ol_amount) FROM order_line WHERE {LINES}), \
             c_delivery_cnt = c_delivery_cnt + 1 {WHERE}"
        );
        wordings.extend([
            say(
                Step::Oldest,
                "delete_new_order",
                "DELETE FROM new_order WHERE no_w_id = ? AND no_d_id = ? \
                 ORDER BY no_o_id LIMIT 1 RETURNING no_o_id",
            ),
            say(
                Step::Carrier,
                "update_order",
                "UPDATE orders SET o_carrier_id = ?, o_c_id = LAST_INSERT_ID(o_c_id) \
                 WHERE o_w_id = ? AND o_d_id = ? AND o_id = ?",
            ),
            say(Step::Pay, "update_customer", &pay),
        ]);
    } else {
        let pay = format!(
            "UPDATE customer SET c_balance = c_balance + ?, c_delivery_cnt = c_delivery_cnt + 1 \
             {WHERE}"
        );
        let sum = format!("SELECT SUM(ol_amount) FROM order_line WHERE {LINES}");
        wordings.extend([
            say(
                Step::Oldest,
                "select_new_order",
                "SELECT no_o_id FROM new_order WHERE no_w_id = ? AND no_d_id = ? \
                 ORDER BY no_o_id LIMIT 1 FOR UPDATE",
            ),
            say(
                Step::Take,
                "delete_new_order",
                "DELETE FROM new_order WHERE no_w_id = ? AND no_d_id = ? AND no_o_id = ?",
            ),
            say(
                Step::Customer,
                "select_order",
                // Without the lock it is sought among the rows of when the transaction began, and
                // the order may have come since.
                "SELECT o_c_id FROM orders WHERE o_w_id = ? AND o_d_id = ? AND o_id = ? FOR UPDATE",
            ),
            say(
                Step::Carrier,
                "update_order",
                "UPDATE orders SET o_carrier_id = ? WHERE o_w_id = ? AND o_d_id = ? AND o_id = ?",
            ),
            say(Step::Sum, "select_sum", &sum),
            say(Step::Pay, "update_customer", &pay),
        ]);
    }
    let lines = format!("UPDATE order_line SET ol_delivery_d = NOW() WHERE {LINES}");
    wordings.extend([
        say(Step::Lines, "update_order_lines", &lines),
        frame(Step::Commit, "commit", "COMMIT"),
    ]);
    wordings
}

/// See the module's words.
#[derive(Debug)]
pub struct Delivery {
    card: Card,
    step: Step,
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
            step: Step::Begin,
            warehouse,
            carrier,
            district: 1,
            order: 0,
            customer: 0,
            cents: 0,
        }
    }

    pub fn next(&mut self, heard: Heard<'_>, book: &Book, values: &mut Parameters) -> Next {
        match heard {
            Heard::Said(said) => match self.after(said, book.ask) {
                Ok(step) => self.step = step,
                Err(missing) => return Next::Broken(missing),
            },
            Heard::Begin | Heard::Woken if book.ask == Ask::Procedure => self.step = Step::Call,
            Heard::Begin | Heard::Woken => {}
        }
        self.put(values, book.ask);
        let place = book.place(self.card, self.step as usize, 0);
        match self.step {
            Step::Commit | Step::Call => Next::last(place, End::Done),
            Step::Oldest | Step::Customer | Step::Sum => Next::read(place),
            _ => Next::in_turn(place, false),
        }
    }

    fn after(&mut self, said: Said<'_>, ask: Ask) -> Result<Step, &'static str> {
        let number = || said.value_at(0, |value| value.as_int()).flatten();
        Ok(match self.step {
            Step::Begin => Step::Oldest,
            Step::Oldest => match (number(), ask) {
                // A district without a new order is skipped, clause 2.7.4.2.
                (None, _) => self.next_district(),
                (Some(order), _) => {
                    self.order = order as u64;
                    match ask {
                        Ask::NoRead => Step::Carrier,
                        _ => Step::Take,
                    }
                }
            },
            Step::Take => Step::Customer,
            Step::Customer => {
                self.customer = number().ok_or("order of a new order")? as u64;
                Step::Carrier
            }
            Step::Carrier => {
                if ask == Ask::NoRead {
                    self.customer = said.summary().last_insert_id;
                    // Customers count from 1: no row was updated.
                    if self.customer == 0 {
                        return Err("order of a new order");
                    }
                }
                Step::Lines
            }
            Step::Lines if ask == Ask::NoRead => Step::Pay,
            Step::Lines => Step::Sum,
            Step::Sum => {
                self.cents = said.value_at(0, cents_of).ok_or("line of an order")?;
                Step::Pay
            }
            Step::Pay => self.next_district(),
            Step::Commit | Step::Call => Step::Commit,
        })
    }

    fn next_district(&mut self) -> Step {
        self.district += 1;
        match self.district > DISTRICTS {
            true => Step::Commit,
            false => Step::Oldest,
        }
    }

    fn put(&self, values: &mut Parameters, ask: Ask) {
        match self.step {
            Step::Oldest => {
                values.int(self.warehouse);
                values.int(self.district);
            }
            Step::Take | Step::Customer | Step::Lines | Step::Sum => self.put_order(values),
            Step::Carrier => {
                values.int(self.carrier);
                self.put_order(values);
            }
            Step::Pay => {
                match ask {
                    Ask::NoRead => self.put_order(values),
                    _ => values.cents(self.cents),
                }
                values.int(self.warehouse);
                values.int(self.district);
                values.int(self.customer);
            }
            Step::Call => {
                values.int(self.warehouse);
                values.int(self.carrier);
            }
            Step::Begin | Step::Commit => {}
        }
    }

    fn put_order(&self, values: &mut Parameters) {
        values.int(self.warehouse);
        values.int(self.district);
        values.int(self.order);
    }
}

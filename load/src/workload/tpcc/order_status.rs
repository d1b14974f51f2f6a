//! Order-Status (clause 2.6): a customer's last order and its lines.

use super::book::{Book, CUSTOMERS_BY_NAME, Wording};
use super::customer;
use super::deck::Card;
use super::facts::{DISTRICTS, Facts, Who};
use super::keys::Ask;
use crate::random::Stream;
use crate::workload::native::{End, Heard, Next, Said};
use crate::workload::statement::Parameters;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Begin,
    ByName,
    Customer,
    Order,
    Lines,
    Commit,
    Call,
}

pub fn wordings(ask: Ask) -> Vec<Wording> {
    let say = |step, name, text: &str| Wording::new(step as usize, name, text);
    let frame = |step, name, text: &str| Wording::frame(step as usize, name, text);
    if ask == Ask::Procedure {
        let call = "CALL contend_order_status(?, ?, ?, ?)";
        return vec![say(Step::Call, "call", call)];
    }
    vec![
        frame(Step::Begin, "begin", "BEGIN"),
        say(Step::ByName, "select_customers_by_name", CUSTOMERS_BY_NAME),
        say(
            Step::Customer,
            "select_customer",
            "SELECT c_balance, c_first, c_middle, c_last FROM customer \
             WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?",
        ),
        say(
            Step::Order,
            "select_order",
            "SELECT o_id, o_carrier_id, o_entry_d FROM orders \
             WHERE o_w_id = ? AND o_d_id = ? AND o_c_id = ? ORDER BY o_id DESC LIMIT 1",
        ),
        say(
            Step::Lines,
            "select_order_lines",
            "SELECT ol_supply_w_id, ol_i_id, ol_quantity, ol_amount, ol_delivery_d \
             FROM order_line WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?",
        ),
        frame(Step::Commit, "commit", "COMMIT"),
    ]
}

/// See the module's words.
#[derive(Debug)]
pub struct OrderStatus {
    step: Step,
    warehouse: u64,
    district: u64,
    who: Who,
    customer: u64,
    order: u64,
}

impl OrderStatus {
    pub fn draw(facts: &Facts, warehouse: u64, stream: &mut Stream) -> Self {
        let district = stream.uniform(1, DISTRICTS);
        let who = Who::draw(facts, stream);
        Self {
            step: Step::Begin,
            warehouse,
            district,
            who,
            customer: match who {
                Who::Id(id) => id,
                Who::Name(_) => 0,
            },
            order: 0,
        }
    }

    pub fn next(&mut self, heard: Heard<'_>, book: &Book, values: &mut Parameters) -> Next {
        match heard {
            Heard::Said(said) => match self.after(said) {
                Ok(step) => self.step = step,
                Err(missing) => return Next::Broken(missing),
            },
            Heard::Begin | Heard::Woken if book.ask == Ask::Procedure => self.step = Step::Call,
            Heard::Begin | Heard::Woken => {}
        }
        let place = book.place(Card::OrderStatus, self.step as usize, 0);
        if matches!(self.step, Step::Begin | Step::Commit) {
            let is_last = self.step == Step::Commit;
            return Next::in_turn(place, is_last);
        }
        values.int(self.warehouse);
        values.int(self.district);
        match self.step {
            Step::ByName => values.written(|out| self.who.put_name(out)),
            Step::Lines => values.int(self.order),
            Step::Call => {
                values.int(self.customer);
                values.written(|out| self.who.put_name(out));
            }
            _ => values.int(self.customer),
        }
        match self.step {
            Step::ByName | Step::Order => Next::read(place),
            Step::Call => Next::last(place, End::Done),
            _ => Next::in_turn(place, false),
        }
    }

    fn after(&mut self, said: Said<'_>) -> Result<Step, &'static str> {
        Ok(match (self.step, self.who) {
            (Step::Begin, Who::Name(_)) => Step::ByName,
            (Step::Begin, Who::Id(_)) => Step::Customer,
            (Step::ByName, _) => {
                self.customer = customer::middle(said).ok_or(customer::NONE_OF_NAME)?;
                Step::Customer
            }
            (Step::Customer, _) if said.summary().rows == 0 => return Err("customer"),
            (Step::Customer, _) => Step::Order,
            (Step::Order, _) => {
                let order = said.value_at(0, |value| value.as_int()).flatten();
                self.order = order.ok_or("order of a customer")? as u64;
                Step::Lines
            }
            (Step::Lines | Step::Commit | Step::Call, _) => Step::Commit,
        })
    }
}

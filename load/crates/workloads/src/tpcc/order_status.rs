//! Order-Status (clause 2.6): a customer's last order and its lines.

use super::book::{Book, CUSTOMERS_BY_NAME, Wording};
use super::deck::Card;
use super::facts::{DISTRICTS, Facts, NONE_OF_NAME, Who, middle};
use super::keys::Ask;
use crate::native::{EventEnd, NextStep, Said, WhyAsked};
use crate::statement::Parameters;
use contend_random::Stream;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OrderStatusStep {
    Begin,
    ByName,
    Customer,
    Order,
    Lines,
    Commit,
    Call,
}

pub fn wordings(ask: Ask) -> Vec<Wording> {
    let say = |step, name| Wording::new(step as usize, name);
    if ask == Ask::Procedure {
        let call = "CALL contend_order_status(?, ?, ?, ?)";
        return vec![say(OrderStatusStep::Call, "call").text(call)];
    }
    vec![
        say(OrderStatusStep::Begin, "begin").frame(),
        say(OrderStatusStep::ByName, "select_customers_by_name").text(CUSTOMERS_BY_NAME),
        say(OrderStatusStep::Customer, "select_customer").text(
            "SELECT c_balance, c_first, c_middle, c_last FROM customer \
             WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?",
        ),
        say(OrderStatusStep::Order, "select_order").text(
            "SELECT o_id, o_carrier_id, o_entry_d FROM orders \
             WHERE o_w_id = ? AND o_d_id = ? AND o_c_id = ? ORDER BY o_id DESC LIMIT 1",
        ),
        say(OrderStatusStep::Lines, "select_order_lines").text(
            "SELECT ol_supply_w_id, ol_i_id, ol_quantity, ol_amount, ol_delivery_d \
             FROM order_line WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?",
        ),
        say(OrderStatusStep::Commit, "commit").frame(),
    ]
}

#[derive(Debug)]
pub struct OrderStatus {
    step: OrderStatusStep,
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
            step: OrderStatusStep::Begin,
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

    pub fn next(&mut self, heard: WhyAsked<'_>, book: &Book, values: &mut Parameters) -> NextStep {
        match heard {
            WhyAsked::Said(said) => match self.after(said) {
                Ok(step) => self.step = step,
                Err(missing) => return NextStep::Broken(missing),
            },
            WhyAsked::Begin | WhyAsked::Unheard if book.ask == Ask::Procedure => {
                self.step = OrderStatusStep::Call
            }
            WhyAsked::Begin | WhyAsked::Unheard => {}
        }
        let place = book.place(Card::OrderStatus, self.step as usize, 0);
        if matches!(self.step, OrderStatusStep::Begin | OrderStatusStep::Commit) {
            let is_last = self.step == OrderStatusStep::Commit;
            return NextStep::in_turn(place, is_last);
        }
        values.ints([self.warehouse, self.district]);
        match self.step {
            OrderStatusStep::ByName => values.written(|out| self.who.put_name(out)),
            OrderStatusStep::Lines => values.int(self.order),
            OrderStatusStep::Call => {
                values.int(self.customer);
                values.written(|out| self.who.put_name(out));
            }
            _ => values.int(self.customer),
        }
        match self.step {
            OrderStatusStep::ByName | OrderStatusStep::Order => NextStep::read(place),
            OrderStatusStep::Call => NextStep::last(place, EventEnd::Done),
            _ => NextStep::in_turn(place, false),
        }
    }

    fn after(&mut self, said: Said<'_>) -> Result<OrderStatusStep, &'static str> {
        Ok(match (self.step, self.who) {
            (OrderStatusStep::Begin, Who::Name(_)) => OrderStatusStep::ByName,
            (OrderStatusStep::Begin, Who::Id(_)) => OrderStatusStep::Customer,
            (OrderStatusStep::ByName, _) => {
                self.customer = middle(said).ok_or(NONE_OF_NAME)?;
                OrderStatusStep::Customer
            }
            (OrderStatusStep::Customer, _) if said.summary().rows == 0 => return Err("customer"),
            (OrderStatusStep::Customer, _) => OrderStatusStep::Order,
            (OrderStatusStep::Order, _) => {
                let order = said.value_at(0, |value| value.as_int()).flatten();
                self.order = order.ok_or("order of a customer")? as u64;
                OrderStatusStep::Lines
            }
            (OrderStatusStep::Lines | OrderStatusStep::Commit | OrderStatusStep::Call, _) => {
                OrderStatusStep::Commit
            }
        })
    }
}

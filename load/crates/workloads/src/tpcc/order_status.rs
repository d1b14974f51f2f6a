//! Order-Status (clause 2.6): a customer's last order and its lines.

use super::book::{CUSTOMERS_BY_NAME, TpccStep, Wording};
use super::facts::{DISTRICTS, Facts, Who};
use super::keys::Ask;
use super::steps::{Steps, has_row, number};
use crate::native::{EventResult, Said};
use crate::statement::Parameters;
use contend_random::Stream;

pub fn wordings(ask: Ask) -> Vec<Wording> {
    let say = Wording::new;
    if ask == Ask::Procedure {
        let call = "CALL contend_order_status(?, ?, ?, ?)";
        return vec![say(TpccStep::Call, "call").text(call)];
    }
    vec![
        say(TpccStep::Begin, "begin").frame(),
        say(TpccStep::ByName, "select_customers_by_name").text(CUSTOMERS_BY_NAME),
        say(TpccStep::Customer, "select_customer").text(
            "SELECT c_balance, c_first, c_middle, c_last FROM customer \
             WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?",
        ),
        say(TpccStep::Order, "select_order").text(
            "SELECT o_id, o_carrier_id, o_entry_d FROM orders \
             WHERE o_w_id = ? AND o_d_id = ? AND o_c_id = ? ORDER BY o_id DESC LIMIT 1",
        ),
        say(TpccStep::Lines, "select_order_lines").text(
            "SELECT ol_supply_w_id, ol_i_id, ol_quantity, ol_amount, ol_delivery_d \
             FROM order_line WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?",
        ),
        say(TpccStep::Commit, "commit").frame(),
    ]
}

#[derive(Debug)]
pub struct OrderStatus {
    warehouse: u64,
    district: u64,
    who: Who,
}

impl OrderStatus {
    pub fn draw(facts: &Facts, warehouse: u64, stream: &mut Stream) -> Self {
        Self {
            warehouse,
            district: stream.uniform(1, DISTRICTS),
            who: Who::draw(facts, stream),
        }
    }

    pub async fn run(&self, steps: &mut Steps<'_>) -> EventResult {
        let district = [self.warehouse, self.district];
        if steps.way() == Ask::Procedure {
            return steps.call(|values| {
                values.ints(district);
                values.int(self.who.id());
                values.written(|out| self.who.put_name(out));
            });
        }
        steps.begin().await?;
        let customer = match self.who {
            Who::Id(id) => id,
            Who::Name(_) => self.who.look_up(district, steps).await?,
        };
        let row = |number| {
            move |values: &mut Parameters| {
                values.ints(district);
                values.int(number);
            }
        };
        let is_there = has_row("customer");
        steps
            .ask(TpccStep::Customer, row(customer))
            .summary(is_there)
            .await?;
        let order = |said: Said<'_>| number(said).ok_or("order of a customer");
        let order = steps
            .ask(TpccStep::Order, row(customer))
            .rows(order)
            .await?;
        steps.ask(TpccStep::Lines, row(order)).done().await?;
        steps.commit()
    }
}

//! Delivery (clause 2.7): the oldest order of each district, all ten in one transaction.

use super::book::{TpccStep, Wording};
use super::facts::DISTRICTS;
use super::keys::Ask;
use super::steps::{Steps, kept_id, number};
use crate::native::{EventResult, Interrupted, Said};
use crate::statement::{Parameters, cents_of};
use contend_random::Stream;

const CARRIERS: u64 = 10;

/// A carrier; the terminal keeps it of a delivery that is queued.
pub fn draw_carrier(stream: &mut Stream) -> u64 {
    stream.uniform(1, CARRIERS)
}

pub fn wordings(ask: Ask) -> Vec<Wording> {
    let say = Wording::new;
    if ask == Ask::Procedure {
        return vec![say(TpccStep::Call, "call").text("CALL contend_delivery(?, ?)")];
    }
    let mut wordings = vec![say(TpccStep::Begin, "begin").frame()];
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
            say(TpccStep::Oldest, "delete_new_order").text(
                "DELETE FROM new_order WHERE no_w_id = ? AND no_d_id = ? \
                 ORDER BY no_o_id LIMIT 1 RETURNING no_o_id",
            ),
            say(TpccStep::Carrier, "update_order").text(
                "UPDATE orders SET o_carrier_id = ?, o_c_id = LAST_INSERT_ID(o_c_id) \
                 WHERE o_w_id = ? AND o_d_id = ? AND o_id = ?",
            ),
            // Asked if the answer has no customer, as through a front.
            say(TpccStep::Customer, "select_order").text(CUSTOMER),
            say(TpccStep::Pay, "update_customer").text(&pay),
        ]);
    } else {
        let pay = format!(
            "UPDATE customer SET c_balance = c_balance + ?, c_delivery_cnt = c_delivery_cnt + 1 \
             {WHERE}"
        );
        let sum = format!("SELECT SUM(ol_amount) FROM order_line WHERE {LINES}");
        wordings.extend([
            say(TpccStep::Oldest, "select_new_order").text(
                "SELECT no_o_id FROM new_order WHERE no_w_id = ? AND no_d_id = ? \
                 ORDER BY no_o_id LIMIT 1 FOR UPDATE",
            ),
            say(TpccStep::Take, "delete_new_order")
                .text("DELETE FROM new_order WHERE no_w_id = ? AND no_d_id = ? AND no_o_id = ?"),
            say(TpccStep::Customer, "select_order").text(CUSTOMER),
            say(TpccStep::Carrier, "update_order").text(
                "UPDATE orders SET o_carrier_id = ? WHERE o_w_id = ? AND o_d_id = ? AND o_id = ?",
            ),
            say(TpccStep::Sum, "select_sum").text(&sum),
            say(TpccStep::Pay, "update_customer").text(&pay),
        ]);
    }
    let lines = format!("UPDATE order_line SET ol_delivery_d = NOW() WHERE {LINES}");
    wordings.extend([
        say(TpccStep::Lines, "update_order_lines").text(&lines),
        say(TpccStep::Commit, "commit").frame(),
    ]);
    wordings
}

pub async fn run(warehouse: u64, carrier: u64, steps: &mut Steps<'_>) -> EventResult {
    if steps.way() == Ask::Procedure {
        return steps.call(|values| values.ints([warehouse, carrier]));
    }
    steps.begin().await?;
    for district in 1..=DISTRICTS {
        let put = |values: &mut Parameters| values.ints([warehouse, district]);
        let oldest = steps
            .ask(TpccStep::Oldest, put)
            .rows(|said| Ok(number(said)));
        // A district without a new order is skipped, clause 2.7.4.2.
        let Some(order) = oldest.await? else {
            continue;
        };
        let order = [warehouse, district, order];
        match steps.way() {
            Ask::NoRead => deliver_unread(order, carrier, steps).await?,
            _ => deliver(order, carrier, steps).await?,
        }
    }
    steps.commit()
}

async fn deliver(order: [u64; 3], carrier: u64, steps: &mut Steps<'_>) -> Result<(), Interrupted> {
    let put_order = |values: &mut Parameters| values.ints(order);
    steps.ask(TpccStep::Take, put_order).done().await?;
    let customer = read_customer(order, steps).await?;
    let put = |values: &mut Parameters| {
        values.int(carrier);
        values.ints(order);
    };
    steps.ask(TpccStep::Carrier, put).done().await?;
    steps.ask(TpccStep::Lines, put_order).done().await?;
    let cents = |said: Said<'_>| said.value_at(0, cents_of).ok_or("line of an order");
    let cents = steps.ask(TpccStep::Sum, put_order).rows(cents).await?;
    let [warehouse, district, _] = order;
    let put = |values: &mut Parameters| {
        values.cents(cents);
        values.ints([warehouse, district, customer]);
    };
    steps.ask(TpccStep::Pay, put).done().await
}

async fn deliver_unread(
    order: [u64; 3],
    carrier: u64,
    steps: &mut Steps<'_>,
) -> Result<(), Interrupted> {
    let put = |values: &mut Parameters| {
        values.int(carrier);
        values.ints(order);
    };
    let customer = match steps.ask(TpccStep::Carrier, put).summary(kept_id).await? {
        // Customers count from 1: the answer had none.
        0 => read_customer(order, steps).await?,
        customer => customer,
    };
    steps
        .ask(TpccStep::Lines, |values| values.ints(order))
        .done()
        .await?;
    let [warehouse, district, _] = order;
    let put = |values: &mut Parameters| {
        values.ints(order);
        values.ints([warehouse, district, customer]);
    };
    steps.ask(TpccStep::Pay, put).done().await
}

async fn read_customer(order: [u64; 3], steps: &mut Steps<'_>) -> Result<u64, Interrupted> {
    let take = |said: Said<'_>| number(said).ok_or("order of a new order");
    steps
        .ask(TpccStep::Customer, |values| values.ints(order))
        .rows(take)
        .await
}

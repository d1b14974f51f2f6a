//! Stock-Level (clause 2.8): the number of low items in the last orders of the terminal's district.

use super::book::{TpccStep, Wording};
use super::keys::Ask;
use super::steps::{Steps, number};
use crate::native::{EventResult, Said};
use crate::statement::Parameters;
use contend_random::Stream;

const ORDERS: u64 = 20;
const THRESHOLD_MIN: u64 = 10;
const THRESHOLD_MAX: u64 = 20;

pub fn wordings(ask: Ask) -> Vec<Wording> {
    let say = Wording::new;
    if ask == Ask::Procedure {
        let call = "CALL contend_stock_level(?, ?, ?)";
        return vec![say(TpccStep::Call, "call").text(call)];
    }
    vec![
        say(TpccStep::Begin, "begin").frame(),
        say(TpccStep::Order, "select_district")
            .text("SELECT d_next_o_id FROM district WHERE d_w_id = ? AND d_id = ?"),
        say(TpccStep::Count, "select_count").text(
            "SELECT COUNT(DISTINCT s_i_id) FROM order_line \
             JOIN stock ON s_w_id = ol_w_id AND s_i_id = ol_i_id \
             WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id < ? AND ol_o_id >= ? \
             AND s_quantity < ?",
        ),
        say(TpccStep::Commit, "commit").frame(),
    ]
}

#[derive(Debug)]
pub struct StockLevel {
    warehouse: u64,
    district: u64,
    threshold: u64,
}

impl StockLevel {
    pub fn draw(home: (u64, u64), stream: &mut Stream) -> Self {
        Self {
            warehouse: home.0,
            district: home.1,
            threshold: stream.uniform(THRESHOLD_MIN, THRESHOLD_MAX),
        }
    }

    pub async fn run(&self, steps: &mut Steps<'_>) -> EventResult {
        let (district, threshold) = ([self.warehouse, self.district], self.threshold);
        if steps.way() == Ask::Procedure {
            return steps.call(|values| {
                values.ints(district);
                values.int(threshold);
            });
        }
        steps.begin().await?;
        let put = |values: &mut Parameters| values.ints(district);
        let order = |said: Said<'_>| number(said).ok_or("district");
        let order = steps.ask(TpccStep::Order, put).rows(order).await?;
        let put = |values: &mut Parameters| {
            values.ints(district);
            values.ints([order, order.saturating_sub(ORDERS), threshold]);
        };
        steps.ask(TpccStep::Count, put).done().await?;
        steps.commit()
    }
}

//! The keys of TPC-C in a plan.

use super::Tpcc;
use crate::config;
use crate::config::{WorkloadConfig, native};
use crate::native::Way;
use crate::rows_keys::number;
use contend_engine::workload::Workload;
use contend_plan::{Arrival, Load};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The transactions of TPC-C over its nine tables; each connection is a terminal.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Keys {
    /// Warehouses in the tables; remote lines and payments use all of them. Absent: as many as were
    /// loaded.
    #[serde(default)]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub warehouses: Option<u32>,
    /// The first home warehouse of this run's terminals.
    #[serde(default = "number::<1>")]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub first_warehouse: u32,
    /// The last home warehouse of this run's terminals, so that several load generators can share
    /// the warehouses. Absent: the last one in the tables.
    #[serde(default)]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub last_warehouse: Option<u32>,
    /// How a transaction accesses its rows.
    #[serde(default)]
    pub ask: Ask,
    /// Where the next transaction comes from.
    #[serde(default)]
    pub mix: Mix,
    /// Frequency of each transaction; only if mix is "weights".
    #[serde(default)]
    pub mix_weights: Weights,
    /// When a delivery is executed.
    #[serde(default)]
    pub deliveries: Delivery,
    /// Keying and think times, in percent of the specification's; 0: none, and then new orders per
    /// minute are not tpmC.
    #[serde(default = "number::<0>")]
    #[schemars(range(min = 0, max = 1000))]
    pub waits_percent: u32,
    /// Order lines supplied by a different warehouse, in percent.
    #[serde(default = "number::<1>")]
    #[schemars(range(min = 0, max = 100))]
    pub remote_lines_percent: u32,
    /// Payments by a customer of a different warehouse, in percent.
    #[serde(default = "number::<15>")]
    #[schemars(range(min = 0, max = 100))]
    pub remote_payments_percent: u32,
    /// New orders with an item that does not exist, which are rolled back, in percent.
    #[serde(default = "number::<1>")]
    #[schemars(range(min = 0, max = 100))]
    pub rollbacks_percent: u32,
    /// The constant C with which last names were made, for tables that contend did not load. No
    /// table is then read before the load; needs warehouses. Absent: the value in contend_tpcc.
    #[serde(default)]
    #[schemars(range(min = 0, max = 255))]
    pub c_load: Option<u32>,
}

/// How a transaction accesses its rows.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Ask {
    /// One statement per row.
    #[default]
    Each,
    /// Like "each", but one IN each for the items and the stock of all lines of an order.
    In,
    /// Like "in", and one INSERT for all lines of an order.
    MultiRow,
    /// Like "multi_row", and no row is read before it is updated: UPDATE … LAST_INSERT_ID(…), and
    /// DELETE … RETURNING, which only MariaDB has.
    NoRead,
    /// One CALL of a stored procedure, which works like "each".
    Procedure,
}

/// Where the next transaction comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mix {
    /// Each terminal has 23 cards: 10 new orders, 10 payments, one of each of the others.
    #[default]
    Deck,
    /// At random, in proportion to weights.
    Weights,
}

/// Frequency of each transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Weights {
    /// New orders.
    #[serde(default = "number::<45>")]
    pub new_order: u32,
    /// Payments.
    #[serde(default = "number::<43>")]
    pub payment: u32,
    /// Queries of a customer's last order.
    #[serde(default = "number::<4>")]
    pub order_status: u32,
    /// Deliveries.
    #[serde(default = "number::<4>")]
    pub delivery: u32,
    /// Queries of the stock.
    #[serde(default = "number::<4>")]
    pub stock_level: u32,
}

impl Default for Weights {
    fn default() -> Self {
        Self {
            new_order: 45,
            payment: 43,
            order_status: 4,
            delivery: 4,
            stock_level: 4,
        }
    }
}

impl Weights {
    /// In the order of the kinds of event.
    pub fn in_order(&self) -> [u32; 5] {
        [
            self.new_order,
            self.payment,
            self.order_status,
            self.delivery,
            self.stock_level,
        ]
    }
}

/// When a delivery is executed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Delivery {
    /// Immediately, the ten districts in one transaction.
    #[default]
    AtOnce,
    /// Later: it is queued immediately and executed on the terminal's connection during think time,
    /// as an event of its own, deferred_delivery, timed from the queueing.
    Deferred,
}

impl config::Keys for Keys {
    const KIND: &'static str = "tpcc";
    const WRITES: Option<bool> = Some(true);
    const METRIC: &'static str = "new_orders_per_minute";

    fn check(&self) -> Result<(), String> {
        let all = self.warehouses.unwrap_or(u32::MAX);
        let last = self.last_warehouse.unwrap_or(all);
        if last > all {
            return Err(format!(
                "workload.last_warehouse: {last} is above workload.warehouses, {all}"
            ));
        }
        if self.first_warehouse > last {
            return Err(format!(
                "workload.first_warehouse: {} is above the last one, {last}",
                self.first_warehouse
            ));
        }
        if self.c_load.is_some() && self.warehouses.is_none() {
            return Err(
                "workload.c_load: it needs workload.warehouses, because no table is read for it; \
                 add it"
                    .to_owned(),
            );
        }
        if self.mix == Mix::Weights
            && self
                .mix_weights
                .in_order()
                .iter()
                .all(|weight| *weight == 0)
        {
            return Err("workload.mix_weights: all are 0; raise one".to_owned());
        }
        if self.mix == Mix::Deck && self.mix_weights != Weights::default() {
            return Err(
                "workload.mix_weights: a deck ignores them; add mix = \"weights\"".to_owned(),
            );
        }
        Ok(())
    }
}

impl WorkloadConfig for Keys {
    fn build(&self, way: Way) -> Result<Arc<dyn Workload>, String> {
        Ok(native(Tpcc::new(self.clone()), way))
    }

    /// A route by key goes by the home warehouse.
    fn keys(&self) -> Option<u64> {
        self.warehouses.map(u64::from)
    }

    fn fit(&self, load: &mut Load) -> Result<(), String> {
        let errors = &load.errors;
        if errors.ignore_all || !errors.ignore.is_empty() {
            return Err(
                "load.errors.ignore: a transaction of TPC-C cannot ignore an error; move its code \
                 to load.errors.retry, or remove it"
                    .to_owned(),
            );
        }
        if self.waits_percent > 0 && matches!(load.arrival, Arrival::Open { .. }) {
            return Err(
                "workload.waits_percent: in an open loop the schedule sets the start of events; \
                 remove waits_percent or the open loop"
                    .to_owned(),
            );
        }
        Ok(())
    }
}

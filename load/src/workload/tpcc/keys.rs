//! The keys of TPC-C in a plan.

use super::Tpcc;
use crate::plan::{Arrival, Load};
use crate::workload::Workload;
use crate::workload::native::Way;
use crate::workload::rows_keys::number;
use crate::workload::told::{self, Told, native};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The transactions of TPC-C over its nine tables; each connection is a terminal.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Keys {
    /// Warehouses that the tables have; remote lines and payments go to all of them. Absent: as
    /// many as were loaded.
    #[serde(default)]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub warehouses: Option<u32>,
    /// The first home warehouse of this run's terminals.
    #[serde(default = "number::<1>")]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub first_warehouse: u32,
    /// The last home warehouse of this run's terminals. Absent: the last there is. Several load
    /// generators share the warehouses so.
    #[serde(default)]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub last_warehouse: Option<u32>,
    /// How a transaction asks, each way as the one before and more.
    #[serde(default)]
    pub ask: Ask,
    /// Where the next transaction comes from.
    #[serde(default)]
    pub mix: Mix,
    /// How often each transaction comes; only if mix is "weights".
    #[serde(default)]
    pub mix_weights: Weights,
    /// When a delivery is done.
    #[serde(default)]
    pub deliveries: Delivery,
    /// Keying and think times, in percent of the specification's; 0: none, and the new orders a
    /// minute are no tpmC.
    #[serde(default = "number::<0>")]
    #[schemars(range(min = 0, max = 1000))]
    pub waits_percent: u32,
    /// Order lines that another warehouse supplies, in percent.
    #[serde(default = "number::<1>")]
    #[schemars(range(min = 0, max = 100))]
    pub remote_lines_percent: u32,
    /// Payments of another warehouse's customer, in percent.
    #[serde(default = "number::<15>")]
    #[schemars(range(min = 0, max = 100))]
    pub remote_payments_percent: u32,
    /// New orders that name an item that is not there, and are rolled back, in percent.
    #[serde(default = "number::<1>")]
    #[schemars(range(min = 0, max = 100))]
    pub rollbacks_percent: u32,
    /// The constant C with which last names were made, for tables that contend did not load. It
    /// then looks at no table before the load; needs warehouses. Absent: as contend_tpcc says.
    #[serde(default)]
    #[schemars(range(min = 0, max = 255))]
    pub c_load: Option<u32>,
}

/// How a transaction asks for what it wants.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Ask {
    /// A statement for each row.
    #[default]
    Each,
    /// The items, and the stock, of all lines of an order by one IN.
    In,
    /// And all lines of an order by one INSERT.
    MultiRow,
    /// And no row is read before it is updated: UPDATE … LAST_INSERT_ID(…), and DELETE …
    /// RETURNING, which only MariaDB has.
    NoRead,
    /// One CALL of a stored procedure, which asks as "each" does.
    Procedure,
}

/// Where the next transaction comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mix {
    /// Each terminal has 23 cards: 10 new orders, 10 payments, one of each of the others.
    #[default]
    Deck,
    /// By chance, in proportion to weights.
    Weights,
}

/// How often each transaction comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Weights {
    /// New orders.
    #[serde(default = "number::<45>")]
    pub new_order: u32,
    /// Payments.
    #[serde(default = "number::<43>")]
    pub payment: u32,
    /// Questions after a customer's last order.
    #[serde(default = "number::<4>")]
    pub order_status: u32,
    /// Deliveries.
    #[serde(default = "number::<4>")]
    pub delivery: u32,
    /// Questions after the stock.
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

/// When a delivery is done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Delivery {
    /// At once, the ten districts in one transaction.
    #[default]
    AtOnce,
    /// It is queued at once and done on the terminal's connection while its user thinks: an event
    /// of its own, deferred_delivery, whose time runs from the queueing.
    Deferred,
}

impl told::Keys for Keys {
    const KIND: &'static str = "tpcc";
    const WRITES: Option<bool> = Some(true);
    const METRIC: &'static str = "new_orders_per_minute";

    fn check(&self) -> Result<(), String> {
        let all = self.warehouses.unwrap_or(u32::MAX);
        let last = self.last_warehouse.unwrap_or(all);
        if last > all {
            return Err(format!(
                "workload.last_warehouse: {last} is not among the {all} of workload.warehouses"
            ));
        }
        if self.first_warehouse > last {
            return Err(format!(
                "workload.first_warehouse: {} is behind the last, {last}",
                self.first_warehouse
            ));
        }
        if self.c_load.is_some() && self.warehouses.is_none() {
            return Err(
                "workload.c_load: no table says then how many warehouses there are; add \
                 workload.warehouses"
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
            return Err("workload.mix_weights: all are 0, so nothing would be asked".to_owned());
        }
        if self.mix == Mix::Deck && self.mix_weights != Weights::default() {
            return Err(
                "workload.mix_weights: they count for nothing beside a deck; add mix = \"weights\""
                    .to_owned(),
            );
        }
        Ok(())
    }
}

impl Told for Keys {
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
                "load.errors.ignore: a transaction of TPC-C cannot pass over an error; put its \
                 code into load.errors.retry, or leave it out"
                    .to_owned(),
            );
        }
        if self.waits_percent > 0 && matches!(load.arrival, Arrival::Open { .. }) {
            return Err(
                "workload.waits_percent: under an open loop the schedule says when an event \
                 begins, and nobody thinks; leave one of them out"
                    .to_owned(),
            );
        }
        Ok(())
    }
}

//! The schema `tpcc`: the nine tables of TPC-C, populated as the specification (revision 5.11)
//! requires.

mod rows;
mod tables;
mod text;

use super::schema::{Dataset, Filling, LastStep, Wish};
use super::table::{StorageEngine, Table};
use rows::{CUSTOMERS, ITEMS, Size, TpccPart, TpccRows};
use serde::Deserialize;
use std::sync::Arc;
use tables::OfWarehouse;

const TABLES: [(TpccPart, &OfWarehouse); 9] = [
    (TpccPart::Warehouse, &tables::WAREHOUSE),
    (TpccPart::District, &tables::DISTRICT),
    (TpccPart::Customer, &tables::CUSTOMER),
    (TpccPart::History, &tables::HISTORY),
    (TpccPart::Orders, &tables::ORDERS),
    (TpccPart::NewOrder, &tables::NEW_ORDER),
    (TpccPart::OrderLine, &tables::ORDER_LINE),
    (TpccPart::Item, &tables::ITEM),
    (TpccPart::Stock, &tables::STOCK),
];

/// Keys of this schema alone.
#[derive(Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Keys {
    warehouses: u64,
    /// Those whose rows are loaded, if several servers share the warehouses; every server has all
    /// items.
    first_warehouse: Option<u64>,
    last_warehouse: Option<u64>,
    partition_by: PartitionBy,
    partitions: u64,
    /// The foreign keys of the specification, with the keys that they need.
    foreign_keys: bool,
    /// A primary key for `history`, which has none in the specification: clusters need one.
    history_key: bool,
    /// For a trial: the customers, orders and items are divided by this.
    shrink: u64,
}

impl Default for Keys {
    fn default() -> Self {
        Self {
            warehouses: 1,
            first_warehouse: None,
            last_warehouse: None,
            partition_by: PartitionBy::None,
            partitions: 4,
            foreign_keys: false,
            history_key: false,
            shrink: 1,
        }
    }
}

/// The way in which all tables but `item` are divided, by their warehouse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum PartitionBy {
    None,
    Hash,
    Key,
    Range,
    List,
}

impl PartitionBy {
    fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Hash => "hash",
            Self::Key => "key",
            Self::Range => "range",
            Self::List => "list",
        }
    }

    /// The clause that divides the warehouses of `column` into `partitions` partitions.
    fn clause(self, column: &str, warehouses: u64, partitions: u64) -> String {
        let parts = |values: &dyn Fn(u64) -> String| {
            let each =
                (0..partitions).map(|part| format!("PARTITION p{part} VALUES {}", values(part)));
            each.collect::<Vec<_>>().join(", ")
        };
        let last = |part: u64| warehouses * (part + 1) / partitions;
        match self {
            Self::None => String::new(),
            Self::Hash => format!("PARTITION BY HASH ({column}) PARTITIONS {partitions}"),
            Self::Key => format!("PARTITION BY KEY ({column}) PARTITIONS {partitions}"),
            Self::Range => {
                let parts = parts(&|part| match part + 1 == partitions {
                    true => "LESS THAN MAXVALUE".to_owned(),
                    false => format!("LESS THAN ({})", last(part) + 1),
                });
                format!("PARTITION BY RANGE ({column}) ({parts})")
            }
            Self::List => {
                let parts = parts(&|part| {
                    let numbers = (part..warehouses).step_by(partitions as usize);
                    let numbers: Vec<String> = numbers.map(|n| (n + 1).to_string()).collect();
                    format!("IN ({})", numbers.join(", "))
                });
                format!("PARTITION BY LIST ({column}) ({parts})")
            }
        }
    }
}

/// The nine tables.
///
/// # Errors
/// Sizes that cannot be, or foreign keys that the engine would not take.
pub fn dataset(wish: &Wish<'_>) -> Result<Dataset, String> {
    let keys: Keys = wish.own_keys()?;
    check(&keys, wish)?;
    let size = Size {
        first: keys.first_warehouse.unwrap_or(1),
        last: keys.last_warehouse.unwrap_or(keys.warehouses),
        customers: CUSTOMERS / keys.shrink,
        items: ITEMS / keys.shrink,
    };
    let mut fillings = Vec::new();
    let mut finish = Vec::new();
    for (part, of) in TABLES {
        let table = table_of(of, &keys, wish)?;
        if keys.foreign_keys {
            let foreign = of.foreign.iter().zip(1..);
            finish.extend(foreign.map(|(to, number)| LastStep::foreign_key(&table, number, to)));
        }
        let content = Arc::new(TpccRows::new(part, size, wish.seed));
        fillings.push(Filling { table, content });
    }
    let mut facts = vec![
        ("seed", wish.seed.to_string()),
        ("warehouses", keys.warehouses.to_string()),
        ("customers_per_district", size.customers.to_string()),
        ("items", size.items.to_string()),
        ("c_load", text::c_load(wish.seed).to_string()),
        ("partition_by", keys.partition_by.name().to_owned()),
        ("partitions", keys.partitions.to_string()),
        ("foreign_keys", keys.foreign_keys.to_string()),
        ("history_key", keys.history_key.to_string()),
    ];
    if (size.first, size.last) != (1, keys.warehouses) {
        facts.push(("first_warehouse", size.first.to_string()));
        facts.push(("last_warehouse", size.last.to_string()));
    }
    Ok(Dataset {
        name: "tpcc",
        tables: fillings,
        finish,
        facts,
        facts_stay: true,
    })
}

fn check(keys: &Keys, wish: &Wish<'_>) -> Result<(), String> {
    if wish.rows.is_some() {
        return Err("--rows: set the size of tpcc with --with warehouses=N".to_owned());
    }
    if !(1..=100_000).contains(&keys.warehouses) {
        return Err(format!("warehouses: 1 to 100000, not {}", keys.warehouses));
    }
    let first = keys.first_warehouse.unwrap_or(1);
    let last = keys.last_warehouse.unwrap_or(keys.warehouses);
    if first < 1 || first > last || last > keys.warehouses {
        return Err(format!(
            "warehouses {first} to {last} are not within 1 to {}",
            keys.warehouses
        ));
    }
    if !(1..=100).contains(&keys.shrink) {
        return Err(format!("shrink: 1 to 100, not {}", keys.shrink));
    }
    let divided = keys.partition_by != PartitionBy::None;
    if divided && !(1..=1024).contains(&keys.partitions) {
        return Err(format!("partitions: 1 to 1024, not {}", keys.partitions));
    }
    let by_value = matches!(keys.partition_by, PartitionBy::Range | PartitionBy::List);
    if by_value && keys.partitions > keys.warehouses {
        return Err(format!(
            "{} partitions by {} need at least as many warehouses; there are {}",
            keys.partitions,
            keys.partition_by.name(),
            keys.warehouses
        ));
    }
    if keys.foreign_keys && divided {
        return Err(
            "foreign_keys and partitions cannot be combined: InnoDB has no foreign keys of, or \
             to, a partitioned table"
                .to_owned(),
        );
    }
    if keys.foreign_keys && wish.engine != StorageEngine::InnoDb {
        return Err(format!(
            "{} has no foreign keys; remove foreign_keys, or use InnoDB",
            wish.engine.name()
        ));
    }
    Ok(())
}

fn table_of(of: &OfWarehouse, keys: &Keys, wish: &Wish<'_>) -> Result<Table, String> {
    let divided = keys.partition_by != PartitionBy::None;
    let mut more: Vec<&str> = Vec::new();
    if keys.foreign_keys {
        more.extend(of.foreign_keys_keys);
    }
    if keys.history_key && of.definition.name == tables::HISTORY.definition.name {
        more.push("h_id BIGINT NOT NULL AUTO_INCREMENT");
        more.push(if divided {
            // The column that divides a table is in each of its unique keys.
            "PRIMARY KEY (h_id, h_w_id)"
        } else {
            "PRIMARY KEY (h_id)"
        });
    }
    let by = keys.partition_by;
    let clause = |column| by.clause(column, keys.warehouses, keys.partitions);
    Ok(Table {
        partitions: of.warehouse.map(clause).unwrap_or_default(),
        ..Table::defined(
            &of.definition,
            &more,
            wish.engine.clone(),
            wish.table_options,
        )?
    })
}

#[cfg(test)]
mod tests;

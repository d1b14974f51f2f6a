//! Checks a server before the load: whether it has the data, all of it, and with which sizes.

use super::facts::{CUSTOMERS, Facts, ITEMS};
use super::keys::Keys;
use contend_engine::workload::LookedAtServer;
use contend_figures::outcome::Failure;
use contend_random::nurand::Constants;
use contend_wire::Flavour;
use std::collections::BTreeMap;

/// The table does not exist.
const NO_TABLE: u16 = 1146;

/// The facts that a load left in `contend_tpcc`.
///
/// # Errors
/// A different loader made the tables, or they are incomplete or lack the requested warehouses.
pub fn facts(keys: &Keys, server: &mut dyn LookedAtServer) -> Result<Facts, Failure> {
    let told = server.rows("SELECT name, value FROM contend_tpcc");
    let told = told.map_err(|failure| match failure.code {
        Some(NO_TABLE) => Failure::with_hint(
            "the database has no TPC-C tables loaded by contend: there is no table contend_tpcc",
            "load them with contend-load fill, or correct the database; for tables of a different \
             kit set workload.c_load and workload.warehouses",
        ),
        _ => failure,
    })?;
    let told: BTreeMap<String, String> = told
        .into_iter()
        .filter_map(|row| {
            let mut row = row.into_iter();
            Some((row.next()??, row.next()??))
        })
        .collect();
    let state = told.get("state").map_or("unknown", String::as_str);
    if state != "complete" {
        return Err(Failure::with_hint(
            format!("the TPC-C tables are half loaded: contend_tpcc has state {state}"),
            "run contend-load fill again: it resumes",
        ));
    }
    let number = |name: &str| told.get(name).and_then(|value| value.parse::<u64>().ok());
    // A size that the table does not name is the specification's.
    let size = |name: &str, full| match told.contains_key(name) {
        true => number(name).filter(|size| *size > 0),
        false => Some(full),
    };
    let (Some(loaded), Some(c_load), Some(customers), Some(items)) = (
        number("warehouses"),
        number("c_load"),
        size("customers_per_district", CUSTOMERS),
        size("items", ITEMS),
    ) else {
        return Err(Failure::with_hint(
            "contend_tpcc lacks the number of warehouses, customers or items, or the constant of \
             last names",
            "reload the tables with contend-load fill",
        ));
    };
    let found = server.rows("SELECT COUNT(*), MIN(w_id), MAX(w_id) FROM warehouse")?;
    // One of several servers that share the warehouses has some of them.
    let first = number("first_warehouse").unwrap_or(1);
    let last = number("last_warehouse").unwrap_or(loaded);
    let count = (last + 1).saturating_sub(first);
    let expected = [count, first, last].map(|number| Some(number.to_string()));
    if found.first().map(Vec::as_slice) != Some(&expected) {
        return Err(Failure::with_hint(
            format!(
                "contend_tpcc has warehouses {first} to {last}, but the table warehouse has \
                 different ones"
            ),
            "reload the tables with contend-load fill",
        ));
    }
    let wanted = u64::from(keys.last_warehouse.unwrap_or(1))
        .max(keys.warehouses.unwrap_or(1).into())
        .max(keys.first_warehouse.into());
    if wanted > loaded {
        return Err(Failure::with_hint(
            format!("the run needs warehouse {wanted}, but the tables have {loaded}"),
            "load more of them, or use fewer: workload.warehouses, last_warehouse",
        ));
    }
    let warehouses = keys.warehouses.map_or(loaded, u64::from);
    Ok(Facts {
        warehouses,
        customers,
        items,
        constants: Constants::of_run(c_load),
        first_home: keys.first_warehouse.into(),
        last_home: keys.last_warehouse.map_or(warehouses, u64::from),
    })
}

/// The servers of a run have different data, which cannot be asked alike.
pub fn other_data() -> Failure {
    Failure::with_hint(
        "its TPC-C data differs from that of the servers before it",
        "load all servers with the same warehouses and seed",
    )
}

/// # Errors
/// The server has no DELETE … RETURNING.
pub fn refuse_no_read(server: &dyn LookedAtServer) -> Result<(), Failure> {
    match server.flavour() {
        Flavour::MariaDb => Ok(()),
        _ => Err(Failure::with_hint(
            "workload.ask \"no_read\" needs DELETE … RETURNING, which only MariaDB has",
            "use a different one: each, in, multi_row, procedure",
        )),
    }
}

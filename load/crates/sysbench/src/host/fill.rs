//! Tables of the bundled scripts, filled as `contend-load fill` fills them.

use super::Servers;
use crate::lua::thread_io::TableRows;
use contend_data::filling::{Made, fill_made};
use contend_data::table::seed_of_table;
use contend_data::{Rows, Sbtest, StorageEngine, Switches, Table};

/// Fills a table that a script has just made.
///
/// # Errors
/// Words for why that failed.
pub fn fill(servers: &Servers, endpoint: usize, order: &TableRows) -> Result<(), String> {
    let mut target = servers.at(endpoint).ok_or("no server is named")?;
    target.options.local_infile = true;
    target.options.multi_statements = false;
    let made = Made {
        table: table_of(order)?,
        rows: Rows::drawn(
            seed_of_table(order.seed, order.number),
            order.rows,
            order.shape,
        ),
        sessions: order.sessions,
    };
    fill_made(&target, &made).map_err(|failure| match failure.code {
        Some(code) => format!("error {code}: {}", failure.message),
        None => failure.message,
    })
}

fn table_of(order: &TableRows) -> Result<Table, String> {
    let engine = StorageEngine::named(&order.engine).map_err(|error| error.to_string())?;
    // Its columns and keys are the script's affair: only the load is ours.
    let sbtest = Sbtest::V10(Switches::default());
    let table = sbtest.table(&order.table, engine, &order.options);
    table.map_err(|error| error.to_string())
}

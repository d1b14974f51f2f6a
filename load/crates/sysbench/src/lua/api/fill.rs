//! Rows for the tables of the bundled scripts.

use super::{Pushed, connection};
use crate::lua::context::Context;
use crate::lua::stack::Stack;
use crate::lua::thread_io::TableRows;

functions! {
    "fill": fill,
}

/// `fill(connection, table, number, engine, options, rows, sessions)`: true; nil where the rows
/// have to be inserted one by one; false, with a message, if it failed.
fn fill(stack: &mut Stack<'_>, cx: &mut Context) -> Pushed {
    let connection = connection(stack, cx, 1);
    let (Some(connection), false) = (connection, cx.run.database.dry_run) else {
        stack.push_nil();
        return 1;
    };
    let order = TableRows {
        table: stack.text(2).unwrap_or_default(),
        number: stack.integer(3) as u32,
        engine: stack.text(4).unwrap_or_default(),
        options: stack.text(5).unwrap_or_default(),
        rows: stack.number(6) as u64,
        sessions: stack.number(7) as usize,
        seed: cx.run.draws.seed,
        shape: cx.run.draws.default,
    };
    let endpoint = connection.endpoint();
    match cx.io.fill(endpoint, &order) {
        Some(Ok(())) => stack.push_flag(true),
        Some(Err(words)) => {
            let words = format!("filling table '{}' failed: {words}", order.table);
            cx.run.log.fatal(&words);
            stack.push_flag(false);
        }
        None => stack.push_nil(),
    }
    1
}

//! Drivers, connections, queries, statements.

use super::{Pushed, connection, handle, statement};
use crate::lua::context::Context;
use crate::lua::database::DRIVER;
use crate::lua::sql::{Connection, DriverFace, HandleKind, ResultFace, ScriptStatement};
use crate::lua::stack::Stack;

functions! {
    "driver": driver,
    "driver_name": driver_name,
    "connect": connect,
    "result_of": result_of,
    "keep_types": keep_types,
    "keep_null": keep_null,
    "keep_result": keep_result,
    "disconnect": disconnect,
    "reconnect": reconnect,
    "query": query,
    "prepare": prepare,
    "execute": execute,
    "close_statement": close_statement,
    "bulk_insert_init": bulk_insert_init,
    "bulk_insert_next": bulk_insert_next,
    "bulk_insert_done": bulk_insert_done,
}

/// `driver([name])`: the address of the driver, nil where there is none of that name.
fn driver(stack: &mut Stack<'_>, cx: &mut Context) -> Pushed {
    let name = stack
        .text(1)
        .unwrap_or_else(|| cx.run.database.driver.clone());
    if name == DRIVER {
        cx.run.database.set_used();
        stack.push_address(cx.driver.address().cast());
    } else {
        cx.run
            .log
            .fatal(&format!("invalid database driver name: '{name}'"));
        stack.push_nil();
    }
    1
}

fn driver_name(stack: &mut Stack<'_>, _cx: &mut Context) -> Pushed {
    stack.push_bytes(DRIVER.as_bytes());
    1
}

/// `connect(driver)`: the address of a connection, nil if it cannot be opened.
fn connect(stack: &mut Stack<'_>, cx: &mut Context) -> Pushed {
    let Some(driver) = handle(stack, cx, 1, HandleKind::Driver) else {
        stack.push_nil();
        return 1;
    };
    let driver: *mut DriverFace = driver.cast();
    match Connection::open(&mut cx.session(), driver) {
        Some(connection) => {
            stack.push_address(connection.address().cast());
            cx.connections.push(connection);
        }
        None => stack.push_nil(),
    }
    1
}

/// The address of a connection's result.
fn result_of(stack: &mut Stack<'_>, cx: &mut Context) -> Pushed {
    match connection(stack, cx, 1) {
        Some(connection) => {
            let result: *mut ResultFace = connection.result.address();
            stack.push_address(result.cast());
        }
        None => stack.push_nil(),
    }
    1
}

/// `keep_types(driver, connection, statement, result)`: pointers of the types that handles have.
fn keep_types(stack: &mut Stack<'_>, cx: &mut Context) -> Pushed {
    for (index, place) in (1..).zip(&mut cx.handle_types) {
        *place = stack.typed_pointer(index).map_or(0, |(number, _)| number);
    }
    0
}

/// `keep_null(handle)`: the return value of a query without a result set.
fn keep_null(stack: &mut Stack<'_>, cx: &mut Context) -> Pushed {
    cx.null_result = stack.keep();
    0
}

/// `keep_result(connection, handle)`: the return value of a query with a result set.
fn keep_result(stack: &mut Stack<'_>, cx: &mut Context) -> Pushed {
    if let Some(connection) = connection(stack, cx, 1) {
        let reference = stack.keep();
        connection.result_reference = reference;
    }
    0
}

fn disconnect(stack: &mut Stack<'_>, cx: &mut Context) -> Pushed {
    if let Some(connection) = connection(stack, cx, 1) {
        connection.disconnect(&mut cx.session());
    }
    stack.push_flag(true);
    1
}

fn reconnect(stack: &mut Stack<'_>, cx: &mut Context) -> Pushed {
    let fine = match connection(stack, cx, 1) {
        Some(connection) => connection.reconnect(&mut cx.session()),
        None => false,
    };
    stack.push_flag(fine);
    1
}

/// `query(connection, text)`: the handle of the result, NULL where there are no rows, false
/// where it failed.
fn query(stack: &mut Stack<'_>, cx: &mut Context) -> Pushed {
    let connection = connection(stack, cx, 1);
    let (Some(connection), Some(sql)) = (connection, stack.bytes(2)) else {
        return super::wrong(stack, "query", "a connection and the text of a query");
    };
    match connection.query(&mut cx.session(), sql) {
        Ok(true) => stack.push_kept(connection.result_reference),
        Ok(false) => stack.push_kept(cx.null_result),
        Err(_) => stack.push_flag(false),
    }
    1
}

/// `prepare(connection, text)`: the address of a statement, nil where it failed.
fn prepare(stack: &mut Stack<'_>, cx: &mut Context) -> Pushed {
    let connection = connection(stack, cx, 1);
    let (Some(connection), Some(sql)) = (connection, stack.bytes(2)) else {
        return super::wrong(stack, "prepare", "a connection and the text of a statement");
    };
    match connection.prepare(&mut cx.session(), sql) {
        Ok(statement) => stack.push_address(statement.cast()),
        Err(_) => stack.push_nil(),
    }
    1
}

/// The connection of a statement, which lives longer.
fn connection_of<'a>(statement: &ScriptStatement) -> &'a mut Connection {
    // SAFETY: the head of a connection is where the connection is.
    unsafe { &mut *statement.face.connection.cast() }
}

/// `execute(statement)`: as `query`.
fn execute(stack: &mut Stack<'_>, cx: &mut Context) -> Pushed {
    let Some(statement) = statement(stack, cx, 1) else {
        return super::wrong(stack, "execute", "a statement");
    };
    let connection = connection_of(statement);
    // SAFETY: all bound values are anchored.
    match unsafe { connection.execute(&mut cx.session(), statement) } {
        Ok(true) => stack.push_kept(connection.result_reference),
        Ok(false) => stack.push_kept(cx.null_result),
        Err(_) => stack.push_flag(false),
    }
    1
}

/// `statement:close()`: 0.
fn close_statement(stack: &mut Stack<'_>, cx: &mut Context) -> Pushed {
    if let Some(statement) = statement(stack, cx, 1) {
        connection_of(statement).close_statement(&mut cx.session(), statement);
        stack.release(std::mem::take(&mut statement.anchor));
    }
    stack.push_number(0.0);
    1
}

/// `bulk_insert_init(connection, head)`: whether it can begin.
fn bulk_insert_init(stack: &mut Stack<'_>, cx: &mut Context) -> Pushed {
    let connection = connection(stack, cx, 1);
    let (Some(connection), Some(head)) = (connection, stack.bytes(2)) else {
        return super::wrong(
            stack,
            "bulk_insert_init",
            "a connection and the head of an INSERT",
        );
    };
    connection.bulk.begin(head);
    stack.push_flag(true);
    1
}

/// `bulk_insert_next(connection, row)`: false if rows had to be sent and that failed.
fn bulk_insert_next(stack: &mut Stack<'_>, cx: &mut Context) -> Pushed {
    let connection = connection(stack, cx, 1);
    let (Some(connection), Some(row)) = (connection, stack.bytes(2)) else {
        return super::wrong(
            stack,
            "bulk_insert_next",
            "a connection and the text of a row",
        );
    };
    let added = connection.add_to_bulk(&mut cx.session(), row);
    stack.push_flag(added.is_ok());
    1
}

fn bulk_insert_done(stack: &mut Stack<'_>, cx: &mut Context) -> Pushed {
    let Some(connection) = connection(stack, cx, 1) else {
        return super::wrong(stack, "bulk_insert_done", "a connection");
    };
    let sent = connection.flush_bulk(&mut cx.session());
    connection.bulk.end();
    stack.push_flag(sent.is_ok());
    1
}

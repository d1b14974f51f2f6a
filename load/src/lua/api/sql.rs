//! Drivers, connections, queries, statements.

use super::{ApiEntry, Pushed, enter};
use crate::lua::database::DRIVER;
use crate::lua::sql::{Connection, DriverFace, HandleKind, ResultFace, ScriptStatement};
use crate::lua::sys::lua_State;

pub const FUNCTIONS: &[ApiEntry] = &[
    (c"driver", driver),
    (c"driver_name", driver_name),
    (c"connect", connect),
    (c"result_of", result_of),
    (c"keep_null", keep_null),
    (c"keep_result", keep_result),
    (c"disconnect", disconnect),
    (c"reconnect", reconnect),
    (c"query", query),
    (c"prepare", prepare),
    (c"execute", execute),
    (c"close_statement", close_statement),
    (c"bulk_insert_init", bulk_insert_init),
    (c"bulk_insert_next", bulk_insert_next),
    (c"bulk_insert_done", bulk_insert_done),
];

/// `driver([name])`: the address of the driver, nil where there is none of that name.
unsafe extern "C-unwind" fn driver(lua: *mut lua_State) -> Pushed {
    // SAFETY: Lua calls with its state.
    let (stack, cx) = unsafe { enter(lua) };
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

unsafe extern "C-unwind" fn driver_name(lua: *mut lua_State) -> Pushed {
    // SAFETY: Lua calls with its state.
    let (stack, _) = unsafe { enter(lua) };
    stack.push_bytes(DRIVER.as_bytes());
    1
}

/// `connect(driver)`: the address of a connection, nil where it cannot be had.
unsafe extern "C-unwind" fn connect(lua: *mut lua_State) -> Pushed {
    // SAFETY: Lua calls with its state.
    let (stack, cx) = unsafe { enter(lua) };
    let Some(driver) = stack.handle::<DriverFace>(1, HandleKind::Driver) else {
        stack.push_nil();
        return 1;
    };
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
unsafe extern "C-unwind" fn result_of(lua: *mut lua_State) -> Pushed {
    // SAFETY: Lua calls with its state; a handle of this kind points to a connection.
    let (stack, _) = unsafe { enter(lua) };
    match stack.handle::<Connection>(1, HandleKind::Connection) {
        Some(connection) => {
            let result: *mut ResultFace = unsafe { (*connection).result.address() };
            stack.push_address(result.cast());
        }
        None => stack.push_nil(),
    }
    1
}

/// `keep_null(handle)`: what a query without a result set answers.
unsafe extern "C-unwind" fn keep_null(lua: *mut lua_State) -> Pushed {
    // SAFETY: Lua calls with its state.
    let (mut stack, cx) = unsafe { enter(lua) };
    cx.null_result = stack.keep();
    0
}

/// `keep_result(connection, handle)`: what a query with a result set answers.
unsafe extern "C-unwind" fn keep_result(lua: *mut lua_State) -> Pushed {
    // SAFETY: Lua calls with its state; a handle of this kind points to a connection.
    let (mut stack, _) = unsafe { enter(lua) };
    if let Some(connection) = stack.handle::<Connection>(1, HandleKind::Connection) {
        let reference = stack.keep();
        unsafe { (*connection).result_reference = reference };
    }
    0
}

unsafe extern "C-unwind" fn disconnect(lua: *mut lua_State) -> Pushed {
    // SAFETY: Lua calls with its state; a handle of this kind points to a connection.
    let (stack, cx) = unsafe { enter(lua) };
    if let Some(connection) = stack.handle::<Connection>(1, HandleKind::Connection) {
        unsafe { (*connection).disconnect(&mut cx.session()) };
    }
    stack.push_flag(true);
    1
}

unsafe extern "C-unwind" fn reconnect(lua: *mut lua_State) -> Pushed {
    // SAFETY: Lua calls with its state; a handle of this kind points to a connection.
    let (stack, cx) = unsafe { enter(lua) };
    let fine = match stack.handle::<Connection>(1, HandleKind::Connection) {
        Some(connection) => unsafe { (*connection).reconnect(&mut cx.session()) },
        None => false,
    };
    stack.push_flag(fine);
    1
}

/// `query(connection, text)`: the handle of the result, NULL where there are no rows, false
/// where it failed.
unsafe extern "C-unwind" fn query(lua: *mut lua_State) -> Pushed {
    // SAFETY: Lua calls with its state; a handle of this kind points to a connection.
    let (mut stack, cx) = unsafe { enter(lua) };
    let connection = stack.handle::<Connection>(1, HandleKind::Connection);
    let (Some(connection), Some(sql)) = (connection, stack.bytes(2)) else {
        return super::wrong(&mut stack, "query", "a connection and the text of a query");
    };
    let connection = unsafe { &mut *connection };
    match connection.query(&mut cx.session(), sql) {
        Ok(true) => stack.push_kept(connection.result_reference),
        Ok(false) => stack.push_kept(cx.null_result),
        Err(_) => stack.push_flag(false),
    }
    1
}

/// `prepare(connection, text)`: the address of a statement, nil where it failed.
unsafe extern "C-unwind" fn prepare(lua: *mut lua_State) -> Pushed {
    // SAFETY: Lua calls with its state; a handle of this kind points to a connection.
    let (mut stack, cx) = unsafe { enter(lua) };
    let connection = stack.handle::<Connection>(1, HandleKind::Connection);
    let (Some(connection), Some(sql)) = (connection, stack.bytes(2)) else {
        return super::wrong(
            &mut stack,
            "prepare",
            "a connection and the text of a statement",
        );
    };
    match unsafe { (*connection).prepare(&mut cx.session(), sql) } {
        Ok(statement) => stack.push_address(statement.cast()),
        Err(_) => stack.push_nil(),
    }
    1
}

/// `execute(statement)`: as `query`.
unsafe extern "C-unwind" fn execute(lua: *mut lua_State) -> Pushed {
    // SAFETY: Lua calls with its state; a handle of this kind points to a statement, which lives
    // as long as its connection, and that as long as the state. What is bound is anchored.
    let (mut stack, cx) = unsafe { enter(lua) };
    let Some(statement) = stack.handle::<ScriptStatement>(1, HandleKind::Statement) else {
        return super::wrong(&mut stack, "execute", "a statement");
    };
    let (connection, executed) = unsafe {
        let statement = &mut *statement;
        let connection: &mut Connection = &mut *statement.face.connection.cast();
        let executed = connection.execute(&mut cx.session(), statement);
        (connection, executed)
    };
    match executed {
        Ok(true) => stack.push_kept(connection.result_reference),
        Ok(false) => stack.push_kept(cx.null_result),
        Err(_) => stack.push_flag(false),
    }
    1
}

/// `statement:close()`: 0.
unsafe extern "C-unwind" fn close_statement(lua: *mut lua_State) -> Pushed {
    // SAFETY: as in `execute`.
    let (mut stack, cx) = unsafe { enter(lua) };
    if let Some(statement) = stack.handle::<ScriptStatement>(1, HandleKind::Statement) {
        unsafe {
            let statement = &mut *statement;
            let connection: &mut Connection = &mut *statement.face.connection.cast();
            connection.close_statement(&mut cx.session(), statement);
            stack.release(std::mem::take(&mut statement.anchor));
        }
    }
    stack.push_number(0.0);
    1
}

/// `bulk_insert_init(connection, head)`: whether it can begin.
unsafe extern "C-unwind" fn bulk_insert_init(lua: *mut lua_State) -> Pushed {
    // SAFETY: Lua calls with its state; a handle of this kind points to a connection.
    let (mut stack, _) = unsafe { enter(lua) };
    let connection = stack.handle::<Connection>(1, HandleKind::Connection);
    let (Some(connection), Some(head)) = (connection, stack.bytes(2)) else {
        return super::wrong(
            &mut stack,
            "bulk_insert_init",
            "a connection and the head of an INSERT",
        );
    };
    unsafe { (*connection).bulk.begin(head) };
    stack.push_flag(true);
    1
}

/// `bulk_insert_next(connection, row)`: false if rows had to be sent and that failed.
unsafe extern "C-unwind" fn bulk_insert_next(lua: *mut lua_State) -> Pushed {
    // SAFETY: Lua calls with its state; a handle of this kind points to a connection.
    let (mut stack, cx) = unsafe { enter(lua) };
    let connection = stack.handle::<Connection>(1, HandleKind::Connection);
    let (Some(connection), Some(row)) = (connection, stack.bytes(2)) else {
        return super::wrong(
            &mut stack,
            "bulk_insert_next",
            "a connection and the text of a row",
        );
    };
    let added = unsafe { (*connection).add_to_bulk(&mut cx.session(), row) };
    stack.push_flag(added.is_ok());
    1
}

unsafe extern "C-unwind" fn bulk_insert_done(lua: *mut lua_State) -> Pushed {
    // SAFETY: Lua calls with its state; a handle of this kind points to a connection.
    let (mut stack, cx) = unsafe { enter(lua) };
    let Some(connection) = stack.handle::<Connection>(1, HandleKind::Connection) else {
        return super::wrong(&mut stack, "bulk_insert_done", "a connection");
    };
    let connection = unsafe { &mut *connection };
    let sent = connection.flush_bulk(&mut cx.session());
    connection.bulk.end();
    stack.push_flag(sent.is_ok());
    1
}

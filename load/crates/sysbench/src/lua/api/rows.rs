//! Results and their rows.

use super::{Pushed, connection, handle};
use crate::lua::context::Context;
use crate::lua::log::Level;
use crate::lua::sql::{Connection, HandleKind, ResultFace};
use crate::lua::stack::Stack;
use crate::lua::sys;

functions! {
    "fetch_row": fetch_row,
    "fetch_values": fetch_values,
    "fetch_raw_row": fetch_raw_row,
    "free_result": free_result,
    "next_result": next_result,
    "more_results": more_results,
}

/// The connection whose result is at the first argument.
fn connection_of_result<'a>(stack: &Stack<'_>, cx: &'a mut Context) -> Option<&'a mut Connection> {
    let result: *mut ResultFace = handle(stack, cx, 1, HandleKind::Result)?.cast();
    let owner = cx
        .connections
        .iter_mut()
        .find(|connection| std::ptr::eq(connection.result.address(), result));
    owner.map(|fixed| &mut **fixed)
}

/// `result:fetch_row()`: the values of the next row as a list, NULLs left out; nil at the end.
fn fetch_row(stack: &mut Stack<'_>, cx: &mut Context) -> Pushed {
    let refusal = connection_of_result(stack, cx).and_then(|connection| connection.no_rows());
    if let Some(words) = refusal {
        cx.run.log.say(Level::Alert, words);
    }
    let (None, Some(connection)) = (refusal, connection_of_result(stack, cx)) else {
        stack.push_nil();
        return 1;
    };
    // Not made large enough beforehand: with room after it, a NULL would not end the list.
    stack.push_table(0, 0);
    let mut place = 0;
    let more = connection.next_row(|value| {
        place += 1;
        if let Some(bytes) = value {
            stack.push_bytes(bytes);
            stack.set_place(place);
        }
    });
    if !more {
        stack.push_nil();
    }
    1
}

/// The values of the next row, one by one; nothing at the end. The rest is forgotten.
fn fetch_values(stack: &mut Stack<'_>, cx: &mut Context) -> Pushed {
    let Some(connection) = connection_of_result(stack, cx) else {
        stack.push_nil();
        return 1;
    };
    let fields = i32::try_from(connection.result.fields).unwrap_or(0);
    // SAFETY: asks for room, and is answered whether there is any.
    if unsafe { sys::lua_checkstack(stack.raw(), fields + 1) } == 0 {
        return 0;
    }
    let mut pushed = 0;
    connection.next_row(|value| {
        if pushed < fields {
            match value {
                Some(bytes) => stack.push_bytes(bytes),
                None => stack.push_nil(),
            }
            pushed += 1;
        }
    });
    connection.forget_rows();
    if pushed == 0 {
        stack.push_nil();
        pushed = 1;
    }
    pushed
}

/// Reads the next row into the result's `row`; false at the end.
fn fetch_raw_row(stack: &mut Stack<'_>, cx: &mut Context) -> Pushed {
    let more = connection_of_result(stack, cx).is_some_and(Connection::next_raw_row);
    stack.push_flag(more);
    1
}

/// `free_result(result)`: false, with a message, if it was freed already.
fn free_result(stack: &mut Stack<'_>, cx: &mut Context) -> Pushed {
    let freed = connection_of_result(stack, cx).map_or(Ok(()), Connection::free_result);
    if let Err(words) = freed {
        cx.run.log.say(Level::Alert, words);
    }
    stack.push_flag(freed.is_ok());
    1
}

/// `next_result(connection)`: the handle of the next result, NULL if it has no rows.
fn next_result(stack: &mut Stack<'_>, cx: &mut Context) -> Pushed {
    let kept = connection(stack, cx, 1)
        .and_then(|one| one.next_result().then_some(one.result_reference))
        .unwrap_or(cx.null_result);
    stack.push_kept(kept);
    1
}

fn more_results(stack: &mut Stack<'_>, cx: &mut Context) -> Pushed {
    let more = connection(stack, cx, 1).is_some_and(|connection| connection.more_results());
    stack.push_flag(more);
    1
}

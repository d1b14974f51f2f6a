//! Parameters of prepared statements.

use super::{Pushed, enter, statement};
use crate::lua::context::Context;
use crate::lua::sql::{Param, ParamKind, RawBind};
use crate::lua::stack::Stack;
use crate::lua::sys;
use crate::lua::sys::lua_State;
use std::ffi::c_int;

functions! {
    "keep_param_meta": keep_meta,
    "param_new": new,
    "param_set": set,
    "param_set_rand_str": set_rand_str,
    "bind_param": bind,
    "bind_raw": bind_raw,
}

/// More parameters than a statement can have.
const PARAMS_MAX: i64 = 65_535;

/// `keep_param_meta(metatable)`: the mark of parameters from now on.
fn keep_meta(stack: &mut Stack<'_>, cx: &mut Context) -> Pushed {
    stack.push_function(collect);
    stack.set_field("__gc");
    cx.param_meta = stack.keep_table();
    0
}

/// `param_new(type, max_length)`; nil for a type that no parameter has.
fn new(stack: &mut Stack<'_>, cx: &mut Context) -> Pushed {
    let Some(kind) = ParamKind::from_number(stack.integer(1)) else {
        stack.push_nil();
        return 1;
    };
    let length_max = stack.number(2) as usize;
    // The finaliser of the metatable frees the parameter's memory.
    stack.push_user_data(Param::new(kind, length_max), &cx.param_meta);
    1
}

/// The finaliser. It leaves a parameter that owns nothing: a script may also call this.
unsafe extern "C-unwind" fn collect(lua: *mut lua_State) -> Pushed {
    // SAFETY: Lua calls with its state, and nothing else refers to the parameter.
    unsafe {
        let (mut stack, cx) = enter(lua);
        if let Some(param) = param(&mut stack, cx, 1) {
            *param = Param::new(ParamKind::Integer, 0);
        }
    }
    0
}

/// The parameter at `index`, if it is one.
#[inline]
fn param(stack: &mut Stack<'_>, cx: &Context, index: c_int) -> Option<*mut Param> {
    stack.user_data(index, &cx.param_meta)
}

/// `param:set(value)`; true, or nil where the value is of a wrong type.
fn set(stack: &mut Stack<'_>, cx: &mut Context) -> Pushed {
    let Some(param) = param(stack, cx, 1) else {
        return refuse(stack, "set");
    };
    // SAFETY: as above, and nothing else refers to it during the call.
    let param = unsafe { &mut *param };
    match (stack.kind(2), param.kind()) {
        (sys::LUA_TNIL | sys::LUA_TNONE, _) => param.set_null(),
        (sys::LUA_TNUMBER, ParamKind::Integer | ParamKind::Double) => {
            param.set_number(stack.number(2));
        }
        (sys::LUA_TNUMBER | sys::LUA_TSTRING, ParamKind::Text) => {
            param.set_text(stack.bytes(2).unwrap_or_default());
        }
        (sys::LUA_TCDATA, ParamKind::Integer | ParamKind::Double) => {
            match integer_of_cdata(stack, cx, 2) {
                Some(number) => param.set_integer(number),
                None => return refuse(stack, "set"),
            }
        }
        _ => return refuse(stack, "set"),
    }
    0
}

/// Refuses a wrong argument.
fn refuse(stack: &mut Stack<'_>, function: &str) -> Pushed {
    super::wrong(stack, function, "a parameter and a value of its type")
}

/// A 64-bit integer of the FFI. Lua's own words for it are the only safe way to read its type.
fn integer_of_cdata(stack: &mut Stack<'_>, cx: &Context, index: c_int) -> Option<i64> {
    stack.push_kept(cx.originals.tostring);
    stack.push_copy(index);
    // A metamethod of the type may run, and raise.
    stack.call(1, 1).ok()?;
    let text = stack.text(-1).unwrap_or_default();
    stack.pop(1);
    match text.strip_suffix("ULL") {
        Some(digits) => digits.parse::<u64>().ok().map(|number| number as i64),
        None => text.strip_suffix("LL")?.parse().ok(),
    }
}

/// `param:set_rand_str(format)`.
fn set_rand_str(stack: &mut Stack<'_>, cx: &mut Context) -> Pushed {
    let (Some(param), Some(format)) = (param(stack, cx, 1), stack.bytes(2)) else {
        return refuse(stack, "set_rand_str");
    };
    // SAFETY: the parameter is alive while it is on the stack.
    unsafe { (*param).fill_text(|text| cx.stream.fill_template(format, text)) };
    0
}

/// `statement:bind_param(p1, …)`; 0, or 1 where something is not a parameter. Without parameters
/// nil, and earlier bindings stay.
fn bind(stack: &mut Stack<'_>, cx: &mut Context) -> Pushed {
    let count = stack.top();
    if count == 1 {
        stack.push_nil();
        return 1;
    }
    let params: Option<Vec<*const Param>> = (2..=count)
        .map(|index| param(stack, cx, index).map(<*mut Param>::cast_const))
        .collect();
    let (Some(statement), Some(params)) = (statement(stack, cx, 1), params) else {
        stack.push_number(1.0);
        return 1;
    };
    // The parameters stay alive as long as the statement points to them.
    stack.push_table(params.len(), 0);
    for index in 2..=count {
        stack.push_copy(index);
        stack.set_place(index as usize - 1);
    }
    let anchor = stack.keep();
    stack.release(statement.anchor);
    statement.anchor = anchor;
    statement.bind(params);
    stack.push_number(0.0);
    1
}

/// `bind_raw(statement, array, count)`: structures `sql_bind` of the script's own.
fn bind_raw(stack: &mut Stack<'_>, cx: &mut Context) -> Pushed {
    let statement = statement(stack, cx, 1);
    let array: *const RawBind = stack.address(2).cast();
    let count = stack.integer(3).clamp(0, PARAMS_MAX) as usize;
    let (Some(statement), false) = (statement, array.is_null()) else {
        stack.push_number(1.0);
        return 1;
    };
    // SAFETY: the script promises an array of that length, as to any C function.
    let raw = unsafe { std::slice::from_raw_parts(array, count) };
    statement.bind_raw(raw.to_vec());
    stack.push_number(0.0);
    1
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::lua::testing::{run_of, state_of};

    const SCRIPT: &str = r#"
local statement = sysbench.sql.driver():connect():prepare("SELECT ?")
local param = statement:bind_create(sysbench.sql.type.INT)

function takes_its_own()
  param:set(5)
  assert(statement:bind_param(param) == 0)
  statement:execute()
end

function refuses_others()
  debug.setmetatable(typed, {})
  for _, other in ipairs({ foreign, typed, io.stdout, newproxy(true), 5, {} }) do
    assert(not pcall(param.set, other, 5))
    assert(not pcall(param.set_rand_str, other, "@@"))
    assert(statement:bind_param(other) == 1)
    getmetatable(param).__gc(other)
  end
end

function collects_twice()
  getmetatable(param).__gc(param)
  param:set(7)
  param = nil
  collectgarbage()
end
"#;

    #[test]
    fn user_data_of_others_is_no_parameter_whatever_its_size() {
        let run = run_of(SCRIPT, 1);
        let state = state_of(&run);
        // Like a module in C.
        let made = state.protected(|stack| {
            for name in ["foreign", "typed"] {
                stack.push_table(0, 0);
                let other = stack.keep_table();
                stack.push_user_data([0x55u8; size_of::<Param>()], &other);
                stack.set_global(name);
            }
            Ok(())
        });
        made.unwrap();
        for function in ["takes_its_own", "refuses_others", "collects_twice"] {
            state.call(function, &[]).unwrap();
        }
    }
}

//! Parameters of prepared statements.

use super::{Entry, Pushed, enter};
use crate::lua::sql::{Kind, Param, ParamKind, RawBind, Statement};
use crate::lua::stack::Stack;
use crate::lua::sys::{self, lua_State};
use std::ffi::c_int;

pub const FUNCTIONS: &[Entry] = &[
    (c"param_new", new),
    (c"param_set", set),
    (c"param_set_rand_str", set_rand_str),
    (c"bind_param", bind),
    (c"bind_raw", bind_raw),
];

/// More parameters than a statement can have.
const PARAMS_MAX: i64 = 65_535;

/// `param_new(type, max_length, metatable)`; nil for a type that no parameter has.
unsafe extern "C-unwind" fn new(lua: *mut lua_State) -> Pushed {
    // SAFETY: Lua calls with its state.
    let (stack, _) = unsafe { enter(lua) };
    let Some(kind) = ParamKind::from_number(stack.integer(1)) else {
        stack.push_nil();
        return 1;
    };
    let length_max = stack.number(2) as usize;
    // SAFETY: the block is as large as what is written, and Lua aligns it for any value. What
    // the parameter owns is freed by the finaliser of the metatable, which is set before the
    // block can be collected: nothing allocates between.
    unsafe {
        let block: *mut Param = sys::lua_newuserdata(lua, size_of::<Param>()).cast();
        block.write(Param::new(kind, length_max));
        sys::lua_pushvalue(lua, 3);
        stack.push_function(collect);
        stack.set_field(c"__gc");
        sys::lua_setmetatable(lua, -2);
    }
    1
}

unsafe extern "C-unwind" fn collect(lua: *mut lua_State) -> Pushed {
    // SAFETY: Lua collects what `new` made, once.
    unsafe {
        if let Some(param) = param(Stack::new(lua), 1) {
            std::ptr::drop_in_place(param);
        }
    }
    0
}

/// The parameter at `index`, if it is one.
#[inline]
fn param(stack: Stack, index: c_int) -> Option<*mut Param> {
    if stack.kind(index) != sys::LUA_TUSERDATA {
        return None;
    }
    // SAFETY: the value is user data. No other user data of a script has this size: files are
    // smaller, and C modules do not see the metatable that leads here.
    unsafe {
        (sys::lua_objlen(stack.raw(), index) == size_of::<Param>())
            .then(|| sys::lua_touserdata(stack.raw(), index).cast())
    }
}

/// `param:set(value)`; true, or nil where the value is of a wrong type.
unsafe extern "C-unwind" fn set(lua: *mut lua_State) -> Pushed {
    // SAFETY: Lua calls with its state; the parameter is alive while it is on the stack.
    let (stack, _) = unsafe { enter(lua) };
    let Some(param) = param(stack, 1) else {
        return refuse(stack, "set");
    };
    // SAFETY: as above, and nobody else refers to it during the call.
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
            match integer_of_cdata(stack, 2) {
                Some(number) => param.set_integer(number),
                None => return refuse(stack, "set"),
            }
        }
        _ => return refuse(stack, "set"),
    }
    0
}

/// Refuses a wrong argument. No Rust value waits to be dropped here.
fn refuse(stack: Stack, function: &str) -> Pushed {
    super::wrong(stack, function, "a parameter and a value of its type")
}

/// A 64-bit integer of the FFI. Lua's own words for it are the only safe way to read its type.
fn integer_of_cdata(stack: Stack, index: c_int) -> Option<i64> {
    stack.push_global(c"tostring");
    // SAFETY: the function and a copy of the value are on top of the stack.
    let failed = unsafe {
        sys::lua_pushvalue(stack.raw(), index);
        sys::lua_pcall(stack.raw(), 1, 1, 0)
    } != 0;
    let text = stack.text(-1).unwrap_or_default();
    stack.pop(1);
    if failed {
        return None;
    }
    match text.strip_suffix("ULL") {
        Some(digits) => digits.parse::<u64>().ok().map(|number| number as i64),
        None => text.strip_suffix("LL")?.parse().ok(),
    }
}

/// `param:set_rand_str(format)`.
unsafe extern "C-unwind" fn set_rand_str(lua: *mut lua_State) -> Pushed {
    // SAFETY: Lua calls with its state.
    let (stack, cx) = unsafe { enter(lua) };
    let (Some(param), Some(format)) = (param(stack, 1), stack.bytes(2)) else {
        return refuse(stack, "set_rand_str");
    };
    // SAFETY: the parameter is alive while it is on the stack.
    unsafe { (*param).fill_text(|text| cx.stream.fill_template(format, text)) };
    0
}

/// `statement:bind_param(p1, …)`; 0, or 1 where something is no parameter.
unsafe extern "C-unwind" fn bind(lua: *mut lua_State) -> Pushed {
    // SAFETY: Lua calls with its state.
    let (stack, _) = unsafe { enter(lua) };
    let count = stack.top();
    let params: Option<Vec<*const Param>> = (2..=count)
        .map(|index| param(stack, index).map(<*mut Param>::cast_const))
        .collect();
    let (Some(statement), Some(params)) = (stack.handle::<Statement>(1, Kind::Statement), params)
    else {
        stack.push_number(1.0);
        return 1;
    };
    // The parameters stay alive as long as the statement points to them.
    stack.push_table(params.len(), 0);
    for index in 2..=count {
        // SAFETY: the index is that of an argument.
        unsafe { sys::lua_pushvalue(lua, index) };
        stack.set_place(index as usize - 1);
    }
    let anchor = stack.keep();
    // SAFETY: a handle of this kind points to a statement, which lives as long as its state.
    unsafe {
        let statement = &mut *statement;
        stack.release(statement.anchor);
        statement.anchor = anchor;
        statement.bind(params);
    }
    stack.push_number(0.0);
    1
}

/// `bind_raw(statement, array, count)`: structures `sql_bind` of the script's own.
unsafe extern "C-unwind" fn bind_raw(lua: *mut lua_State) -> Pushed {
    // SAFETY: Lua calls with its state.
    let (stack, _) = unsafe { enter(lua) };
    let statement = stack.handle::<Statement>(1, Kind::Statement);
    let array: *const RawBind = stack.address(2).cast();
    let count = stack.integer(3).clamp(0, PARAMS_MAX) as usize;
    let (Some(statement), false) = (statement, array.is_null()) else {
        stack.push_number(1.0);
        return 1;
    };
    // SAFETY: the script promises an array of that length, as to any C function.
    unsafe { (*statement).bind_raw(std::slice::from_raw_parts(array, count).to_vec()) };
    stack.push_number(0.0);
    1
}

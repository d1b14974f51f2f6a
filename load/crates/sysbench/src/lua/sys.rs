//! The part of LuaJIT's C interface that the script host calls. Names are those of its manual.
//!
//! Functions that may raise a Lua error unwind, hence `C-unwind`: destructors of the Rust frames
//! between run. They are called where Lua catches the error: in functions that Lua has called,
//! and inside [`super::protected`].

#![allow(non_camel_case_types, non_snake_case, missing_docs)]

use std::ffi::{c_char, c_int, c_void};

/// One Lua state, or one coroutine of it. Only used through a pointer.
#[repr(C)]
pub struct lua_State {
    opaque: [u8; 0],
}

pub type lua_CFunction = unsafe extern "C-unwind" fn(*mut lua_State) -> c_int;
pub type lua_Alloc = unsafe extern "C" fn(*mut c_void, *mut c_void, usize, usize) -> *mut c_void;
pub type lua_Writer =
    unsafe extern "C" fn(*mut lua_State, *const c_void, usize, *mut c_void) -> c_int;

/// Called at the events that a hook is set for; their details are not used here.
pub type lua_Hook = unsafe extern "C-unwind" fn(*mut lua_State, *mut c_void);

pub const LUA_REGISTRYINDEX: c_int = -10000;
pub const LUA_GLOBALSINDEX: c_int = -10002;

/// Commands of [`lua_gc`]: collect nothing, and go on where as much again has come.
pub const LUA_GCSTOP: c_int = 0;
pub const LUA_GCRESTART: c_int = 1;
pub const LUA_GCCOLLECT: c_int = 2;

/// The event of a hook: a given number of instructions was executed.
pub const LUA_MASKCOUNT: c_int = 8;

pub const LUA_TNONE: c_int = -1;
pub const LUA_TNIL: c_int = 0;
pub const LUA_TLIGHTUSERDATA: c_int = 2;
pub const LUA_TNUMBER: c_int = 3;
pub const LUA_TSTRING: c_int = 4;
pub const LUA_TTABLE: c_int = 5;
pub const LUA_TFUNCTION: c_int = 6;
/// LuaJIT's own: a value of the FFI.
pub const LUA_TCDATA: c_int = 10;

unsafe extern "C-unwind" {
    pub fn lua_newstate(alloc: lua_Alloc, user: *mut c_void) -> *mut lua_State;
    pub fn lua_gc(L: *mut lua_State, what: c_int, data: c_int) -> c_int;
    pub fn lua_close(L: *mut lua_State);
    pub fn lua_getallocf(L: *mut lua_State, user: *mut *mut c_void) -> lua_Alloc;
    pub fn luaL_openlibs(L: *mut lua_State);
    pub fn luaL_loadbufferx(
        L: *mut lua_State,
        bytes: *const c_char,
        length: usize,
        name: *const c_char,
        mode: *const c_char,
    ) -> c_int;
    pub fn lua_dump(L: *mut lua_State, writer: lua_Writer, data: *mut c_void) -> c_int;
    pub fn lua_pcall(L: *mut lua_State, args: c_int, results: c_int, handler: c_int) -> c_int;
    pub fn lua_cpcall(L: *mut lua_State, function: lua_CFunction, user: *mut c_void) -> c_int;
    pub fn lua_error(L: *mut lua_State) -> c_int;
    pub fn luaL_where(L: *mut lua_State, level: c_int);
    pub fn lua_concat(L: *mut lua_State, count: c_int);
    pub fn lua_sethook(L: *mut lua_State, hook: lua_Hook, mask: c_int, count: c_int) -> c_int;

    pub fn lua_gettop(L: *mut lua_State) -> c_int;
    pub fn lua_settop(L: *mut lua_State, index: c_int);
    pub fn lua_checkstack(L: *mut lua_State, extra: c_int) -> c_int;
    pub fn lua_pushvalue(L: *mut lua_State, index: c_int);
    pub fn lua_insert(L: *mut lua_State, index: c_int);

    pub fn lua_typename(L: *mut lua_State, kind: c_int) -> *const c_char;
    pub fn lua_type(L: *mut lua_State, index: c_int) -> c_int;
    pub fn lua_toboolean(L: *mut lua_State, index: c_int) -> c_int;
    pub fn lua_tonumber(L: *mut lua_State, index: c_int) -> f64;
    pub fn lua_tointeger(L: *mut lua_State, index: c_int) -> isize;
    pub fn lua_tolstring(L: *mut lua_State, index: c_int, length: *mut usize) -> *const c_char;
    pub fn lua_topointer(L: *mut lua_State, index: c_int) -> *const c_void;
    pub fn lua_touserdata(L: *mut lua_State, index: c_int) -> *mut c_void;

    pub fn lua_pushnil(L: *mut lua_State);
    pub fn lua_pushnumber(L: *mut lua_State, number: f64);
    pub fn lua_pushlstring(L: *mut lua_State, bytes: *const c_char, length: usize);
    pub fn lua_pushboolean(L: *mut lua_State, flag: c_int);
    pub fn lua_pushlightuserdata(L: *mut lua_State, pointer: *mut c_void);
    pub fn lua_pushcclosure(L: *mut lua_State, function: lua_CFunction, upvalues: c_int);

    pub fn lua_createtable(L: *mut lua_State, array: c_int, hash: c_int);
    pub fn lua_newuserdata(L: *mut lua_State, size: usize) -> *mut c_void;
    pub fn lua_getfield(L: *mut lua_State, index: c_int, key: *const c_char);
    pub fn lua_rawget(L: *mut lua_State, index: c_int);
    pub fn lua_rawset(L: *mut lua_State, index: c_int);
    pub fn lua_rawgeti(L: *mut lua_State, index: c_int, key: c_int);
    pub fn lua_rawseti(L: *mut lua_State, index: c_int, key: c_int);
    pub fn luaL_ref(L: *mut lua_State, table: c_int) -> c_int;
    pub fn luaL_unref(L: *mut lua_State, table: c_int, reference: c_int);
    pub fn lua_getmetatable(L: *mut lua_State, index: c_int) -> c_int;
    pub fn lua_setmetatable(L: *mut lua_State, index: c_int) -> c_int;
}

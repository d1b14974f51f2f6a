//! Values on a Lua stack, for functions of the interface.
//!
//! A function of the interface must not raise an error while Rust values wait to be dropped, so
//! it never raises one at all: it answers `nil` or `false`, and its caller in Lua raises.

use super::sql::HandleKind;
use super::sys::{self, lua_CFunction, lua_State};
use std::ffi::{CStr, CString, c_int, c_void};
use std::marker::PhantomData;

/// The stack of a state, as one function call sees it.
///
/// What takes values off the stack, or may run a script, wants it exclusively: a text that was
/// borrowed from it lies where Lua's collector would free it as soon as nothing refers to it.
#[derive(Debug)]
pub struct Stack<'a> {
    lua: *mut lua_State,
    state: PhantomData<&'a mut lua_State>,
}

/// A table that Lua never collects, so that no other one gets its address.
#[derive(Clone, Copy, Debug)]
pub struct KeptTable {
    pub reference: c_int,
    address: *const c_void,
}

impl Default for KeptTable {
    fn default() -> Self {
        Self {
            reference: 0,
            address: std::ptr::null(),
        }
    }
}

impl Stack<'_> {
    /// # Safety
    /// `lua` is a live state, and stays so while this is used. Where there are two stacks of one
    /// state, no text of the one is used once the other has taken values off.
    pub unsafe fn new(lua: *mut lua_State) -> Self {
        Self {
            lua,
            state: PhantomData,
        }
    }

    pub fn raw(&self) -> *mut lua_State {
        self.lua
    }

    pub fn kind(&self, index: c_int) -> c_int {
        // SAFETY: here as in all that follow, the state is alive by the promise of `new`, and
        // the functions called accept any index that is acceptable in Lua's terms.
        unsafe { sys::lua_type(self.lua, index) }
    }

    pub fn is_nil(&self, index: c_int) -> bool {
        self.kind(index) <= sys::LUA_TNIL
    }

    pub fn top(&self) -> c_int {
        unsafe { sys::lua_gettop(self.lua) }
    }

    pub fn pop(&mut self, count: c_int) {
        unsafe { sys::lua_settop(self.lua, -count - 1) }
    }

    #[inline]
    pub fn number(&self, index: c_int) -> f64 {
        unsafe { sys::lua_tonumber(self.lua, index) }
    }

    pub fn integer(&self, index: c_int) -> i64 {
        unsafe { sys::lua_tointeger(self.lua, index) as i64 }
    }

    pub fn flag(&self, index: c_int) -> bool {
        unsafe { sys::lua_toboolean(self.lua, index) != 0 }
    }

    /// The text at `index`; none for what is neither text nor a number.
    pub fn bytes(&self, index: c_int) -> Option<&[u8]> {
        let mut length = 0;
        // SAFETY: Lua keeps the text as long as it is on the stack, off which nothing is taken
        // while this is borrowed.
        unsafe {
            let bytes = sys::lua_tolstring(self.lua, index, &raw mut length);
            (!bytes.is_null()).then(|| std::slice::from_raw_parts(bytes.cast(), length))
        }
    }

    pub fn text(&self, index: c_int) -> Option<String> {
        self.bytes(index)
            .map(|bytes| String::from_utf8_lossy(bytes).into_owned())
    }

    /// The handle at `index`: a pointer of the FFI to a head that says it is of `kind`.
    #[inline]
    pub fn handle<T>(&self, index: c_int, kind: HandleKind) -> Option<*mut T> {
        if self.kind(index) != sys::LUA_TCDATA {
            return None;
        }
        unsafe {
            // For a value of the FFI this is the address of what it holds: here, a pointer.
            let payload: *const *mut u32 = sys::lua_topointer(self.lua, index).cast();
            let head = payload.read_unaligned();
            (!head.is_null() && head.is_aligned() && *head == kind as u32).then(|| head.cast())
        }
    }

    /// The address that a pointer of the FFI, or light user data, holds.
    pub fn address(&self, index: c_int) -> *mut c_void {
        unsafe {
            match self.kind(index) {
                sys::LUA_TCDATA => {
                    let payload: *const *mut c_void = sys::lua_topointer(self.lua, index).cast();
                    payload.read_unaligned()
                }
                sys::LUA_TLIGHTUSERDATA => sys::lua_touserdata(self.lua, index),
                _ => std::ptr::null_mut(),
            }
        }
    }

    /// The block of the user data at `index` that has this metatable: what C modules make may be
    /// of any size, but has not one of ours.
    #[inline]
    pub fn user_data<T>(&mut self, index: c_int, meta: &KeptTable) -> Option<*mut T> {
        unsafe {
            let block = sys::lua_touserdata(self.lua, index);
            if block.is_null() || sys::lua_getmetatable(self.lua, index) == 0 {
                return None;
            }
            let found = sys::lua_topointer(self.lua, -1);
            self.pop(1);
            (found == meta.address).then(|| block.cast())
        }
    }

    pub fn push_nil(&self) {
        unsafe { sys::lua_pushnil(self.lua) }
    }

    #[inline]
    pub fn push_number(&self, number: f64) {
        unsafe { sys::lua_pushnumber(self.lua, number) }
    }

    #[inline]
    pub fn push_flag(&self, flag: bool) {
        unsafe { sys::lua_pushboolean(self.lua, flag.into()) }
    }

    pub fn push_bytes(&self, bytes: &[u8]) {
        unsafe { sys::lua_pushlstring(self.lua, bytes.as_ptr().cast(), bytes.len()) }
    }

    pub fn push_address(&self, address: *mut c_void) {
        unsafe { sys::lua_pushlightuserdata(self.lua, address) }
    }

    pub fn push_function(&self, function: lua_CFunction) {
        unsafe { sys::lua_pushcclosure(self.lua, function, 0) }
    }

    pub fn push_table(&self, array: usize, hash: usize) {
        unsafe { sys::lua_createtable(self.lua, array as c_int, hash as c_int) }
    }

    /// Pushes the value that [`Self::keep`] gave this reference for.
    #[inline]
    pub fn push_kept(&self, reference: c_int) {
        unsafe { sys::lua_rawgeti(self.lua, sys::LUA_REGISTRYINDEX, reference) }
    }

    /// Takes the value on top of the stack and keeps it alive.
    pub fn keep(&mut self) -> c_int {
        unsafe { sys::luaL_ref(self.lua, sys::LUA_REGISTRYINDEX) }
    }

    /// Takes the table on top of the stack and keeps it for good.
    pub fn keep_table(&mut self) -> KeptTable {
        let address = unsafe { sys::lua_topointer(self.lua, -1) };
        KeptTable {
            reference: self.keep(),
            address,
        }
    }

    pub fn release(&mut self, reference: c_int) {
        unsafe { sys::luaL_unref(self.lua, sys::LUA_REGISTRYINDEX, reference) }
    }

    /// Sets a field of the table below the value on top, and takes that value.
    pub fn set_field(&mut self, name: &CStr) {
        unsafe { sys::lua_setfield(self.lua, -2, name.as_ptr()) }
    }

    /// As [`Self::set_field`], by a name that is no constant.
    pub fn set_named(&mut self, name: &str) {
        let name = CString::new(name).unwrap_or_default();
        self.set_field(&name);
    }

    /// Sets a place of the list below the value on top, and takes that value.
    pub fn set_place(&mut self, place: usize) {
        unsafe { sys::lua_rawseti(self.lua, -2, place as c_int) }
    }

    /// Pushes a field of the table at `index`.
    pub fn push_field(&mut self, index: c_int, name: &CStr) {
        unsafe { sys::lua_getfield(self.lua, index, name.as_ptr()) }
    }

    /// A field of the table on top, as text.
    pub fn text_of_field(&mut self, name: &CStr) -> Option<String> {
        self.push_field(-1, name);
        let text = self.text(-1);
        self.pop(1);
        text
    }

    pub fn push_global(&mut self, name: &CStr) {
        self.push_field(sys::LUA_GLOBALSINDEX, name);
    }

    /// Takes the value on top and makes it a global.
    pub fn set_global(&mut self, name: &str) {
        let name = CString::new(name).unwrap_or_default();
        unsafe { sys::lua_setfield(self.lua, sys::LUA_GLOBALSINDEX, name.as_ptr()) }
    }
}

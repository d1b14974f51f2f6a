//! Values on a Lua stack, for functions of the interface and for [`super::protected`].
//!
//! Lua calls the owner of a [`Stack`], so an error that is raised here is caught there. It unwinds
//! through the Rust frames between, and their destructors run.

use super::error::ScriptError;
use super::sys::{lua_CFunction, lua_State};
use crate::lua::sys;
use std::ffi::{CStr, CString, c_int, c_void};
use std::marker::PhantomData;

/// The stack of a state, as one function call sees it.
///
/// A method that takes values off the stack, or may run a script, borrows it exclusively. Lua's
/// collector would free a text that was borrowed from it as soon as nothing refers to it.
#[derive(Debug)]
pub struct Stack<'a> {
    lua: *mut lua_State,
    state: PhantomData<&'a mut lua_State>,
}

/// A table that Lua never collects, so that its address stays its own.
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

/// LuaJIT keeps the number of a value's type this many bytes before the value's content.
const TYPE_BEFORE_VALUE: usize = 6;

impl Stack<'_> {
    /// # Safety
    /// `lua` is a live state, and stays so while this is used, and Lua has called the function that
    /// uses it. Where there are two stacks of one state, no text of the one is used once the other
    /// has taken values off.
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
        // SAFETY: reads a tag of a live state; an index beyond the top gives "none".
        unsafe { sys::lua_type(self.lua, index) }
    }

    /// Lua's name for the type of the value at `index`.
    pub fn kind_name(&self, index: c_int) -> &'static str {
        // SAFETY: the names of types are constants of LuaJIT, ASCII and ended by NUL.
        let name = unsafe { CStr::from_ptr(sys::lua_typename(self.lua, self.kind(index))) };
        name.to_str().unwrap_or("strange")
    }

    pub fn is_nil(&self, index: c_int) -> bool {
        self.kind(index) <= sys::LUA_TNIL
    }

    pub fn top(&self) -> c_int {
        // SAFETY: only subtracts two addresses of a live state.
        unsafe { sys::lua_gettop(self.lua) }
    }

    pub fn pop(&mut self, count: c_int) {
        // SAFETY: callers take off no more than they have pushed, and `&mut self` proves that no
        // text of the stack is borrowed.
        unsafe { sys::lua_settop(self.lua, -count - 1) }
    }

    #[inline]
    pub fn number(&self, index: c_int) -> f64 {
        // SAFETY: reads a value of a live state, and changes none; a non-number gives 0.
        unsafe { sys::lua_tonumber(self.lua, index) }
    }

    pub fn integer(&self, index: c_int) -> i64 {
        // SAFETY: as for `number`: it reads, and a value that is not a number gives 0.
        unsafe { sys::lua_tointeger(self.lua, index) as i64 }
    }

    pub fn flag(&self, index: c_int) -> bool {
        // SAFETY: reads a tag of a live state.
        unsafe { sys::lua_toboolean(self.lua, index) != 0 }
    }

    /// The text at `index`; none if the value is neither text nor a number.
    pub fn bytes(&self, index: c_int) -> Option<&[u8]> {
        let mut length = 0;
        // SAFETY: Lua keeps the text while it is on the stack, and nothing is taken off the stack
        // while this is borrowed. A number becomes text in its place: that may raise "not enough
        // memory", with nothing of this frame to be dropped.
        unsafe {
            let bytes = sys::lua_tolstring(self.lua, index, &raw mut length);
            (!bytes.is_null()).then(|| std::slice::from_raw_parts(bytes.cast(), length))
        }
    }

    pub fn text(&self, index: c_int) -> Option<String> {
        self.bytes(index)
            .map(|bytes| String::from_utf8_lossy(bytes).into_owned())
    }

    /// The type of the FFI's value at `index`, by LuaJIT's numbers in this state, and the pointer
    /// that the value is, if it is one.
    #[inline]
    pub fn typed_pointer(&self, index: c_int) -> Option<(u16, *mut u32)> {
        if self.kind(index) != sys::LUA_TCDATA {
            return None;
        }
        // SAFETY: for a value of the FFI this is the address of its content, behind a head of 16
        // bytes with the number of its type. Our allocator gives multiples of 8 bytes, so 8 bytes
        // can be read of a shorter value too.
        unsafe {
            let payload: *const u8 = sys::lua_topointer(self.lua, index).cast();
            let kind: *const u16 = payload.sub(TYPE_BEFORE_VALUE).cast();
            let pointer: *const *mut u32 = payload.cast();
            Some((kind.read_unaligned(), pointer.read_unaligned()))
        }
    }

    /// The address that a pointer of the FFI, or light user data, holds.
    pub fn address(&self, index: c_int) -> *mut c_void {
        if let Some((_, pointer)) = self.typed_pointer(index) {
            return pointer.cast();
        }
        match self.kind(index) {
            // SAFETY: reads the value of a live state that is the address itself.
            sys::LUA_TLIGHTUSERDATA => unsafe { sys::lua_touserdata(self.lua, index) },
            _ => std::ptr::null_mut(),
        }
    }

    /// The block of the user data at `index` that has this metatable. User data of C modules may be
    /// of any size, but has none of our metatables.
    #[inline]
    pub fn user_data<T>(&mut self, index: c_int, meta: &KeptTable) -> Option<*mut T> {
        // SAFETY: reads a value of a live state. Its metatable, if it has one, needs one place of
        // the stack, and Lua gives each function twenty; it is only compared, and taken off.
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

    /// Makes user data of this value, known by the metatable.
    pub fn push_user_data<T>(&mut self, value: T, meta: &KeptTable) {
        const { assert!(align_of::<T>() <= 8) };
        // SAFETY: the block is as large as the value, and Lua aligns it to 8 bytes. Raised is
        // "not enough memory" before the block exists; nothing is allocated between its writing
        // and the metatable, whose finaliser frees what the value owns.
        unsafe {
            let block: *mut T = sys::lua_newuserdata(self.lua, size_of::<T>()).cast();
            block.write(value);
            self.push_kept(meta.reference);
            sys::lua_setmetatable(self.lua, -2);
        }
    }

    pub fn push_nil(&self) {
        // SAFETY: writes one value: Lua gives each function room for twenty.
        unsafe { sys::lua_pushnil(self.lua) }
    }

    #[inline]
    pub fn push_number(&self, number: f64) {
        // SAFETY: writes one value of the twenty that there is room for.
        unsafe { sys::lua_pushnumber(self.lua, number) }
    }

    #[inline]
    pub fn push_flag(&self, flag: bool) {
        // SAFETY: writes one value of the twenty that there is room for.
        unsafe { sys::lua_pushboolean(self.lua, flag.into()) }
    }

    pub fn push_bytes(&self, bytes: &[u8]) {
        // SAFETY: pointer and length are those of `bytes`, which are copied. "Not enough memory"
        // and "string length overflow" are raised, and our caller catches them.
        unsafe { sys::lua_pushlstring(self.lua, bytes.as_ptr().cast(), bytes.len()) }
    }

    pub fn push_address(&self, address: *mut c_void) {
        // SAFETY: writes one value, which Lua never reads the memory of.
        unsafe { sys::lua_pushlightuserdata(self.lua, address) }
    }

    pub fn push_function(&self, function: lua_CFunction) {
        // SAFETY: a closure without values of its own takes none off the stack.
        unsafe { sys::lua_pushcclosure(self.lua, function, 0) }
    }

    pub fn push_table(&self, array: usize, hash: usize) {
        // SAFETY: the sizes are hints; too large a size raises an error, which our caller catches.
        unsafe { sys::lua_createtable(self.lua, array as c_int, hash as c_int) }
    }

    /// Pushes the value at `index` once more.
    pub fn push_copy(&self, index: c_int) {
        // SAFETY: callers name a value that is on the stack.
        unsafe { sys::lua_pushvalue(self.lua, index) }
    }

    /// Pushes the value that [`Self::keep`] gave this reference for.
    #[inline]
    pub fn push_kept(&self, reference: c_int) {
        // SAFETY: the registry is a table that scripts do not reach but by debug.getregistry;
        // a place of it that is empty gives nil.
        unsafe { sys::lua_rawgeti(self.lua, sys::LUA_REGISTRYINDEX, reference) }
    }

    /// Takes the value on top of the stack and keeps it alive.
    pub fn keep(&mut self) -> c_int {
        // SAFETY: a value is on top; the registry is used without metamethods.
        unsafe { sys::luaL_ref(self.lua, sys::LUA_REGISTRYINDEX) }
    }

    /// Takes the table on top of the stack and keeps it forever.
    pub fn keep_table(&mut self) -> KeptTable {
        // SAFETY: reads the address of the value on top, which is what it is known by.
        let address = unsafe { sys::lua_topointer(self.lua, -1) };
        KeptTable {
            reference: self.keep(),
            address,
        }
    }

    pub fn release(&mut self, reference: c_int) {
        // SAFETY: the reference came from `keep`; 0 and less are none.
        if reference > 0 {
            unsafe { sys::luaL_unref(self.lua, sys::LUA_REGISTRYINDEX, reference) }
        }
    }

    /// Sets a field of the table below the value on top, and takes that value. No metamethod of the
    /// table is asked.
    pub fn set_field(&mut self, name: &str) {
        self.push_bytes(name.as_bytes());
        // SAFETY: callers have pushed a table and a value; with the name below the value they are
        // the three that this needs.
        unsafe {
            sys::lua_insert(self.lua, -2);
            sys::lua_rawset(self.lua, -3);
        }
    }

    /// Sets a place of the list below the value on top, and takes that value.
    pub fn set_place(&mut self, place: usize) {
        // SAFETY: callers have pushed a table and a value; no metamethod is asked.
        unsafe { sys::lua_rawseti(self.lua, -2, place as c_int) }
    }

    /// Pushes a place of the list on top.
    pub fn push_place(&mut self, place: usize) {
        // SAFETY: callers have a table on top; no metamethod is asked.
        unsafe { sys::lua_rawgeti(self.lua, -1, place as c_int) }
    }

    /// Pushes a field of the table on top; no metamethod is asked.
    pub fn push_raw_field(&mut self, name: &str) {
        self.push_bytes(name.as_bytes());
        // SAFETY: callers have a table on top; the name above it is taken off.
        unsafe { sys::lua_rawget(self.lua, -2) }
    }

    /// Pushes a field of the table at `index` as a script would read it: a metamethod may run, or
    /// raise.
    pub fn push_field(&mut self, index: c_int, name: &CStr) {
        // SAFETY: the name ends with NUL and is copied. A value that is not a table raises an
        // error, as does a metamethod: our caller catches it.
        unsafe { sys::lua_getfield(self.lua, index, name.as_ptr()) }
    }

    /// A field of the table on top, as text.
    pub fn text_of_field(&mut self, name: &str) -> Option<String> {
        self.push_raw_field(name);
        let text = self.text(-1);
        self.pop(1);
        text
    }

    /// Pushes a global as a script would read it: a metamethod may run, or raise.
    pub fn push_global(&mut self, name: &str) {
        let name = CString::new(name).unwrap_or_default();
        self.push_field(sys::LUA_GLOBALSINDEX, &name);
    }

    /// Pushes a global; no metamethod is asked.
    pub fn push_raw_global(&mut self, name: &str) {
        self.push_bytes(name.as_bytes());
        // SAFETY: the name is taken off.
        unsafe { sys::lua_rawget(self.lua, sys::LUA_GLOBALSINDEX) }
    }

    /// Takes the value on top and makes it a global; no metamethod is asked.
    pub fn set_global(&mut self, name: &str) {
        self.push_bytes(name.as_bytes());
        // SAFETY: callers have pushed a value; with the name below it they are what this takes.
        unsafe {
            sys::lua_insert(self.lua, -2);
            sys::lua_rawset(self.lua, sys::LUA_GLOBALSINDEX);
        }
    }

    /// Calls the function below its arguments on the stack. Leaves `results` results there, or
    /// takes off the raised error.
    ///
    /// # Errors
    /// What it raised.
    pub fn call(&mut self, arguments: c_int, results: c_int) -> Result<(), ScriptError> {
        // SAFETY: callers have pushed function and arguments. Errors of the function are caught
        // here; calling a value that is not a function is such an error.
        let failed = unsafe { sys::lua_pcall(self.lua, arguments, results, 0) } != 0;
        match failed {
            true => Err(self.take_error()),
            false => Ok(()),
        }
    }

    /// Takes the value off the stack that was raised.
    pub fn take_error(&mut self) -> ScriptError {
        let message = match self.kind(-1) {
            sys::LUA_TSTRING | sys::LUA_TNUMBER => self.text(-1),
            sys::LUA_TTABLE => self.sql_error(),
            _ => None,
        };
        self.pop(1);
        ScriptError(message.unwrap_or_else(|| "(not a string)".to_owned()))
    }

    /// An error that would begin an event again was raised where there is none.
    fn sql_error(&mut self) -> Option<String> {
        let errno = self.text_of_field("sql_errno")?;
        let state = self.text_of_field("sql_state")?;
        let message = self.text_of_field("sql_errmsg").unwrap_or_default();
        Some(format!(
            "SQL error, errno = {errno}, state = '{state}': {message}"
        ))
    }

    /// Raises an error, blaming the caller at this level. It unwinds through the callers' frames.
    pub fn raise(&mut self, level: c_int, words: &str) -> c_int {
        // SAFETY: three values are pushed and become one, which is raised to our caller in Lua.
        unsafe {
            sys::luaL_where(self.lua, level);
            self.push_bytes(words.as_bytes());
            sys::lua_concat(self.lua, 2);
            sys::lua_error(self.lua)
        }
    }
}

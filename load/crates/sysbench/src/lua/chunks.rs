//! Lua sources: our own, and those of the user, each compiled once for all states.
//!
//! A thousand threads are a thousand states that run the same script. The first compiles it, the
//! others load the bytecode, which is quicker and needs no second copy of the source.

use super::stack::Stack;
use super::sys::lua_State;
use crate::lua::sys;
use std::collections::HashMap;
use std::ffi::{CStr, CString, c_int, c_void};
use std::sync::{Arc, Mutex, PoisonError};

/// Names with the Lua sources that are compiled in, from a folder of `load/lua`.
macro_rules! sources {
    ($folder:literal: $($name:literal)*) => {
        &[$(($name, include_str!(concat!("../../lua/", $folder, "/", $name, ".lua")))),*]
    };
}

/// The interface that scripts see, in the order in which it must be loaded.
pub const API: &[(&str, &str)] =
    sources!("api": "sysbench" "load" "cmdline" "rand" "sql" "histogram" "ffi" "late");

/// Parts of the interface that are loaded when a script first names something of them.
const PARTS: &[(&str, &str)] = sources!("api": "declared" "report" "symbols" "legacy");

/// The scripts that come with the program, by the name that runs or requires them.
const BUNDLED: &[(&str, &str)] = sources!(
    "scripts":
    "bulk_insert" "oltp_common" "oltp_delete" "oltp_insert" "oltp_point_select" "oltp_read_only"
    "oltp_read_write" "oltp_update_index" "oltp_update_non_index" "oltp_write_only"
    "select_random_points" "select_random_ranges"
);

/// The source of a script that comes with the program.
pub fn bundled(name: &str) -> Option<&'static str> {
    let found = BUNDLED.iter().find(|(known, _)| *known == name);
    found.map(|(_, source)| *source)
}

/// The beginning of our own chunks' names.
const OURS: &str = "=sysbench.";

/// The chunk name of a file of the interface.
pub fn chunk_name_of(file: &str) -> String {
    format!("{OURS}{file}")
}

/// Names of the scripts that come with the program and can be run.
pub fn bundled_names() -> impl Iterator<Item = &'static str> {
    let names = BUNDLED.iter().map(|(name, _)| *name);
    names.filter(|name| *name != COMMON)
}

/// The file that the others require; it has no events.
const COMMON: &str = "oltp_common";

/// Bytecode by chunk name.
#[derive(Debug, Default)]
pub struct Chunks {
    compiled: Mutex<HashMap<String, Arc<[u8]>>>,
}

impl Chunks {
    /// Pushes the function that `source` compiles to, or pushes the message of its error and
    /// returns false. `string_dump` is the state's reference to Lua's own function.
    ///
    /// # Safety
    /// `lua` is a live state with room for one more value.
    pub unsafe fn push(
        &self,
        lua: *mut lua_State,
        string_dump: c_int,
        chunk_name: &str,
        source: &[u8],
    ) -> bool {
        let known = self.lock().get(chunk_name).cloned();
        if let Some(bytecode) = known {
            // SAFETY: as the caller promises; LuaJIT has made the bytecode in this process.
            return unsafe { load(lua, chunk_name, &bytecode, c"b") };
        }
        // SAFETY: as above; lua_dump needs a function on top of the stack.
        unsafe {
            // Bytecode from elsewhere is not checked by LuaJIT, and could do anything.
            if !load(lua, chunk_name, without_shebang(source), c"t") {
                return false;
            }
            let bytecode = if chunk_name.starts_with(OURS) {
                dump_without_lines(lua, string_dump)
            } else {
                dump(lua)
            };
            if let Some(bytecode) = bytecode {
                self.lock().insert(chunk_name.to_owned(), bytecode.into());
            }
        }
        true
    }

    /// Pushes the function of a part of the interface; or pushes nil, or a message, and returns
    /// false.
    ///
    /// # Safety
    /// As [`Self::push`].
    pub unsafe fn push_part(&self, lua: *mut lua_State, string_dump: c_int, name: &str) -> bool {
        let part = PARTS.iter().find(|(known, _)| *known == name);
        // SAFETY: as the caller promises.
        unsafe {
            match part {
                Some((name, source)) => {
                    self.push(lua, string_dump, &chunk_name_of(name), source.as_bytes())
                }
                None => {
                    sys::lua_pushnil(lua);
                    false
                }
            }
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, Arc<[u8]>>> {
        self.compiled.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The bytecode of the function on top of the stack.
unsafe fn dump(lua: *mut lua_State) -> Option<Vec<u8>> {
    let mut bytecode: Vec<u8> = Vec::new();
    // SAFETY: the caller has put a function there, and the vector outlives the call.
    let failed = unsafe { sys::lua_dump(lua, collect, (&raw mut bytecode).cast()) } != 0;
    (!failed).then_some(bytecode)
}

/// The same without the numbers of lines and the names of locals, which none of our errors show:
/// errors are blamed on the script.
unsafe fn dump_without_lines(lua: *mut lua_State, string_dump: c_int) -> Option<Vec<u8>> {
    // SAFETY: the caller has put a function on top of the stack of a live state. `string.dump` runs
    // nothing of the script.
    unsafe {
        let mut stack = Stack::new(lua);
        let top = stack.top();
        stack.push_kept(string_dump);
        stack.push_copy(top);
        stack.push_flag(true);
        stack.call(2, 1).ok()?;
        let bytecode = stack.bytes(-1).map(<[u8]>::to_vec);
        stack.pop(1);
        bytecode
    }
}

unsafe fn load(lua: *mut lua_State, chunk_name: &str, bytes: &[u8], mode: &CStr) -> bool {
    let name = CString::new(chunk_name).unwrap_or_default();
    let (start, length) = (bytes.as_ptr().cast(), bytes.len());
    // SAFETY: pointer and length are those of `bytes`; the name ends with NUL and is copied.
    unsafe { sys::luaL_loadbufferx(lua, start, length, name.as_ptr(), mode.as_ptr()) == 0 }
}

/// A first line that begins with `#` is for the shell. Its end is kept: lines count from it.
fn without_shebang(source: &[u8]) -> &[u8] {
    if source.first() != Some(&b'#') {
        return source;
    }
    let end = source
        .iter()
        .position(|byte| *byte == b'\n')
        .unwrap_or(source.len());
    source.get(end..).unwrap_or_default()
}

unsafe extern "C" fn collect(
    _: *mut lua_State,
    bytes: *const c_void,
    length: usize,
    to: *mut c_void,
) -> c_int {
    // SAFETY: `to` is the vector that `push` handed to lua_dump, and LuaJIT gives a valid piece.
    unsafe {
        let to: &mut Vec<u8> = &mut *to.cast();
        to.extend_from_slice(std::slice::from_raw_parts(bytes.cast(), length));
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_for_the_shell_is_passed_over_but_counted() {
        assert_eq!(
            without_shebang(b"#!/usr/bin/sysbench\nx = 1\n"),
            b"\nx = 1\n"
        );
        assert_eq!(without_shebang(b"#!only"), b"");
        assert_eq!(without_shebang(b"x = 1"), b"x = 1");
    }

    #[test]
    fn bundled_scripts_are_found_by_name() {
        assert!(bundled("oltp_common").is_some() && bundled("oltp_read_write").is_some());
        assert!(bundled("nosuch").is_none());
        assert!(bundled_names().any(|name| name == "bulk_insert"));
        assert!(bundled_names().all(|name| name != COMMON));
    }
}

//! Lua sources: our own, and those of the user, each compiled once for all states.
//!
//! A thousand threads are a thousand states that run the same script. The first compiles it, the
//! others load the bytecode, which is quicker and needs no second copy of the source.

use super::sys::{self, lua_State};
use std::collections::HashMap;
use std::ffi::{CString, c_int, c_void};
use std::sync::{Arc, Mutex, PoisonError};

/// The interface that scripts see, in the order in which it must be loaded.
pub const API: &[(&str, &str)] = &[
    ("sysbench", include_str!("../../lua/api/sysbench.lua")),
    ("cmdline", include_str!("../../lua/api/cmdline.lua")),
    ("rand", include_str!("../../lua/api/rand.lua")),
    ("sql", include_str!("../../lua/api/sql.lua")),
    ("histogram", include_str!("../../lua/api/histogram.lua")),
    ("report", include_str!("../../lua/api/report.lua")),
    ("symbols", include_str!("../../lua/api/symbols.lua")),
];

/// Loaded after [`API`] where sysbench 1.0 is spoken.
pub const LEGACY: (&str, &str) = ("legacy", include_str!("../../lua/api/legacy.lua"));

/// The scripts that come with the program, by the name that runs or requires them.
const BUNDLED: &[(&str, &str)] = &[
    (
        "bulk_insert",
        include_str!("../../lua/scripts/bulk_insert.lua"),
    ),
    (
        "oltp_common",
        include_str!("../../lua/scripts/oltp_common.lua"),
    ),
    (
        "oltp_delete",
        include_str!("../../lua/scripts/oltp_delete.lua"),
    ),
    (
        "oltp_insert",
        include_str!("../../lua/scripts/oltp_insert.lua"),
    ),
    (
        "oltp_point_select",
        include_str!("../../lua/scripts/oltp_point_select.lua"),
    ),
    (
        "oltp_read_only",
        include_str!("../../lua/scripts/oltp_read_only.lua"),
    ),
    (
        "oltp_read_write",
        include_str!("../../lua/scripts/oltp_read_write.lua"),
    ),
    (
        "oltp_update_index",
        include_str!("../../lua/scripts/oltp_update_index.lua"),
    ),
    (
        "oltp_update_non_index",
        include_str!("../../lua/scripts/oltp_update_non_index.lua"),
    ),
    (
        "oltp_write_only",
        include_str!("../../lua/scripts/oltp_write_only.lua"),
    ),
    (
        "select_random_points",
        include_str!("../../lua/scripts/select_random_points.lua"),
    ),
    (
        "select_random_ranges",
        include_str!("../../lua/scripts/select_random_ranges.lua"),
    ),
];

/// The source of a script that comes with the program.
pub fn bundled(name: &str) -> Option<&'static str> {
    BUNDLED
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, source)| *source)
}

/// Bytecode by chunk name.
#[derive(Debug, Default)]
pub struct Chunks {
    compiled: Mutex<HashMap<String, Arc<[u8]>>>,
}

impl Chunks {
    /// Pushes the function that `source` compiles to, or pushes the message of its error and
    /// returns false.
    ///
    /// # Safety
    /// `lua` is a live state with room for one more value.
    pub unsafe fn push(&self, lua: *mut lua_State, chunk_name: &str, source: &[u8]) -> bool {
        let known = self.lock().get(chunk_name).cloned();
        if let Some(bytecode) = known {
            // SAFETY: as the caller promises; LuaJIT tells bytecode from source by its head.
            return unsafe { load(lua, chunk_name, &bytecode) };
        }
        // SAFETY: as above; a function on top of the stack is what lua_dump wants.
        unsafe {
            if !load(lua, chunk_name, without_shebang(source)) {
                return false;
            }
            let mut bytecode: Vec<u8> = Vec::new();
            if sys::lua_dump(lua, collect, (&raw mut bytecode).cast()) == 0 {
                self.lock().insert(chunk_name.to_owned(), bytecode.into());
            }
        }
        true
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, Arc<[u8]>>> {
        self.compiled.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

unsafe fn load(lua: *mut lua_State, chunk_name: &str, bytes: &[u8]) -> bool {
    let name = CString::new(chunk_name).unwrap_or_default();
    // SAFETY: pointer and length are those of `bytes`; the name ends with NUL and is copied.
    unsafe { sys::luaL_loadbuffer(lua, bytes.as_ptr().cast(), bytes.len(), name.as_ptr()) == 0 }
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
    }
}

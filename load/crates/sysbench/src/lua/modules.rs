//! `require`: the places where scripts find modules, ours among them.
//!
//! The places are sysbench's. Its own folder comes last, after the scripts of this program, which
//! bear the same names.

use super::chunks;
use super::context::Context;
use super::loaded::{Loaded, Search};
use super::stack::Stack;
use super::sys::lua_State;
use std::ffi::c_int;
use std::fmt::Write as _;
use std::path::Path;

/// Folder where packages of sysbench, and users who add to them, put scripts.
const SYSBENCH_FOLDER: &str = "/usr/share/sysbench";

/// Sets `package.path` and `package.cpath`, and puts our search in the place of Lua's own.
pub fn install(stack: &mut Stack<'_>, loaded: &Loaded) {
    let looked = loaded.search;
    stack.push_raw_global("package");
    stack.push_bytes(looked.path("LUA_PATH", source_places).as_bytes());
    stack.set_field("path");
    stack.push_bytes(looked.path("LUA_CPATH", library_places).as_bytes());
    stack.set_field("cpath");
    stack.push_raw_field("loaders");
    stack.push_function(search);
    // Behind package.preload, before the loaders of C libraries.
    stack.set_place(2);
    stack.pop(2);
}

/// The script called `name` outside of the file system's own names: its chunk name and source.
pub fn find_script(name: &str) -> Option<(String, Vec<u8>, bool)> {
    let places = Search::Sysbench.path("LUA_PATH", source_places);
    let (chunk_name, source, bundled) = find(name, &places).ok()?;
    Some((chunk_name, source, bundled))
}

/// A file that sysbench's package would have brought, named by its whole path.
pub fn bundled_by_path(path: &str) -> Option<(String, Vec<u8>)> {
    let path = Path::new(path);
    if path.parent()? != Path::new(SYSBENCH_FOLDER) || path.extension()? != "lua" {
        return None;
    }
    let name = path.file_stem()?.to_str()?;
    Some((
        bundled_chunk_name(name),
        chunks::bundled(name)?.as_bytes().to_vec(),
    ))
}

fn bundled_chunk_name(name: &str) -> String {
    format!("={name}.lua")
}

/// Finds a module, or returns the places where it is not.
fn find(name: &str, places: &str) -> Result<(String, Vec<u8>, bool), String> {
    let mut missing = String::new();
    let file_name = name.replace('.', "/");
    for place in places.split(';').filter(|place| !place.is_empty()) {
        let path = place.replace('?', &file_name);
        if let Ok(source) = std::fs::read(&path) {
            return Ok((format!("@{path}"), source, false));
        }
        // Writing to a String cannot fail.
        let _ = write!(missing, "\n\tno file '{path}'");
    }
    if let Some(source) = chunks::bundled(name) {
        return Ok((bundled_chunk_name(name), source.as_bytes().to_vec(), true));
    }
    let _ = write!(missing, "\n\tno bundled script '{name}'");
    let path = format!("{SYSBENCH_FOLDER}/{file_name}.lua");
    if let Ok(source) = std::fs::read(&path) {
        return Ok((format!("@{path}"), source, false));
    }
    let _ = write!(missing, "\n\tno file '{path}'");
    Err(missing)
}

/// The loader: pushes the module's function, or where it was sought.
unsafe extern "C-unwind" fn search(lua: *mut lua_State) -> c_int {
    // SAFETY: Lua calls with its state; only the context's shared part is used.
    let (mut stack, run) = unsafe { (Stack::new(lua), Context::of(lua).run.clone()) };
    // SAFETY: as above; numbers are read.
    let originals = unsafe { Context::of(lua).originals };
    let name = stack.text(1).unwrap_or_default();
    stack.push_kept(originals.package);
    stack.push_raw_field("path");
    let places = stack.text(-1).unwrap_or_default();
    stack.pop(2);
    match find(&name, &places) {
        Ok((chunk_name, source, _)) => {
            if let Some(file) = chunk_name.strip_prefix('@') {
                run.loaded.note(file);
            }
            // A message of the compiler takes the function's place: `require` shows it.
            // SAFETY: the state is alive, and its stack nearly empty.
            unsafe { run.chunks.push(lua, originals.dump, &chunk_name, &source) };
        }
        Err(mut missing) => {
            if run.loaded.search == Search::Usual && std::env::var_os("LUA_PATH").is_some() {
                missing.push_str("\n\tLUA_PATH is not read for the script of a plan");
            }
            stack.push_bytes(missing.as_bytes());
        }
    }
    1
}

fn source_places() -> String {
    let mut places = "./?.lua;./?/init.lua;./src/lua/?.lua;".to_owned();
    if let Ok(home) = std::env::var("HOME") {
        for folder in ["share/lua/5.1", "share/lua"] {
            let _ = write!(places, "{home}/.luarocks/{folder}/?.lua;");
            let _ = write!(places, "{home}/.luarocks/{folder}/?/init.lua;");
        }
    }
    places.push_str("/usr/local/share/lua/5.1/?.lua;/usr/share/lua/5.1/?.lua");
    places
}

fn library_places() -> String {
    let mut places = "./?.so;".to_owned();
    if let Ok(home) = std::env::var("HOME") {
        let _ = write!(
            places,
            "{home}/.luarocks/lib/lua/5.1/?.so;{home}/.luarocks/lib/lua/?.so;"
        );
    }
    places.push_str("/usr/local/lib/lua/5.1/?.so;/usr/lib/lua/5.1/?.so");
    places
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn bundled_scripts_are_found_by_name_and_by_the_path_of_the_package() {
        let (chunk_name, _, bundled) = find_script("oltp_read_write").unwrap();
        assert_eq!(
            (chunk_name.as_str(), bundled),
            ("=oltp_read_write.lua", true)
        );
        let (chunk_name, _) = bundled_by_path("/usr/share/sysbench/oltp_insert.lua").unwrap();
        assert_eq!(chunk_name, "=oltp_insert.lua");
        assert!(bundled_by_path("/elsewhere/oltp_insert.lua").is_none());
        assert!(bundled_by_path("/usr/share/sysbench/nosuch.lua").is_none());
    }

    #[test]
    fn a_missing_module_says_where_it_is_not() {
        let missing = find("no.such", "/nowhere/?.lua;;/never/?.lua").unwrap_err();
        assert!(
            missing.contains("\n\tno file '/nowhere/no/such.lua'"),
            "{missing}"
        );
        assert!(
            missing.contains("\n\tno bundled script 'no.such'"),
            "{missing}"
        );
    }
}

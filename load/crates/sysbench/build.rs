//! Builds LuaJIT from the sources that the crate `luajit-src` carries, and links it statically.
//!
//! The default build is what the script host wants: 64-bit garbage collection (so that thousands
//! of states fit), the FFI, and no Lua 5.2 deviations, which sysbench's build has none of either.

/// Machine code looks for hooks, so that an endless loop can be stopped. Every page of a large frame
/// is touched in its order, so that none reaches over the guard page of a native stack.
const FLAGS: &str = "-DLUAJIT_ENABLE_CHECKHOOK -fstack-clash-protection";

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    // SAFETY: a build script has one thread. The makefile of LuaJIT reads this variable.
    unsafe { std::env::set_var("TARGET_FLAGS", FLAGS) };
    let artifacts = luajit_src::Build::new().build();
    artifacts.print_cargo_metadata();
    println!(
        "cargo:rustc-env=LUAJIT_VERSION={}",
        version(&artifacts.include_dir().join("luajit.h")).unwrap_or_default()
    );
}

/// What LuaJIT calls itself, out of its header: `2.1.` and a number that grows.
fn version(header: &std::path::Path) -> Option<String> {
    let text = std::fs::read_to_string(header).ok()?;
    let names_it = |line: &&str| line.split_whitespace().nth(1) == Some("LUAJIT_VERSION");
    let line = text.lines().find(names_it)?;
    let quoted = line.split('"').nth(1)?;
    quoted.strip_prefix("LuaJIT ").map(str::to_owned)
}

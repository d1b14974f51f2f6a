//! Scripts that break the interface, one place at a time.

#![allow(clippy::unwrap_used)]
use super::*;
use crate::lua::testing::{Nowhere, run_of};

/// Replaces one place of the interface by something else: `NUMBER` chooses both.
const BREAKS: &str = r#"
function thread_init() end
function thread_done() end
function event() return sysbench.rand.default(1, 9), string.format("%d", 1) end
local places = {}
local function add(path, of, depth, seen)
  for key, value in pairs(of) do
    if type(key) == "string" then
      local name = path .. "." .. key
      places[#places + 1] = {name = name, of = of, key = key}
      if type(value) == "table" and depth > 0 and not seen[value] then
        seen[value] = true
        add(name, value, depth - 1, seen)
      end
    end
  end
end
add("_G", _G, 2, {[_G] = true, [package] = true})
table.sort(places, function(one, other) return one.name < other.name end)
local raise, set, getmeta, setmeta = error, rawset, getmetatable, setmetatable
local number = NUMBER
local place = places[math.floor(number / 6) + 1]
if not place then error("no such place") end
local others = {nil, 5, {}, function() raise("broken") end,
  setmeta({}, {__index = raise, __newindex = raise, __call = raise, __tostring = raise})}
local kind = number % 6
if kind < 5 then
  set(place.of, place.key, others[kind + 1])
elseif type(place.of[place.key]) == "table" then
  local meta = getmeta(place.of[place.key]) or {}
  meta.__index, meta.__newindex = raise, raise
  pcall(setmeta, place.of[place.key], meta)
end
"#;

#[test]
fn whatever_is_broken_of_the_interface_is_an_error_at_most() {
    let mut tried = 0;
    loop {
        let run = run_of(&BREAKS.replace("NUMBER", &tried.to_string()), 1);
        let state = State::new(Arc::clone(&run), 0, Box::new(Nowhere)).unwrap();
        if matches!(state.run_script(), Err(error) if error.0.contains("no such place")) {
            break;
        }
        let _ = state.show_options();
        let _ = state.export_options();
        let _ = state.declared_options();
        let _ = state.accepts("threads", "1");
        for name in ["thread_init", "event", "thread_done", "no_such"] {
            let _ = state.has_function(name);
            let _ = state.call(name, &[0]);
            let _ = state.command(name);
            let _ = state.call_command(name);
        }
        let _ = state.has_hook(c"report_cumulative");
        let _ = state.call_hook(c"report_cumulative", &[("events", 1.0)]);
        tried += 1;
    }
    assert!(tried > 600, "{tried}");
}

/// LuaJIT believes bytecode, which could then do anything to the process.
#[test]
fn bytecode_is_refused() {
    const LOADS: &str = r#"
local bytes = string.dump(function() end)
for _, how in ipairs({loadstring, load, function(text) return load(text, "=text", "bt") end}) do
    local made, why = how(bytes)
    assert(made == nil and why, "bytecode was taken")
end
assert(loadstring("return 1"))
"#;
    let state = State::new(run_of(LOADS, 1), 0, Box::new(Nowhere)).unwrap();
    state.run_script().unwrap();
}

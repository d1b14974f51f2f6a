-- The table `sysbench`, the loop of a worker thread, and the symbols that scripts reach by ffi.C.
--
-- Each file of this folder is called with the table of host functions; this one comes first.

local host = ...

ffi = require("ffi")

-- Where threads are many, only what goes round often within an event becomes machine code: all
-- counts begin anew every so many events, unless the script or the user sets options of LuaJIT.
local EVENTS_COUNTED = 500
local cool = function() end
if host.hot_loop then
  local set_options, hot_loop = jit.opt.start, "hotloop=" .. host.hot_loop
  cool = function()
    -- Setting it is what begins the counts anew.
    set_options(hot_loop)
  end
  cool()
  jit.opt.start = function(...)
    cool = function() end
    return set_options(...)
  end
end

-- --luajit-cmd of the development version.
do
  local command = host.luajit_command
  local options = command:match("^opt=(.*)")
  if options then
    for option in options:gmatch("[^,]+") do
      jit.opt.start(option)
    end
  elseif command == "on" or command == "off" or command == "flush" then
    jit[command]()
  elseif command ~= "" then
    error(("--luajit-cmd=%s: use on, off, flush or opt=..."):format(command), 0)
  end
end

-- LuaJIT's own print() writes each value and the end of the line for itself, so that lines of
-- threads of the operating system run into one another. A line is written at once.
do
  local stdout = io.stdout
  function print(...)
    local parts = { ... }
    for place = 1, select("#", ...) do
      local text = tostring(parts[place])
      if type(text) ~= "string" then
        error("'tostring' must return a string to 'print'", 2)
      end
      parts[place] = text
    end
    stdout:write(table.concat(parts, "\t") .. "\n")
  end
end

-- The type that scripts name in declarations of their own, and the functions that need no host.
ffi.cdef([[
typedef enum {
  SB_CNT_OTHER, SB_CNT_READ, SB_CNT_WRITE, SB_CNT_TRX, SB_CNT_ERROR, SB_CNT_RECONNECT,
  SB_CNT_BYTES_READ, SB_CNT_BYTES_WRITTEN, SB_CNT_MAX
} sb_counter_type;
]])

sysbench = {
  tid = host.thread_id,
  version = host.version,
  version_string = "sysbench " .. host.version,
  error = { NONE = 0, RESTART_EVENT = 1 },
  hooks = {},
}

local RESTART_EVENT = sysbench.error.RESTART_EVENT
local turn, is_over = host.turn, host.is_over

-- Runs one event until it is not restarted. Returns what event() returned, and whether it ended.
local function run_event(thread_id)
  while true do
    local fine, result = pcall(event, thread_id)
    if fine then
      return result, true
    end
    if type(result) ~= "table" or result.errcode ~= RESTART_EVENT then
      error(result, 0)
    end
    local hook = sysbench.hooks.before_restart_event
    if hook then
      hook(result)
    end
    -- An event that only ever fails must not outlive the run.
    if is_over() then
      return nil, false
    end
  end
end

-- The loop of one worker; a script may put its own in its place.
function thread_run(thread_id)
  local events = 0
  while turn() do
    events = events + 1
    if events == EVENTS_COUNTED then
      events = 0
      cool()
    end
    local stop, ended = run_event(thread_id)
    if stop or not ended then
      break
    end
  end
end

-- Text and a number have to be told apart before C sees them, and the caller is to blame.
function host.check(value, kind, place, name)
  if type(value) ~= kind then
    error(("bad argument #%d to '%s' (%s expected, got %s)"):format(place, name, kind, type(value)), 3)
  end
end

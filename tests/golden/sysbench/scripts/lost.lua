-- The server ends the connection in one of the hooks, which --where names.
ffi.cdef("int usleep(unsigned int);")
sysbench.cmdline.options = { where = { "the hook", "event" } }

local function lose(where)
  if sysbench.opt.where ~= where then
    return
  end
  local driver = sysbench.sql.driver()
  local con, killer = driver:connect(), driver:connect()
  killer:query("KILL " .. con:query_row("SELECT CONNECTION_ID()"))
  -- The server takes a moment to close it.
  ffi.C.usleep(200000)
  con:query("SELECT 1")
end

function init() lose("init") end
function thread_init() lose("thread_init") end
function thread_done() lose("thread_done") end
function done() lose("done") end
function prepare() lose("prepare") end
function cleanup() lose("cleanup") end

function event()
  lose("event")
  return true
end

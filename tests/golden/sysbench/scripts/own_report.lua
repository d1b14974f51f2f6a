-- Reports of its own: --form says which.
sysbench.cmdline.options = { form = { "csv, json, default or own", "own" } }

function event()
  con = con or sysbench.sql.driver():connect()
  con:query("SELECT 1")
  ffi.C.usleep(10000)
end

ffi.cdef("int usleep(unsigned int);")

local function own(stat)
  local seconds = stat.time_interval
  assert(seconds > 0)
  print(("own: %s threads, %s writes, %s errors, %s reconnects"):format(
    stat.latency_sum and "of all" or stat.threads_running,
    stat.writes,
    stat.errors,
    stat.reconnects
  ))
end

local function report(stat)
  (({ csv = sysbench.report_csv, json = sysbench.report_json, default = sysbench.report_default })[sysbench.opt.form] or own)(stat)
end

sysbench.hooks.report_intermediate = report
sysbench.hooks.report_cumulative = report

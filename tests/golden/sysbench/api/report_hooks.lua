-- run: --threads=2 --time=3 --report-interval=2 run
-- says: interval true 2
-- says: whole true 0
local function event_of(stat)
  for _, name in ipairs({
    "threads_running", "time_interval", "time_total", "latency_pct",
    "events", "reads", "writes", "other", "errors", "reconnects",
  }) do
    assert(type(stat[name]) == "number", name)
  end
  return stat.events > 0 and stat.latency_pct < 1
end

function event()
  ffi.C.usleep(1000)
end

sysbench.hooks.report_intermediate = function(stat)
  assert(stat.queue_length == 0 and stat.concurrency == 0)
  print("interval", event_of(stat), sysbench.tid)
end

sysbench.hooks.report_cumulative = function(stat)
  assert(stat.latency_min <= stat.latency_avg and stat.latency_avg <= stat.latency_max)
  assert(stat.latency_sum > stat.latency_max)
  print("whole", event_of(stat), sysbench.tid)
end

ffi.cdef("int usleep(unsigned int);")

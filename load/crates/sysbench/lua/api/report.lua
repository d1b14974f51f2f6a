-- Ready-made report hooks. A script chooses one: sysbench.hooks.report_intermediate =
-- sysbench.report_csv. Loaded when one is first named. Times in `stat` are seconds, shown ones are milliseconds.

local report = {}

local MS = 1000

local function rates(stat)
  local seconds = stat.time_interval
  return {
    tps = stat.events / seconds,
    qps = (stat.reads + stat.writes + stat.other) / seconds,
    reads = stat.reads / seconds,
    writes = stat.writes / seconds,
    other = stat.other / seconds,
    errors = stat.errors / seconds,
    reconnects = stat.reconnects / seconds,
  }
end

function report.report_default(stat)
  local rate = rates(stat)
  print(
    ("[ %.0fs ] thds: %u tps: %4.2f qps: %4.2f (r/w/o: %4.2f/%4.2f/%4.2f) lat (ms,%u%%): %4.2f err/s %4.2f reconn/s: %4.2f"):format(
      stat.time_total,
      stat.threads_running,
      rate.tps,
      rate.qps,
      rate.reads,
      rate.writes,
      rate.other,
      sysbench.opt.percentile,
      stat.latency_pct * MS,
      rate.errors,
      rate.reconnects
    )
  )
end

function report.report_csv(stat)
  local rate = rates(stat)
  print(
    ("%.0f,%u,%4.2f,%4.2f,%4.2f,%4.2f,%4.2f,%4.2f,%4.2f,%4.2f"):format(
      stat.time_total,
      stat.threads_running,
      rate.tps,
      rate.qps,
      rate.reads,
      rate.writes,
      rate.other,
      stat.latency_pct * MS,
      rate.errors,
      rate.reconnects
    )
  )
end

-- One array for each state that reports: its first object opens it, the end of the state closes it.
local array

function report.report_json(stat)
  local rate = rates(stat)
  if array then
    io.write(",\n")
  else
    io.write("[\n")
    array = newproxy(true)
    getmetatable(array).__gc = function()
      io.write("\n]\n")
    end
  end
  io.write(
    ([[
  {
    "time": %4.0f,
    "threads": %u,
    "tps": %4.2f,
    "qps": {
      "total": %4.2f,
      "reads": %4.2f,
      "writes": %4.2f,
      "other": %4.2f
    },
    "latency": %4.2f,
    "errors": %4.2f,
    "reconnects": %4.2f
  }]]):format(
      stat.time_total,
      stat.threads_running,
      rate.tps,
      rate.qps,
      rate.reads,
      rate.writes,
      rate.other,
      stat.latency_pct * MS,
      rate.errors,
      rate.reconnects
    )
  )
end

return report

-- One SELECT that counts the rows of several ranges of the secondary index. Each thread draws its
-- ranges from a part of the table of its own.

require("oltp_common")

sysbench.cmdline.options.number_of_ranges = { "Ranges in the SELECT", 10 }
sysbench.cmdline.options.delta = { "Distance from the first to the last key of a range", 5 }

function thread_init()
  drv = sysbench.sql.driver()
  con = drv:connect()
  local ranges = sysbench.opt.number_of_ranges
  stmt = con:prepare(([[
SELECT count(k)
          FROM sbtest1
          WHERE %s]]):format(("k BETWEEN ? AND ? OR "):rep(ranges - 1) .. "k BETWEEN ? AND ?"))
  params = {}
  for place = 1, 2 * ranges do
    params[place] = stmt:bind_create(sysbench.sql.type.INT)
  end
  stmt:bind_param(unpack(params))
  part = sysbench.opt.table_size / sysbench.opt.threads
  first = part * (sysbench.tid % sysbench.opt.threads)
end

function thread_done()
  stmt:close()
  con:disconnect()
end

local default = sysbench.rand.default

function event()
  local delta = sysbench.opt.delta
  for place = 1, #params, 2 do
    local from = default(first, first + part)
    params[place]:set(from)
    params[place + 1]:set(from + delta)
  end
  stmt:execute()
end

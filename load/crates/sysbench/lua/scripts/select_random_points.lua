-- One SELECT of rows by a list of keys of the secondary index. Each thread draws its keys from a
-- part of the table of its own.

require("oltp_common")

sysbench.cmdline.options.random_points = { "Keys in the list of the SELECT", 10 }

function thread_init()
  drv = sysbench.sql.driver()
  con = drv:connect()
  local points = sysbench.opt.random_points
  stmt = con:prepare(([[
SELECT id, k, c, pad
          FROM sbtest1
          WHERE k IN (%s)]]):format(("?, "):rep(points - 1) .. "?"))
  params = {}
  for place = 1, points do
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
  for place = 1, #params do
    params[place]:set(default(first, first + part))
  end
  stmt:execute()
end

-- The question of contend-load's random_points, for generators that take Lua: keys from the whole
-- table on every thread. The bundled select_random_points gives each thread a part of the table,
-- so that its hot rows grow fewer with the threads, and two tools would be asked two things.

sysbench.cmdline.options = {
  table_size = { "Rows of the table", 10000 },
  random_points = { "Keys in the list of the SELECT", 10 },
}

function thread_init()
  con = sysbench.sql.driver():connect()
  local points = sysbench.opt.random_points
  local places = ("?, "):rep(points - 1) .. "?"
  stmt = con:prepare("SELECT id, k, c, pad FROM sbtest1 WHERE k IN (" .. places .. ")")
  params = {}
  for place = 1, points do
    params[place] = stmt:bind_create(sysbench.sql.type.INT)
  end
  stmt:bind_param(unpack(params))
end

function event()
  for place = 1, #params do
    params[place]:set(sysbench.rand.default(1, sysbench.opt.table_size))
  end
  stmt:execute()
end

function thread_done()
  stmt:close()
  con:disconnect()
end

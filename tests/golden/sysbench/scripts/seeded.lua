-- Each thread sends a few statements, full of draws.
local sent = 0

function thread_init()
  con = sysbench.sql.driver():connect()
end

function event(tid)
  sent = sent + 1
  con:query(("SELECT %d, %d, %d, '%s', %d"):format(
    tid,
    sent,
    sysbench.rand.default(1, 100000),
    sysbench.rand.string("###@@@"),
    sysbench.rand.unique()
  ))
  return sent == 50
end

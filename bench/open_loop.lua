-- One event, one query that carries no number: the null server counts the events itself.

function thread_init()
  drv = sysbench.sql.driver()
  con = drv:connect()
end

function thread_done()
  con:disconnect()
end

function event()
  con:query("SELECT c FROM sbtest1")
end

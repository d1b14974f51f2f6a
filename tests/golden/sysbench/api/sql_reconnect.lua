-- run: --threads=1 --events=6 --mysql-ignore-errors=2006,2013,1927 run
-- says: restart
-- says: transactions: +6
-- says: reconnects: +2
-- alone: sysbench crashes with MariaDB's client library
local count = 0

function thread_init()
  local driver = sysbench.sql.driver()
  con, killer = driver:connect(), driver:connect()
  statement = con:prepare("SELECT ?")
  param = statement:bind_create(sysbench.sql.type.INT)
  statement:bind_param(param)
  assert(con:reconnect())
end

function event()
  count = count + 1
  if count == 3 then
    killer:query("KILL " .. con:query_row("SELECT CONNECTION_ID()"))
  end
  param:set(count)
  assert(statement:execute().nrows == 1)
end

sysbench.hooks.before_restart_event = function(failure)
  print("restart", failure.sql_errno)
end

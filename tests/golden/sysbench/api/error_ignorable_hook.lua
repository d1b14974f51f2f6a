-- run: --threads=1 --events=1 run
-- says: FATAL: mysql_drv_query\(\) returned error 1054
-- says: restarted
-- says: ignored errors: +1
local tries = 0

function thread_init()
  con = sysbench.sql.driver():connect()
end

function event()
  tries = tries + 1
  if tries == 1 then
    con:query("SELECT no_such_column")
  end
end

sysbench.hooks.sql_error_ignorable = function(failure)
  print("asked", failure.sql_errno, failure.errcode)
  return true
end

sysbench.hooks.before_restart_event = function()
  print("restarted")
end

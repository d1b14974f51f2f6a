-- Says itself which errors end nothing, and cleans up behind them.
local tries = 0

function thread_init()
  con = sysbench.sql.driver():connect()
end

function event()
  tries = tries + 1
  con:query("BEGIN")
  if tries == 2 then
    con:query("SELECT no_such_column")
  end
  con:query("COMMIT")
end

sysbench.hooks.sql_error_ignorable = function(err)
  print("asked", err.sql_errno, err.sql_state)
  err.connection:query("ROLLBACK")
  return err.sql_errno == 1054
end

sysbench.hooks.before_restart_event = function(err)
  print("restart", err.sql_errno)
end

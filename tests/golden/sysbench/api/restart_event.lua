-- run: --threads=1 --events=2 --mysql-ignore-errors=1062 run
-- says: restart 1 1062 23000 INSERT INTO contend_restart VALUES \(1\)
-- says: restart 1 1062 23000 INSERT
-- says: transactions: +2
-- says: ignored errors: +2
local tries = 0

function init()
  local con = sysbench.sql.driver():connect()
  con:query("CREATE TABLE contend_restart (a INT PRIMARY KEY)")
  con:query("INSERT INTO contend_restart VALUES (1)")
end

function thread_init()
  con = sysbench.sql.driver():connect()
end

function event()
  tries = tries + 1
  if tries <= 2 then
    con:query("INSERT INTO contend_restart VALUES (1)")
  end
end

sysbench.hooks.before_restart_event = function(failure)
  assert(failure.errcode == sysbench.error.RESTART_EVENT)
  assert(tostring(failure.connection) == "<sql_connection>")
  assert(failure.sql_errmsg:find("Duplicate"))
  print("restart", failure.errcode, failure.sql_errno, failure.sql_state, failure.query)
end

function done()
  sysbench.sql.driver():connect():query("DROP TABLE contend_restart")
end

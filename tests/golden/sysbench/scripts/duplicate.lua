-- Two duplicate keys, then none: with --mysql-ignore-errors=1062 the events begin again.
local tries = 0

function thread_init()
  con = sysbench.sql.driver():connect()
  con:query("CREATE TEMPORARY TABLE once (a INT PRIMARY KEY)")
  con:query("INSERT INTO once VALUES (1)")
end

function event()
  tries = tries + 1
  con:query("INSERT INTO once VALUES (" .. (tries > 2 and tries or 1) .. ")")
end

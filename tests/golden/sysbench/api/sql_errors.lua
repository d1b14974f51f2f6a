-- run: prepare
-- exit: 1
-- says: FATAL: mysql_drv_query\(\) returned error 1054 \(Unknown column 'nosuch' in .*\) for query 'SELECT nosuch'
-- says: kept
-- says: FATAL: mysql_stmt_prepare\(\) failed
-- says: FATAL: MySQL error: 1064 "You have an error
-- says: false .*SQL API error
-- says: FATAL: mysql_drv_query\(\) returned error 1054
-- says: FATAL: `prepare' function failed: .*sql_errors\.lua:23: SQL error, errno = 1054, state = '42S22': Unknown column 'last'
function prepare()
  local con = sysbench.sql.driver():connect()
  assert(con.sql_errno == 0 and tonumber(con.error) == sysbench.sql.error.NONE)
  local fine, message = pcall(con.query, con, "SELECT nosuch")
  assert(not fine and message:find("SQL error, errno = 1054, state = '42S22': Unknown column"))
  assert(con.sql_errno == 1054 and ffi.string(con.sql_state) == "42S22")
  assert(ffi.string(con.sql_errmsg):find("Unknown column"))
  assert(tonumber(con.error) == sysbench.sql.error.FATAL)
  con:query("SELECT 1")
  assert(tonumber(con.error) == sysbench.sql.error.NONE)
  print("kept")
  print(pcall(con.prepare, con, "SELEC ?"))
  assert(not pcall(con.query, con, true) and not pcall(con.query, con, nil))
  con:query("SELECT last")
end

-- run: prepare
-- says: ALERT: attempt to use an already closed connection
-- says: false .*SQL API error
-- says: ALERT: attempt to close an already closed connection
-- says: twice
function prepare()
  local con = sysbench.sql.driver():connect()
  con:query("SELECT 1")
  con:disconnect()
  print(pcall(con.query, con, "SELECT 1"))
  con:disconnect()
  print("twice")
end

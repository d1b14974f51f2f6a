-- run: prepare
-- says: ALERT: attempt to use an already closed connection
-- says: false .*SQL API error
-- says: ALERT: attempt to close an already closed connection
-- says: twice
-- alone: sysbench names the line of a function further out
function prepare()
  local con = sysbench.sql.driver():connect()
  con:query("SELECT 1")
  con:disconnect()
  print(pcall(con.query, con, "SELECT 1"))
  con:disconnect()
  print("twice")
end

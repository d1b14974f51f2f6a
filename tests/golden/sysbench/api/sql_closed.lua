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
  -- As in sysbench the place is that of the function further out.
  local function ask()
    con:query("SELECT 1")
    return 1
  end
  local function ask_row()
    local value = con:query_row("SELECT 1")
    return value
  end
  for _, way in ipairs({ ask, ask_row }) do
    print(pcall(way))
    print(pcall(function()
      local said = way()
      return said
    end))
  end
  con:disconnect()
  print("twice")
end

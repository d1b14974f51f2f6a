-- run: prepare
-- says: checked
function prepare()
  local con = sysbench.sql.driver():connect()
  local result = con:query("SELECT 1")
  assert(con:check_error(result, "SELECT 1") == result)
  pcall(con.query, con, "SELECT nosuch")
  assert(not pcall(con.check_error, con, nil, "SELECT nosuch"))
  print("checked")
end

-- run: prepare
-- says: <sql_driver> <sql_connection> <sql_statement> <sql_param> <sql_result>
function prepare()
  local driver = sysbench.sql.driver()
  local con = driver:connect()
  local statement = con:prepare("SELECT ?")
  local param = statement:bind_create(sysbench.sql.type.INT)
  assert(tostring(statement.connection) == "<sql_connection>" and tostring(con.driver) == "<sql_driver>")
  print(driver, con, statement, param, con:query("SELECT 1"))
end

-- run: prepare
-- says: without parameters nil
-- says: 1
-- says: not bound anew nil
-- says: executed 1
function prepare()
  local con = sysbench.sql.driver():connect()
  local statement = con:prepare("SELECT 1")
  print("without parameters", statement:bind_param())
  print(statement:execute().nrows)
  statement = con:prepare("SELECT ?")
  local param = statement:bind_create(sysbench.sql.type.INT)
  assert(statement:bind_param(param) == 0)
  param:set(5)
  print("not bound anew", statement:bind_param())
  print("executed", statement:execute().nrows)
end

-- run: prepare
-- alone: sysbench writes a longer format beyond its buffer, and may crash
-- says: filled
function prepare()
  local con = sysbench.sql.driver():connect()
  con:query("CREATE TEMPORARY TABLE contend_rand (a CHAR(5))")
  local statement = con:prepare("INSERT INTO contend_rand VALUES (?)")
  local param = statement:bind_create(sysbench.sql.type.CHAR, 5)
  statement:bind_param(param)
  param:set_rand_str("##-@@longer")
  statement:execute()
  assert(con:query_row("SELECT a FROM contend_rand"):find("^%d%d%-%l%l$"))
  print("filled")
end

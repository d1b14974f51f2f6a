-- run: prepare
-- says: one by one
function prepare()
  local con = sysbench.sql.driver():connect()
  local a, b, c = con:query_row("SELECT 1, NULL, 'x'")
  assert(a == "1" and b == nil and c == "x" and a + 1 == 2)
  assert(select("#", con:query_row("SELECT 1, NULL")) == 2)
  assert(con:query_row("SELECT 1 FROM DUAL WHERE 1 = 0") == nil)
  assert(con:query_row("DO 1") == nil)
  print("one by one")
end

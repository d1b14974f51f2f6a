-- run: --compat=1.1 prepare
-- says: in turn
-- alone: 1.0 has neither
function prepare()
  local con = sysbench.sql.driver():connect()
  local result = con:query("SELECT 1; DO 0; SELECT 2, 3")
  assert(result:fetch_row()[1] == "1" and con:more_results())
  assert(con:next_result() == nil and con:more_results())
  result = con:next_result()
  assert(result.nfields == 2 and result:fetch_row()[2] == "3" and not con:more_results())
  assert(con:next_result() == nil)
  print("in turn")
end

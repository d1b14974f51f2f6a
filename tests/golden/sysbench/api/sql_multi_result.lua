-- run: prepare
-- says: all read
-- alone: sysbench says 2014, commands out of sync
function prepare()
  local con = sysbench.sql.driver():connect()
  local result = con:query("SELECT 1; SELECT 2, 3")
  assert(result.nrows == 1 and result.nfields == 1 and result:fetch_row()[1] == "1")
  assert(result:fetch_row() == nil)
  assert(con:query_row("SELECT 4") == "4")
  print("all read")
end

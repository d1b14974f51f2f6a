-- run: prepare
-- says: read
function prepare()
  local con = sysbench.sql.driver():connect()
  local result = con:query("SELECT 1, NULL, 'ab' UNION ALL SELECT 2, 'x', NULL")
  assert(result.nrows == 2 and result.nfields == 3 and result.statement == nil)
  local row = result:fetch_row()
  assert(row[1] == "1" and row[2] == nil and row[3] == "ab")
  row = result:fetch_row()
  assert(row[1] == "2" and row[2] == "x" and row[3] == nil)
  assert(result:fetch_row() == nil)
  assert(result:free())
  local count = 0
  result = con:query("SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3")
  for _ = 1, result.nrows do
    local cells = {}
    for _, cell in pairs(result:fetch_row()) do
      cells[#cells + 1] = cell
    end
    count = count + #cells
  end
  assert(count == 3)
  local long = con:query_row("SELECT REPEAT('x', 100000)")
  assert(#long == 100000)
  assert(con:query_row("SELECT x'410042'") == "A\0B")
  print("read")
end

-- run: prepare
-- says: freed true true
-- says: ALERT: attempt to free an invalid result set
-- says: freed again false db_free_results\(\) failed
-- says: by a line false .*sql_free\.lua:\d+: db_free_results\(\) failed
-- says: ALERT: attempt to fetch row from an invalid result set
-- says: closed false
local function try(what, f, ...)
  print(what, pcall(f, ...))
end

function prepare()
  local con = sysbench.sql.driver():connect()
  local result = con:query("SELECT 1 UNION ALL SELECT 2")
  -- The rows outlive a statement that is prepared meanwhile.
  local statement = con:prepare("SELECT 1")
  assert(result:fetch_row()[1] == "1")
  try("freed", result.free, result)
  try("freed again", result.free, result)
  try("by a line", function()
    local fine = result:free()
    return fine
  end)
  try("fetched", result.fetch_row, result)

  -- A result is that of the connection's last query, whichever handle names it.
  local one, two = con:query("SELECT 1"), con:query("SELECT 2")
  print("last", one:fetch_row()[1])
  try("one", one.free, one)
  try("two", two.free, two)

  -- Rows that all were read, or by query_row, are still to be freed; those of no query are not.
  result = con:query("SELECT 1")
  result:fetch_row()
  assert(result:fetch_row() == nil)
  try("read", result.free, result)
  assert(con:query_row("SELECT 3") == "3")
  try("of query_row", result.free, result)
  result = con:query("SELECT 1")
  con:query("DO 1")
  try("none", result.free, result)
  result = con:query("SELECT 1")
  assert(not pcall(con.query, con, "SELECT nosuch"))
  try("failed", result.free, result)

  local of_statement = statement:execute()
  try("of a statement", of_statement.free, of_statement)
  try("of a statement again", of_statement.free, of_statement)
  result = con:query("SELECT 1")
  con:disconnect()
  try("fetched from closed", result.fetch_row, result)
  try("closed", result.free, result)
end

-- run: --events=1 --threads=1 run
-- says: read: +2
-- says: write: +2
-- says: other: +3
function thread_init()
  con = sysbench.sql.driver():connect()
end

function event()
  local none = con:query("CREATE TABLE contend_query (a INT)")
  assert(none == nil and tostring(none) == "<sql_result>")
  if not none then
    error("a NULL result counts as true")
  end
  con:query("INSERT INTO contend_query VALUES (1), (2)")
  con:query("DELETE FROM contend_query WHERE a = 1")
  con:query("DELETE FROM contend_query WHERE a = 99")
  local result = con:query("SELECT a FROM contend_query")
  assert(result ~= nil and result.nrows == 1 and result.nfields == 1)
  assert(con:query("SELECT a FROM contend_query WHERE a = 99").nrows == 0)
  con:query("DROP TABLE contend_query")
end

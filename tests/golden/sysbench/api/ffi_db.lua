-- run: prepare
-- says: by hand
local C = ffi.C

function prepare()
  local driver = C.db_create("mysql")
  local con = C.db_connection_create(driver)
  assert(con ~= nil)
  local sql = "SELECT 'ab', NULL UNION ALL SELECT 'c', 'd'"
  local result = C.db_query(con, sql, #sql)
  assert(result.nrows == 2)
  local row = C.db_fetch_row(result)
  assert(ffi.string(row.values[0].ptr, row.values[0].len) == "ab" and row.values[1].ptr == nil)
  row = C.db_fetch_row(result)
  assert(ffi.string(row.values[1].ptr, row.values[1].len) == "d")
  assert(C.db_fetch_row(result) == nil and C.db_free_results(result) == 0)
  assert(C.db_query(con, "DO 1", 4) == nil)

  sql = "SELECT ?, ?"
  local statement = C.db_prepare(con, sql, #sql)
  local number = ffi.new("int64_t[1]", 7)
  local text = ffi.new("char[4]", "abc")
  local length, is_null = ffi.new("unsigned long[1]", 3), ffi.new("char[1]", 0)
  local binds = ffi.new("sql_bind[2]")
  binds[0].type, binds[0].buffer, binds[0].is_null = sysbench.sql.type.BIGINT, number, is_null
  binds[1].type, binds[1].buffer, binds[1].is_null = sysbench.sql.type.VARCHAR, text, is_null
  binds[1].data_len = length
  assert(C.db_bind_param(statement, binds, 2) == 0)
  assert(C.db_execute(statement).nrows == 1 and C.db_close(statement) == 0)
  assert(C.db_bulk_insert_init(con, "X", 1) == 0 and C.db_bulk_insert_done(con) == 0)
  assert(C.db_connection_close(con) == 0)
  print("by hand")
end

-- run: --threads=1 --events=8000 --time=0 run
-- says: write: +2
-- says: ^8000$
function init()
  local con = sysbench.sql.driver():connect()
  con:query("CREATE TABLE contend_bulk (a INT, b CHAR(100))")
end

function thread_init()
  con = sysbench.sql.driver():connect()
  assert(not pcall(con.bulk_insert_next, con, "(1, 'x')"), "not begun yet")
  con:bulk_insert_init("INSERT INTO contend_bulk VALUES")
end

local row = 0

function event()
  row = row + 1
  con:bulk_insert_next(("(%d, '%s')"):format(row, ("x"):rep(100)))
end

function thread_done()
  assert(con:bulk_insert_done())
end

function done()
  local con = sysbench.sql.driver():connect()
  print(con:query_row("SELECT COUNT(*) FROM contend_bulk"))
  con:query("DROP TABLE contend_bulk")
end

-- run: --threads=1 --events=3 run
-- says: read: +3
function thread_init()
  statement = db_prepare("SELECT ?, ?")
  values = { 1, "x" }
  db_bind_param(statement, values)
end

function event()
  values[1] = values[1] + 1
  result = db_execute(statement)
  db_store_results(result)
  db_free_results(result)
end

function thread_done()
  db_close(statement)
  assert(not pcall(db_close, 5))
end

-- A script as users write them: options of its own, text queries whose rows are read, a prepared
-- statement, some work on strings. Every event makes three queries.

sysbench.cmdline.options = {
  table_size = { "Rows in the table", 1000000 },
  span = { "Rows of the range query", 5 },
}

function thread_init()
  drv = sysbench.sql.driver()
  con = drv:connect()
  stmt = con:prepare("SELECT k FROM sbtest1 WHERE id = ?")
  id = stmt:bind_create(sysbench.sql.type.INT)
  stmt:bind_param(id)
  seen = 0
end

function thread_done()
  stmt:close()
  con:disconnect()
end

local function words_of(text)
  local count = 0
  for _ in text:gmatch("%d+") do
    count = count + 1
  end
  return count
end

function event()
  local first = sysbench.rand.default(1, sysbench.opt.table_size - sysbench.opt.span)
  local key, text = con:query_row(("SELECT k, c FROM sbtest1 WHERE id = %d"):format(first))
  seen = seen + tonumber(key) + words_of(text)

  local result = con:query(
    ("SELECT id, pad FROM sbtest1 WHERE id BETWEEN %d AND %d"):format(
      first,
      first + sysbench.opt.span - 1
    )
  )
  for _ = 1, result.nrows do
    local row = result:fetch_row()
    seen = seen + #row[2]
  end

  id:set(first)
  stmt:execute()
end

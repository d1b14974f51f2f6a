-- run: --db-ps-mode=disable --threads=1 --events=1 run
-- says: bound
-- says: read: +12
-- alone: sysbench neither escapes text nor keeps it behind a NUL
local T = sysbench.sql.type

function event()
  local con = sysbench.sql.driver():connect()
  local function echo(kind, length, value)
    local statement = con:prepare("INSERT INTO contend_statement VALUES (?)")
    local param = statement:bind_create(kind, length)
    assert(statement:bind_param(param) == 0)
    param:set(value)
    assert(statement:execute() == nil)
    assert(statement:close() == 0)
    local text = con:query_row("SELECT a FROM contend_statement")
    con:query("DELETE FROM contend_statement")
    return text
  end
  con:query("CREATE TEMPORARY TABLE contend_statement (a VARBINARY(200))")
  assert(echo(T.INT, nil, 1.7) == "1" and echo(T.SMALLINT, nil, -70000) == "-70000")
  assert(echo(T.BIGINT, nil, 12345678901234) == "12345678901234")
  assert(echo(T.BIGINT, nil, 9007199254740993LL) == "9007199254740993")
  assert(tonumber(echo(T.DOUBLE, nil, 0.1)) == 0.1 and echo(T.FLOAT, nil, 1.5) == "1.5")
  assert(echo(T.VARCHAR, 3, "a\0bcd") == "a\0b" and echo(T.VARCHAR, 9, "it's") == "it's")
  assert(echo(T.CHAR, 9, nil) == nil)
  local statement = con:prepare("SELECT ?, ?")
  local a, b = statement:bind_create(T.INT), statement:bind_create(T.VARCHAR, 10)
  statement:bind_param(a, b)
  for n = 1, 3 do
    a:set(n)
    b:set("x")
    local result = statement:execute()
    assert(result.nrows == 1 and tostring(result.statement) == "<sql_statement>")
  end
  assert(not pcall(a.set, a, "text") and not pcall(a.set, a, {}))
  local fine, message = pcall(statement.bind_create, statement, T.DATE)
  assert(not fine and message:find("Unsupported argument type: 8"))
  print("bound")
end

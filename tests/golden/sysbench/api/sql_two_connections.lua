-- run: --threads=2 --events=20 run
-- says: transactions: +20
function thread_init()
  local driver = sysbench.sql.driver()
  one, two = driver:connect(), driver:connect()
end

function event()
  local a = one:query("SELECT 'a' UNION ALL SELECT 'b'")
  local b = two:query("SELECT 'c' UNION ALL SELECT 'd'")
  assert(a:fetch_row()[1] == "a" and b:fetch_row()[1] == "c")
  assert(b:fetch_row()[1] == "d" and a:fetch_row()[1] == "b")
  assert(one:query_row("SELECT CONNECTION_ID()") ~= two:query_row("SELECT CONNECTION_ID()"))
end

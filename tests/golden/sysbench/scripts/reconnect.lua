-- The server ends the connection once; the script's events go on.
local events = 0

function thread_init()
  local driver = sysbench.sql.driver()
  con, killer = driver:connect(), driver:connect()
end

function event()
  events = events + 1
  if events == 2 then
    killer:query("KILL " .. con:query_row("SELECT CONNECTION_ID()"))
  end
  con:query("SELECT 1")
end

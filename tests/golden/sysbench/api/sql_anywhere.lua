-- run: --threads=4 --events=40 run
-- says: transactions: +40
function thread_init()
  con = sysbench.sql.driver():connect()
end

local function ask(value)
  return con:query_row("SELECT " .. value)
end

local asking = setmetatable({}, {
  __index = function(_, key)
    return ask(key)
  end,
})

function event()
  assert(("1 2 3"):gsub("%d", ask) == "1 2 3")
  local list = { 3, 1, 2 }
  table.sort(list, function(a, b)
    return ask(a) < ask(b)
  end)
  assert(table.concat(list) == "123")
  local generator = coroutine.wrap(function()
    for n = 1, 3 do
      coroutine.yield(ask(n))
    end
  end)
  assert(generator() .. generator() .. generator() == "123")
  assert(asking[7] == "7")
  assert(select(2, pcall(ask, 5)) == "5" and select(2, xpcall(function() return ask(6) end, print)) == "6")
end

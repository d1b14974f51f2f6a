-- The rows of TPC-C made by a script, as scripts of that kind do it: each thread has its warehouses,
-- and sends long INSERTs with rows made in Lua. The tables are there and empty; run by
-- `sysbench tpcc_prepare.lua --warehouses=N prepare`.

sysbench.cmdline.options = {
  warehouses = { "How many warehouses to make", 1 },
  shrink = { "For a trial: one row in so many", 1 },
}

local con, uniform = nil, sysbench.rand.uniform
local SYLLABLES =
  { "BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING" }

local function text(shortest, longest)
  return sysbench.rand.string(("@"):rep(uniform(shortest, longest)))
end

local function address()
  return ("'%s', '%s', '%s', '%s', '%s11111'"):format(
    text(10, 20),
    text(10, 20),
    text(10, 20),
    text(2, 2):upper(),
    sysbench.rand.string("####")
  )
end

local function last_name(number)
  local digit = math.floor
  return SYLLABLES[digit(number / 100) + 1]
    .. SYLLABLES[digit(number / 10) % 10 + 1]
    .. SYLLABLES[number % 10 + 1]
end

-- Calls `rows` with a function that takes one row.
local function insert(into, rows)
  con:bulk_insert_init("INSERT INTO " .. into .. " VALUES ")
  rows(function(form, ...)
    con:bulk_insert_next("(" .. form:format(...) .. ")")
  end)
  con:bulk_insert_done()
end

-- `row` is called for each number up to `count` in each of the ten districts.
local function insert_of_districts(into, count, row)
  insert(into, function(add)
    for district = 1, 10 do
      for number = 1, count do
        row(add, district, number)
      end
    end
  end)
end

local function items(count)
  insert("item", function(add)
    for item = 1, count do
      local price = uniform(100, 10000) / 100
      add("%d, %d, '%s', %.2f, '%s'", item, uniform(1, 10000), text(14, 24), price, text(26, 50))
    end
  end)
end

local function stock(warehouse, count)
  insert("stock", function(add)
    for item = 1, count do
      local info = {}
      for district = 1, 10 do
        info[district] = "'" .. text(24, 24) .. "'"
      end
      local columns = table.concat(info, ", ")
      local quantity = uniform(10, 100)
      add("%d, %d, %d, %s, 0, 0, 0, '%s'", item, warehouse, quantity, columns, text(26, 50))
    end
  end)
end

local function customers(warehouse, count)
  insert_of_districts("customer", count, function(add, district, customer)
    add(
      "%d, %d, %d, '%s', 'OE', '%s', %s, '%s', NOW(), '%s', 50000, %.4f, -10, 10, 1, 0, '%s'",
      customer,
      district,
      warehouse,
      text(8, 16),
      last_name(customer <= 1000 and customer - 1 or uniform(0, 999)),
      address(),
      sysbench.rand.string(("#"):rep(16)),
      uniform(1, 10) == 1 and "BC" or "GC",
      uniform(0, 5000) / 10000,
      text(300, 500)
    )
  end)
  insert_of_districts("history", count, function(add, district, customer)
    local where = ("%d, %d"):format(district, warehouse)
    add("%d, %s, %s, NOW(), 10, '%s'", customer, where, where, text(12, 24))
  end)
end

local function orders(warehouse, count)
  local lines, delivered = {}, count - math.floor(count * 3 / 10)
  insert_of_districts("orders", count, function(add, district, order)
    local at, carrier = district * count + order, order <= delivered and uniform(1, 10) or "NULL"
    lines[at] = uniform(5, 15)
    -- Somebody's: the script does not shuffle them.
    add("%d, %d, %d, %d, NOW(), %s, %d, 1", order, district, warehouse, order, carrier, lines[at])
  end)
  insert_of_districts("new_order", count - delivered, function(add, district, turn)
    add("%d, %d, %d", delivered + turn, district, warehouse)
  end)
  local items_max = math.floor(100000 / sysbench.opt.shrink)
  insert_of_districts("order_line", count, function(add, district, order)
    for line = 1, lines[district * count + order] do
      local is_new = order > delivered
      add(
        "%d, %d, %d, %d, %d, %d, %s, 5, %.2f, '%s'",
        order,
        district,
        warehouse,
        line,
        uniform(1, items_max),
        warehouse,
        is_new and "NULL" or "NOW()",
        is_new and uniform(1, 999999) / 100 or 0,
        text(24, 24)
      )
    end
  end)
end

local function warehouse_and_districts(warehouse, count)
  insert("warehouse", function(add)
    add("%d, '%s', %s, 0.1, %d", warehouse, text(6, 10), address(), 100 * count)
  end)
  insert("district", function(add)
    for district = 1, 10 do
      local own = ("%d, %d, '%s', %s"):format(district, warehouse, text(6, 10), address())
      add("%s, 0.1, %d, %d", own, 10 * count, count + 1)
    end
  end)
end

local function prepare()
  con = sysbench.sql.driver():connect()
  con:query("SET unique_checks = 0, foreign_key_checks = 0")
  local count = math.floor(3000 / sysbench.opt.shrink)
  local items_max = math.floor(100000 / sysbench.opt.shrink)
  if sysbench.tid == 0 then
    items(items_max)
  end
  for warehouse = sysbench.tid + 1, sysbench.opt.warehouses, sysbench.opt.threads do
    warehouse_and_districts(warehouse, count)
    customers(warehouse, count)
    stock(warehouse, items_max)
    orders(warehouse, count)
  end
end

sysbench.cmdline.commands = { prepare = { prepare, sysbench.cmdline.PARALLEL_COMMAND } }

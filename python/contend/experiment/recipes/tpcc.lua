-- The transactions of TPC-C on tables that `contend-load fill` has loaded, as text, with a statement
-- for each row. The statements are those of the native workload `tpcc` with ask = "each" and
-- load.protocol = "text". The script runs under contend and under sysbench.
--
-- A thread is a terminal: its home warehouse and district never change; its cards come from a deck.
-- Keying and think times are left out.

sysbench.cmdline.options = {
  warehouses = { "Warehouses that the tables have", 1 },
  remote_lines_percent = { "Order lines from a different warehouse, in percent", 1 },
  remote_payments_percent = { "Payments by customers of a different warehouse, in percent", 15 },
  rollbacks_percent = { "New orders that are rolled back, in percent", 1 },
}

local uniform = sysbench.rand.uniform
local DISTRICTS = 10

-- Constants -----------------------------------------------------------------------------------

local facts = { customers = 3000, items = 100000, c_load = 0 }

-- Clause 2.1.6.1: a run's constant for last names differs from that of the load by 65 to 119, but
-- not by 96 or 112.
local function legal_constant(c_load)
  return c_load + 77 <= 255 and c_load + 77 or c_load - 77
end

local C_ID, C_ITEM = 259, 7911

local function nurand(a, c, low, high)
  return (bit.bor(uniform(0, a), uniform(low, high)) + c) % (high - low + 1) + low
end

local SYLLABLES = {
  [0] = "BAR",
  "OUGHT",
  "ABLE",
  "PRI",
  "PRES",
  "ESE",
  "ANTI",
  "CALLY",
  "ATION",
  "EING",
}

local function last_name(number)
  return SYLLABLES[math.floor(number / 100) % 10]
    .. SYLLABLES[math.floor(number / 10) % 10]
    .. SYLLABLES[number % 10]
end

-- Queries ---------------------------------------------------------------------------------------

local function query(text, ...)
  return con:query(text:format(...))
end

local function quoted(text)
  return (text:gsub("['\\]", "%0%0"))
end

-- All rows of a result, each an array of its columns as text.
local function rows(text, ...)
  local found, answer = {}, query(text, ...)
  for number = 1, answer.nrows do
    found[number] = answer:fetch_row()
  end
  answer:free()
  return found
end

local function row(name, text, ...)
  local found = rows(text, ...)[1]
  return found or error("the tables lack a row that the script needs: " .. name)
end

-- The terminal's choices ------------------------------------------------------------------------

local function other_warehouse(home)
  local all = sysbench.opt.warehouses
  if all < 2 then
    return home
  end
  local drawn = uniform(1, all - 1)
  return drawn >= home and drawn + 1 or drawn
end

local function percent(share)
  return uniform(0, 99) < share
end

local function customer_number()
  return nurand(1023, C_ID, 1, facts.customers)
end

-- A customer by number or, in 60 % of cases, by last name.
local function who()
  if percent(60) then
    return nil, last_name(nurand(255, facts.c_run, 0, math.min(facts.customers, 1000) - 1))
  end
  return customer_number(), nil
end

-- Clause 2.5.2.2: the middle one of the customers with that name, rounded up.
local function middle_customer(warehouse, district, name)
  local found = rows(
    [[SELECT c_id FROM customer WHERE c_w_id = %d AND c_d_id = %d AND c_last = '%s' ORDER BY c_first]],
    warehouse,
    district,
    name
  )
  assert(#found > 0, "the tables lack a row that the script needs: customer " .. name)
  return found[math.ceil(#found / 2)][1]
end

-- New-Order (clause 2.4) --------------------------------------------------------------------------

local STOCK = [[SELECT s_quantity, s_data, ELT(%d, s_dist_01, s_dist_02, s_dist_03, s_dist_04, s_dist_05, s_dist_06, s_dist_07, s_dist_08, s_dist_09, s_dist_10) FROM stock WHERE s_w_id = %d AND s_i_id = %d FOR UPDATE]]

local LINE = [[INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_dist_info) VALUES (%d, %d, %d, %d, %d, %d, %d, %s, '%s')]]

-- Lines are in the order of their stock rows, so that two orders never wait for each other; the
-- missing item comes last.
local function draw_lines(warehouse)
  local lines, is_local = {}, 1
  for number = 1, uniform(5, 15) do
    local line = {
      item = nurand(8191, C_ITEM, 1, facts.items),
      supplier = warehouse,
    }
    if percent(sysbench.opt.remote_lines_percent) then
      line.supplier = other_warehouse(warehouse)
      is_local = line.supplier == warehouse and is_local or 0
    end
    line.quantity = uniform(1, 10)
    lines[number] = line
  end
  local missing = percent(sysbench.opt.rollbacks_percent) and table.remove(lines) or nil
  table.sort(lines, function(one, other)
    if one.supplier ~= other.supplier then
      return one.supplier < other.supplier
    end
    return one.item < other.item
  end)
  if missing ~= nil then
    missing.item = facts.items + 1
    lines[#lines + 1] = missing
  end
  return lines, is_local, missing ~= nil
end

-- Cents as a decimal number.
local function money(cents)
  return ("%d.%02d"):format(math.floor(cents / 100), cents % 100)
end

local function cents(text)
  return math.floor(tonumber(text) * 100 + 0.5)
end

local function new_order(home)
  local district, customer = uniform(1, DISTRICTS), customer_number()
  local lines, is_local, rolls_back = draw_lines(home)
  query("BEGIN")
  row(
    "customer",
    [[SELECT c_discount, c_last, c_credit, w_tax FROM customer JOIN warehouse ON w_id = c_w_id WHERE c_w_id = %d AND c_d_id = %d AND c_id = %d]],
    home,
    district,
    customer
  )
  local order = row(
    "district",
    [[SELECT d_next_o_id, d_tax FROM district WHERE d_w_id = %d AND d_id = %d FOR UPDATE]],
    home,
    district
  )[1]
  query(
    [[UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = %d AND d_id = %d]],
    home,
    district
  )
  query(
    [[INSERT INTO orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local) VALUES (%d, %d, %d, %d, NOW(), %d, %d)]],
    order,
    district,
    home,
    customer,
    #lines,
    is_local
  )
  query(
    [[INSERT INTO new_order (no_o_id, no_d_id, no_w_id) VALUES (%d, %d, %d)]],
    order,
    district,
    home
  )
  for number, line in ipairs(lines) do
    local item = rows([[SELECT i_price, i_name, i_data FROM item WHERE i_id = %d]], line.item)[1]
    if item == nil then
      assert(rolls_back, "the tables lack a row that the script needs: item")
      query("ROLLBACK")
      return
    end
    local stock = row("row of stock", STOCK, district, line.supplier, line.item)
    local left = tonumber(stock[1]) - line.quantity
    if left < 10 then
      left = left + 91
    end
    query(
      [[UPDATE stock SET s_quantity = %d, s_ytd = s_ytd + %d, s_order_cnt = s_order_cnt + 1, s_remote_cnt = s_remote_cnt + %d WHERE s_w_id = %d AND s_i_id = %d]],
      left,
      line.quantity,
      line.supplier == home and 0 or 1,
      line.supplier,
      line.item
    )
    query(
      LINE,
      order,
      district,
      home,
      number,
      line.item,
      line.supplier,
      line.quantity,
      money(cents(item[1]) * line.quantity),
      quoted(stock[3])
    )
  end
  query("COMMIT")
end

-- Payment (clause 2.5) ----------------------------------------------------------------------------

local CUSTOMER = [[SELECT c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_since, c_credit, c_credit_lim, c_discount, c_balance FROM customer WHERE c_w_id = %d AND c_d_id = %d AND c_id = %d FOR UPDATE]]
local CREDIT = 11

local function payment(home)
  local district = uniform(1, DISTRICTS)
  local warehouse, their_district = home, district
  if percent(sysbench.opt.remote_payments_percent) then
    warehouse, their_district = other_warehouse(home), uniform(1, DISTRICTS)
  end
  local customer, name = who()
  local amount = money(uniform(100, 500000))
  query("BEGIN")
  query([[UPDATE warehouse SET w_ytd = w_ytd + %s WHERE w_id = %d]], amount, home)
  local w_name = row(
    "warehouse",
    [[SELECT w_name, w_street_1, w_street_2, w_city, w_state, w_zip FROM warehouse WHERE w_id = %d]],
    home
  )[1]
  query(
    [[UPDATE district SET d_ytd = d_ytd + %s WHERE d_w_id = %d AND d_id = %d]],
    amount,
    home,
    district
  )
  local d_name = row(
    "district",
    [[SELECT d_name, d_street_1, d_street_2, d_city, d_state, d_zip FROM district WHERE d_w_id = %d AND d_id = %d]],
    home,
    district
  )[1]
  customer = customer or middle_customer(warehouse, their_district, name)
  local found = row("customer", CUSTOMER, warehouse, their_district, customer)
  if found[CREDIT] == "BC" then
    local data = row(
      "customer",
      [[SELECT c_data FROM customer WHERE c_w_id = %d AND c_d_id = %d AND c_id = %d FOR UPDATE]],
      warehouse,
      their_district,
      customer
    )[1]
    local own = ("%d %d %d %d %d %s|"):format(
      customer,
      their_district,
      warehouse,
      district,
      home,
      amount
    )
    query(
      [[UPDATE customer SET c_balance = c_balance - %s, c_ytd_payment = c_ytd_payment + %s, c_payment_cnt = c_payment_cnt + 1, c_data = '%s' WHERE c_w_id = %d AND c_d_id = %d AND c_id = %d]],
      amount,
      amount,
      quoted((own .. data):sub(1, 500)),
      warehouse,
      their_district,
      customer
    )
  else
    query(
      [[UPDATE customer SET c_balance = c_balance - %s, c_ytd_payment = c_ytd_payment + %s, c_payment_cnt = c_payment_cnt + 1 WHERE c_w_id = %d AND c_d_id = %d AND c_id = %d]],
      amount,
      amount,
      warehouse,
      their_district,
      customer
    )
  end
  query(
    [[INSERT INTO history (h_c_d_id, h_c_w_id, h_c_id, h_d_id, h_w_id, h_date, h_amount, h_data) VALUES (%d, %d, %d, %d, %d, NOW(), %s, '%s')]],
    their_district,
    warehouse,
    customer,
    district,
    home,
    amount,
    quoted(w_name .. "    " .. d_name)
  )
  query("COMMIT")
end

-- Order-Status, Delivery, Stock-Level (clauses 2.6, 2.7, 2.8) ---------------------------------------

local function order_status(home)
  local district = uniform(1, DISTRICTS)
  local customer, name = who()
  query("BEGIN")
  customer = customer or middle_customer(home, district, name)
  row(
    "customer",
    [[SELECT c_balance, c_first, c_middle, c_last FROM customer WHERE c_w_id = %d AND c_d_id = %d AND c_id = %d]],
    home,
    district,
    customer
  )
  local order = row(
    "order of a customer",
    [[SELECT o_id, o_carrier_id, o_entry_d FROM orders WHERE o_w_id = %d AND o_d_id = %d AND o_c_id = %d ORDER BY o_id DESC LIMIT 1]],
    home,
    district,
    customer
  )[1]
  rows(
    [[SELECT ol_supply_w_id, ol_i_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line WHERE ol_w_id = %d AND ol_d_id = %d AND ol_o_id = %d]],
    home,
    district,
    order
  )
  query("COMMIT")
end

local function deliver(home, district, carrier)
  local oldest = rows(
    [[SELECT no_o_id FROM new_order WHERE no_w_id = %d AND no_d_id = %d ORDER BY no_o_id LIMIT 1 FOR UPDATE]],
    home,
    district
  )[1]
  if oldest == nil then
    return -- Clause 2.7.4.2: a district without a new order is skipped.
  end
  local order = oldest[1]
  query(
    [[DELETE FROM new_order WHERE no_w_id = %d AND no_d_id = %d AND no_o_id = %d]],
    home,
    district,
    order
  )
  local customer = row(
    "order of a new order",
    [[SELECT o_c_id FROM orders WHERE o_w_id = %d AND o_d_id = %d AND o_id = %d FOR UPDATE]],
    home,
    district,
    order
  )[1]
  query(
    [[UPDATE orders SET o_carrier_id = %d WHERE o_w_id = %d AND o_d_id = %d AND o_id = %d]],
    carrier,
    home,
    district,
    order
  )
  query(
    [[UPDATE order_line SET ol_delivery_d = NOW() WHERE ol_w_id = %d AND ol_d_id = %d AND ol_o_id = %d]],
    home,
    district,
    order
  )
  local amount = row(
    "line of an order",
    [[SELECT SUM(ol_amount) FROM order_line WHERE ol_w_id = %d AND ol_d_id = %d AND ol_o_id = %d]],
    home,
    district,
    order
  )[1]
  query(
    [[UPDATE customer SET c_balance = c_balance + %s, c_delivery_cnt = c_delivery_cnt + 1 WHERE c_w_id = %d AND c_d_id = %d AND c_id = %d]],
    amount,
    home,
    district,
    customer
  )
end

local function delivery(home)
  local carrier = uniform(1, 10)
  query("BEGIN")
  for district = 1, DISTRICTS do
    deliver(home, district, carrier)
  end
  query("COMMIT")
end

local function stock_level(home, district)
  local threshold = uniform(10, 20)
  query("BEGIN")
  local next_order = row(
    "district",
    [[SELECT d_next_o_id FROM district WHERE d_w_id = %d AND d_id = %d]],
    home,
    district
  )[1]
  rows(
    [[SELECT COUNT(DISTINCT s_i_id) FROM order_line JOIN stock ON s_w_id = ol_w_id AND s_i_id = ol_i_id WHERE ol_w_id = %d AND ol_d_id = %d AND ol_o_id < %d AND ol_o_id >= %d AND s_quantity < %d]],
    home,
    district,
    next_order,
    next_order - 20,
    threshold
  )
  query("COMMIT")
end

-- A terminal --------------------------------------------------------------------------------------

local CARDS = { order_status, delivery, stock_level }
for _ = 1, 10 do
  CARDS[#CARDS + 1] = new_order
  CARDS[#CARDS + 1] = payment
end

local deck, card, home, home_district = {}, nil, 1, 1

local function draw_card()
  if #deck == 0 then
    for place, one in ipairs(CARDS) do
      deck[place] = one
    end
    for place = #deck, 2, -1 do
      local other = uniform(1, place)
      deck[place], deck[other] = deck[other], deck[place]
    end
  end
  return table.remove(deck)
end

function thread_init()
  con = sysbench.sql.driver():connect()
  for _, one in ipairs(rows("SELECT name, value FROM contend_tpcc")) do
    if one[1] == "customers_per_district" then
      facts.customers = tonumber(one[2])
    elseif one[1] == "items" or one[1] == "c_load" then
      facts[one[1]] = tonumber(one[2])
    end
  end
  facts.c_run = legal_constant(facts.c_load)
  home = sysbench.tid % sysbench.opt.warehouses + 1
  home_district = math.floor(sysbench.tid / sysbench.opt.warehouses) % DISTRICTS + 1
end

function thread_done()
  con:disconnect()
end

function event()
  -- A restarted transaction has the same kind.
  card = card or draw_card()
  card(home, home_district)
  card = nil
end

-- The victim of a deadlock restarts its transaction; some errors leave it open.
function sysbench.hooks.sql_error_ignorable(err)
  local code = err.sql_errno
  return code == 1213 or code == 1205 or code == 1020
end

function sysbench.hooks.before_restart_event()
  con:query("ROLLBACK")
end

#!/usr/bin/env sysbench
-- In the style of TPC-C scripts: transactions by name, counters by ffi, commands that all threads
-- share, a check of the books, reports as CSV.
ffi.cdef([[
void sb_counter_inc(int, sb_counter_type);
int usleep(unsigned int);
]])

sysbench.cmdline.options = {
  scale = { "Warehouses in each set", 2 },
  tables = { "Sets of tables", 1 },
  stock = { "Articles in a warehouse", 20 },
  rollback_of = { "One of so many orders is rolled back", 5 },
  use_for_update = { "Lock what is read: yes or no", "yes" },
  trx_level = { "Isolation", "RR" },
}

local districts = 3

local function for_own_sets(work)
  local drv = sysbench.sql.driver()
  local con = drv:connect()
  for set = sysbench.tid % sysbench.opt.threads + 1, sysbench.opt.tables, sysbench.opt.threads do
    work(con, set)
  end
  con:disconnect()
end

local function create(con, set)
  con:query(([[
    CREATE TABLE IF NOT EXISTS warehouse%d (w_id SMALLINT NOT NULL, w_ytd DECIMAL(12,2),
      PRIMARY KEY (w_id)) ENGINE=innodb]]):format(set))
  con:query(([[
    CREATE TABLE IF NOT EXISTS district%d (d_w_id SMALLINT NOT NULL, d_id TINYINT NOT NULL,
      d_next_o_id INT, d_ytd DECIMAL(12,2), PRIMARY KEY (d_w_id, d_id)) ENGINE=innodb]]):format(set))
  con:query(([[
    CREATE TABLE IF NOT EXISTS stock%d (s_w_id SMALLINT NOT NULL, s_i_id INT NOT NULL,
      s_quantity INT, s_dist CHAR(24), PRIMARY KEY (s_w_id, s_i_id)) ENGINE=innodb]]):format(set))
  con:query(([[
    CREATE TABLE IF NOT EXISTS orders%d (o_w_id SMALLINT NOT NULL, o_d_id TINYINT NOT NULL,
      o_id INT NOT NULL, o_lines INT, PRIMARY KEY (o_w_id, o_d_id, o_id)) ENGINE=innodb]]):format(set))
end

local function fill(con, set)
  con:query("SET unique_checks=0")
  con:bulk_insert_init("INSERT INTO warehouse" .. set .. " (w_id, w_ytd) VALUES")
  for w = 1, sysbench.opt.scale do
    con:bulk_insert_next(string.format("(%d, %d)", w, 0))
  end
  con:bulk_insert_done()
  con:bulk_insert_init("INSERT INTO district" .. set .. " VALUES")
  for w = 1, sysbench.opt.scale do
    for d = 1, districts do
      con:bulk_insert_next(("(%d, %d, 1, 0)"):format(w, d))
    end
  end
  con:bulk_insert_done()
  con:bulk_insert_init("INSERT INTO stock" .. set .. " VALUES")
  for w = 1, sysbench.opt.scale do
    for i = 1, sysbench.opt.stock do
      local text = sysbench.rand.string(("@"):rep(24))
      con:bulk_insert_next(("(%d, %d, %d, '%s')"):format(w, i, sysbench.rand.uniform(10, 100), text))
    end
  end
  con:bulk_insert_done()
end

function cmd_prepare()
  for_own_sets(function(con, set)
    print(string.format("Creating tables: %d", set))
    create(con, set)
    fill(con, set)
  end)
end

function cmd_check()
  for_own_sets(function(con, set)
    local w_sum, d_sum = con:query_row(([[SELECT
      (SELECT SUM(w_ytd) FROM warehouse%d), (SELECT SUM(d_ytd) FROM district%d)]]):format(set, set))
    local made = con:query_row("SELECT COUNT(*) FROM orders" .. set)
    local next_sum = con:query_row("SELECT SUM(d_next_o_id - 1) FROM district" .. set)
    print(("check %d: payments %s, orders %s"):format(
      set,
      w_sum - d_sum == 0 and "agree" or "differ",
      tonumber(made) == tonumber(next_sum) and "agree" or "differ"
    ))
  end)
end

function cleanup()
  local con = sysbench.sql.driver():connect()
  for set = 1, sysbench.opt.tables do
    print(("Dropping set %d"):format(set))
    for _, name in ipairs({ "orders", "stock", "district", "warehouse" }) do
      con:query("DROP TABLE IF EXISTS " .. name .. set)
    end
  end
end

sysbench.cmdline.commands = {
  prepare = { cmd_prepare, sysbench.cmdline.PARALLEL_COMMAND },
  check = { cmd_check, sysbench.cmdline.PARALLEL_COMMAND },
}

function thread_init()
  drv = sysbench.sql.driver()
  con = drv:connect()
  con:query("SET AUTOCOMMIT=0")
  local level = sysbench.opt.trx_level == "RC" and "READ COMMITTED" or "REPEATABLE READ"
  con:query("SET SESSION TRANSACTION ISOLATION LEVEL " .. level)
  local rs = con:query("SHOW VARIABLES LIKE 't%_isolation'")
  for _ = 1, rs.nrows do
    local name, value = unpack(rs:fetch_row(), 1, rs.nfields)
    assert(name and value, "isolation is read")
  end
end

local function place()
  return sysbench.rand.uniform(1, sysbench.opt.tables),
    sysbench.rand.uniform(1, sysbench.opt.scale),
    sysbench.rand.uniform(1, districts)
end

function new_order()
  local set, w, d = place()
  local lock = sysbench.opt.use_for_update == "yes" and " FOR UPDATE" or ""
  con:query("BEGIN")
  local next_id = con:query_row(
    ("SELECT d_next_o_id FROM district%d WHERE d_w_id = %d AND d_id = %d%s"):format(set, w, d, lock)
  )
  con:query(("UPDATE district%d SET d_next_o_id = %d WHERE d_w_id = %d AND d_id = %d"):format(
    set, next_id + 1, w, d
  ))
  local lines = sysbench.rand.uniform(5, 15)
  con:query(("INSERT INTO orders%d VALUES (%d, %d, %d, %d)"):format(set, w, d, next_id, lines))
  for _ = 1, lines do
    local item = sysbench.rand.uniform(1, sysbench.opt.stock)
    local quantity, text = con:query_row(
      ("SELECT s_quantity, s_dist FROM stock%d WHERE s_w_id = %d AND s_i_id = %d%s"):format(set, w, item, lock)
    )
    assert(#text == 24)
    con:query(("UPDATE stock%d SET s_quantity = %d WHERE s_w_id = %d AND s_i_id = %d"):format(
      set, quantity > "10" and quantity - 1 or quantity + 91, w, item
    ))
  end
  if sysbench.rand.uniform(1, sysbench.opt.rollback_of) == 1 then
    ffi.C.sb_counter_inc(sysbench.tid, ffi.C.SB_CNT_ERROR)
    con:query("ROLLBACK")
  else
    con:query("COMMIT")
  end
end

function payment()
  local set, w, d = place()
  local amount = math.random(1, 5000)
  con:query("BEGIN")
  con:query(("UPDATE warehouse%d SET w_ytd = w_ytd + %d WHERE w_id = %d"):format(set, amount, w))
  con:query(("UPDATE district%d SET d_ytd = d_ytd + %d WHERE d_w_id = %d AND d_id = %d"):format(set, amount, w, d))
  con:query("COMMIT")
end

function stock_level()
  local set, w = place()
  con:query("BEGIN")
  local rs = con:query(("SELECT s_i_id, s_quantity FROM stock%d WHERE s_w_id = %d AND s_quantity < 60"):format(set, w))
  local low = 0
  for _ = 1, rs.nrows do
    local _, quantity = unpack(rs:fetch_row(), 1, rs.nfields)
    low = low + (tonumber(quantity) < 60 and 1 or 0)
  end
  assert(low == rs.nrows)
  con:query("COMMIT")
end

function event()
  local draw = sysbench.rand.uniform(1, 10)
  local trx = draw <= 5 and "new_order" or draw <= 9 and "payment" or "stock_level"
  _G[trx]()
end

sysbench.hooks.before_restart_event = function()
  con:query("ROLLBACK")
end

sysbench.hooks.report_intermediate = function(stat)
  sysbench.report_csv(stat)
end

function thread_done()
  con:disconnect()
end

-- What the OLTP scripts share: options, tables, statements, and the life of a thread.
--
-- A script that requires this defines prepare_statements(), which calls the prepare_* functions
-- it needs, and event(), which calls the execute_* functions. Names, statements and tables are
-- those of sysbench's scripts, so that scripts written for them work.

function init()
  assert(
    event ~= nil,
    "this script holds what the OLTP scripts share; run one of them instead, such as oltp_read_write"
  )
end

if sysbench.cmdline.command == nil then
  error("Command is required. Supported commands: prepare, prewarm, run, cleanup, help")
end

sysbench.cmdline.options = {
  table_size = { "Rows in each table", 10000 },
  tables = { "Tables", 1 },
  range_size = { "Rows in the range of a range SELECT", 100 },
  point_selects = { "SELECTs by primary key in a transaction", 10 },
  range_selects = { "Run the range SELECTs", true },
  simple_ranges = { "Plain range SELECTs in a transaction", 1 },
  sum_ranges = { "SELECT SUM() queries in a transaction", 1 },
  order_ranges = { "SELECT ORDER BY queries in a transaction", 1 },
  distinct_ranges = { "SELECT DISTINCT queries in a transaction", 1 },
  index_updates = { "UPDATEs of an indexed column in a transaction", 1 },
  non_index_updates = { "UPDATEs of a column without an index in a transaction", 1 },
  delete_inserts = { "Pairs of a DELETE and an INSERT of the same row in a transaction", 1 },
  skip_trx = { "Send the queries of an event without BEGIN and COMMIT", false },
  auto_inc = { "Let the server number new rows; off: the script does", true },
  secondary = { "Make the key on id a secondary one instead of the primary key", false },
  create_secondary = { "Create an index on k", true },
  mysql_storage_engine = { "Storage engine of the tables", "innodb" },
  pgsql_variant = { "Accepted for old command lines; has no effect" },
}

local is_1_1 = sysbench.version:find("^1%.1") ~= nil
if is_1_1 then
  sysbench.cmdline.options.create_table_options =
    { "Text added to CREATE TABLE", "" }
  sysbench.cmdline.options.reconnect = { "Reconnect after this number of events; 0: never", 0 }
end

-- Tables -------------------------------------------------------------------------------------

local function connected()
  local driver = sysbench.sql.driver()
  return driver, driver:connect()
end

-- Calls work(table number) for the tables that fall to this thread.
local function for_own_tables(work)
  local threads = sysbench.opt.threads
  for number = sysbench.tid % threads + 1, sysbench.opt.tables, threads do
    work(number)
  end
end

function cmd_prepare()
  local driver, connection = connected()
  for_own_tables(function(number)
    create_table(driver, connection, number)
  end)
end

-- Reads the tables and their indexes once, so that they are in the server's caches.
function cmd_warmup()
  local driver, connection = connected()
  assert(driver:name() == "mysql", "warming up works with the mysql driver only")
  connection:query("SET tmp_table_size=2*1024*1024*1024")
  connection:query("SET max_heap_table_size=2*1024*1024*1024")
  for_own_tables(function(number)
    local name = "sbtest" .. number
    print((is_1_1 and "Preloading table " or "Prewarming table ") .. name)
    connection:query("ANALYZE TABLE " .. name)
    connection:query(
      ("SELECT AVG(id) FROM (SELECT * FROM %s FORCE KEY (PRIMARY) LIMIT %u) t"):format(
        name,
        sysbench.opt.table_size
      )
    )
    connection:query(
      ("SELECT COUNT(*) FROM (SELECT * FROM %s WHERE k LIKE '%%0%%' LIMIT %u) t"):format(
        name,
        sysbench.opt.table_size
      )
    )
  end)
end

cmd_prewarm = cmd_warmup

local PARALLEL = sysbench.cmdline.PARALLEL_COMMAND
sysbench.cmdline.commands = {
  prepare = { cmd_prepare, PARALLEL },
  prewarm = { cmd_prewarm, PARALLEL },
}
if is_1_1 then
  sysbench.cmdline.commands.warmup = { cmd_warmup, PARALLEL }
end

-- 10 groups of 11 digits, and 5 groups.
local C_FORMAT = ("###########-"):rep(10):sub(1, -2)
local PAD_FORMAT = ("###########-"):rep(5):sub(1, -2)

function get_c_value()
  return sysbench.rand.string(C_FORMAT)
end

function get_pad_value()
  return sysbench.rand.string(PAD_FORMAT)
end

-- Fills a table that exists, row by row of text: for those who override the fast way.
local function insert_rows(connection, name)
  local rows = sysbench.opt.table_size
  local numbered = not sysbench.opt.auto_inc
  connection:bulk_insert_init(
    ("INSERT INTO %s(%sk, c, pad) VALUES"):format(name, numbered and "id, " or "")
  )
  for id = 1, rows do
    local k = sysbench.rand.default(1, rows)
    local c, pad = get_c_value(), get_pad_value()
    if numbered then
      connection:bulk_insert_next(("(%.0f, %.0f, '%s', '%s')"):format(id, k, c, pad))
    else
      connection:bulk_insert_next(("(%.0f, '%s', '%s')"):format(k, c, pad))
    end
  end
  connection:bulk_insert_done()
end

-- Fills a table in the way that suits server and engine. Threads without a table of their own
-- give their sessions to those that have one.
local function fill_table(connection, name, number)
  local options = sysbench.opt
  return sysbench.fill
    and options.mysql_storage_engine:find("^[%w_]+$")
    and sysbench.fill(connection, {
      table = name,
      number = number,
      engine = options.mysql_storage_engine,
      options = options.create_table_options or "",
      rows = options.table_size,
      sessions = math.max(1, math.floor(options.threads / options.tables)),
    })
end

function create_table(driver, connection, number)
  local name = "sbtest" .. number
  -- Loaded in bulk, an index costs less than one that is made when the rows are there.
  local index_first = sysbench.fill and sysbench.opt.table_size > 0 and sysbench.opt.create_secondary
  print(("Creating table '%s'..."):format(name))
  -- Ids beyond 31 bits need a wider column; nobody's table changes by it before that.
  local id_type = sysbench.opt.table_size > 2147483647 and "BIGINT" or "INTEGER"
  connection:query(([[
CREATE TABLE %s(
  id %s NOT NULL%s,
  k %s DEFAULT '0' NOT NULL,
  c CHAR(120) DEFAULT '' NOT NULL,
  pad CHAR(60) DEFAULT '' NOT NULL,
  %s (id)%s
) /*! ENGINE = %s */ %s]]):format(
    name,
    id_type,
    sysbench.opt.auto_inc and " AUTO_INCREMENT" or "",
    id_type,
    sysbench.opt.secondary and "KEY xid" or "PRIMARY KEY",
    index_first and (",\n  KEY k_%d (k)"):format(number) or "",
    sysbench.opt.mysql_storage_engine,
    sysbench.opt.create_table_options or ""
  ))
  if sysbench.opt.table_size > 0 then
    print(("Inserting %.0f records into '%s'"):format(sysbench.opt.table_size, name))
    if not fill_table(connection, name, number) then
      insert_rows(connection, name)
    end
  end
  if sysbench.opt.create_secondary then
    print(("Creating a secondary index on '%s'..."):format(name))
    if not index_first then
      connection:query(("CREATE INDEX k_%d ON %s(k)"):format(number, name))
    end
  end
end

function cleanup()
  local _, connection = connected()
  for number = 1, sysbench.opt.tables do
    print(("Dropping table 'sbtest%d'..."):format(number))
    connection:query("DROP TABLE IF EXISTS sbtest" .. number)
  end
end

-- Statements ---------------------------------------------------------------------------------

local KIND = sysbench.sql.type
local INT, C, PAD = { KIND.INT }, { KIND.CHAR, 120 }, { KIND.CHAR, 60 }

-- Text with a place for the table's number, then the parameters.
local STATEMENTS = {
  point_selects = { "SELECT c FROM sbtest%u WHERE id=?", INT },
  simple_ranges = { "SELECT c FROM sbtest%u WHERE id BETWEEN ? AND ?", INT, INT },
  sum_ranges = { "SELECT SUM(k) FROM sbtest%u WHERE id BETWEEN ? AND ?", INT, INT },
  order_ranges = { "SELECT c FROM sbtest%u WHERE id BETWEEN ? AND ? ORDER BY c", INT, INT },
  distinct_ranges = {
    "SELECT DISTINCT c FROM sbtest%u WHERE id BETWEEN ? AND ? ORDER BY c",
    INT,
    INT,
  },
  index_updates = { "UPDATE sbtest%u SET k=k+1 WHERE id=?", INT },
  non_index_updates = { "UPDATE sbtest%u SET c=? WHERE id=?", C, INT },
  deletes = { "DELETE FROM sbtest%u WHERE id=?", INT },
  inserts = { "INSERT INTO sbtest%u (id, k, c, pad) VALUES (?, ?, ?, ?)", INT, INT, C, PAD },
}

function prepare_begin()
  stmt.begin = con:prepare("BEGIN")
end

function prepare_commit()
  stmt.commit = con:prepare("COMMIT")
end

function prepare_for_each_table(key)
  local definition = STATEMENTS[key]
  for number = 1, sysbench.opt.tables do
    local statement = con:prepare(definition[1]:format(number))
    local params = {}
    for place = 2, #definition do
      params[place - 1] = statement:bind_create(definition[place][1], definition[place][2])
    end
    if #params > 0 then
      statement:bind_param(unpack(params))
    end
    stmt[number][key], param[number][key] = statement, params
  end
end

for key in pairs(STATEMENTS) do
  _G["prepare_" .. key] = function()
    prepare_for_each_table(key)
  end
end
prepare_deletes, prepare_inserts = nil, nil

function prepare_delete_inserts()
  prepare_for_each_table("deletes")
  prepare_for_each_table("inserts")
end

local function for_all_statements(work)
  for key, value in pairs(stmt) do
    if type(key) == "number" then
      for _, statement in pairs(value) do
        work(statement)
      end
    else
      work(value)
    end
  end
end

function close_statements()
  for_all_statements(function(statement)
    statement:close()
  end)
end

-- Threads ------------------------------------------------------------------------------------

local default, uniform = sysbench.rand.default, sysbench.rand.uniform

local function open_statements()
  stmt, param = {}, {}
  for number = 1, sysbench.opt.tables do
    stmt[number], param[number] = {}, {}
  end
  prepare_statements()
end

function thread_init()
  drv, con = connected()
  open_statements()
end

function thread_done()
  close_statements()
  con:disconnect()
end

local events_left

-- Connects anew when it is time to.
function check_reconnect()
  local every = sysbench.opt.reconnect or 0
  if every <= 0 then
    return
  end
  events_left = (events_left or every) - 1
  if events_left == 0 then
    events_left = every
    close_statements()
    con:reconnect()
    open_statements()
  end
end

-- Events -------------------------------------------------------------------------------------

-- The method of every statement, looked up once.
local execute = ffi.cast("sql_statement *", nil).execute

local function any_table(options)
  local tables = options.tables
  return tables == 1 and 1 or uniform(1, tables)
end

function begin()
  execute(stmt.begin)
end

function commit()
  execute(stmt.commit)
end

function execute_point_selects()
  local options = sysbench.opt
  local number, rows = any_table(options), options.table_size
  local statement, id = stmt[number].point_selects, param[number].point_selects[1]
  for _ = 1, options.point_selects do
    id:set(default(1, rows))
    execute(statement)
  end
end

local function execute_ranges(key)
  local options = sysbench.opt
  local number, rows, length = any_table(options), options.table_size, options.range_size
  local statement, params = stmt[number][key], param[number][key]
  for _ = 1, options[key] do
    local first = default(1, rows)
    params[1]:set(first)
    params[2]:set(first + length - 1)
    execute(statement)
  end
end

for _, key in ipairs({ "simple_ranges", "sum_ranges", "order_ranges", "distinct_ranges" }) do
  _G["execute_" .. key] = function()
    execute_ranges(key)
  end
end

function execute_index_updates()
  local options = sysbench.opt
  local number, rows = any_table(options), options.table_size
  local statement, params = stmt[number].index_updates, param[number].index_updates
  for _ = 1, options.index_updates do
    params[1]:set(default(1, rows))
    execute(statement)
  end
end

function execute_non_index_updates()
  local options = sysbench.opt
  local number, rows = any_table(options), options.table_size
  local statement, params = stmt[number].non_index_updates, param[number].non_index_updates
  for _ = 1, options.non_index_updates do
    params[1]:set_rand_str(C_FORMAT)
    params[2]:set(default(1, rows))
    execute(statement)
  end
end

function execute_delete_inserts()
  local options = sysbench.opt
  local number, rows = any_table(options), options.table_size
  local deletes, inserts = stmt[number].deletes, stmt[number].inserts
  local delete_params, insert_params = param[number].deletes, param[number].inserts
  for _ = 1, options.delete_inserts do
    local id = default(1, rows)
    delete_params[1]:set(id)
    insert_params[1]:set(id)
    insert_params[2]:set(default(1, rows))
    insert_params[3]:set_rand_str(C_FORMAT)
    insert_params[4]:set_rand_str(PAD_FORMAT)
    execute(deletes)
    execute(inserts)
  end
end

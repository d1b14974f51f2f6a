-- The interface of sysbench 0.4 and 0.5, as 1.0 still offers it: global functions over one
-- connection for each state, which the first call opens. Loaded when a script first names one;
-- returns them all by name.

local host = ...

local names = {
  thread_id = host.thread_id,
  test = host.script_path,
  mysql_table_engine = "innodb",
  myisam_max_rows = 1000000,
  DB_ERROR_NONE = 0,
  DB_ERROR_RESTART_TRANSACTION = 1,
  DB_ERROR_FAILED = 2,
}

local function ranged(draw)
  -- Options of a legacy script are text, so numbers may come as such.
  return function(low, high)
    return draw(tonumber(low), tonumber(high))
  end
end

names.sb_rand = ranged(host.rand_default)
names.sb_rand_uniform = ranged(host.rand_uniform)
names.sb_rand_gaussian = ranged(host.rand_gaussian)
names.sb_rand_special = ranged(host.rand_special)
names.sb_rand_str = host.rand_string

function names.sb_rnd()
  return host.rand_uniform(0, 4294967294)
end

function names.sb_rand_uniq(low, high)
  if low == nil or high == nil then
    return host.rand_unique()
  end
  return host.rand_unique_in(tonumber(low), tonumber(high))
end

local db = {
  DB_ERROR_NONE = names.DB_ERROR_NONE,
  DB_ERROR_RESTART_TRANSACTION = names.DB_ERROR_RESTART_TRANSACTION,
  DB_ERROR_FAILED = names.DB_ERROR_FAILED,
}

local session

local function connected()
  if not session then
    session = sysbench.sql.driver():connect()
  end
  return session
end

-- An ignorable error restarts the event through the value that legacy scripts expect to see
-- raised; the loop of the worker knows it by its code.
local function done(fine, name)
  if fine then
    return
  end
  if tonumber(session.error) == sysbench.sql.error.IGNORABLE then
    error({
      errcode = sysbench.error.RESTART_EVENT,
      connection = session,
      sql_errno = session.sql_errno,
    }, 0)
  end
  error(name .. "() failed", 0)
end

function db.connect()
  connected()
end

function db.disconnect()
  if session then
    session:disconnect()
    session = nil
  end
end

function db.query(sql)
  done(host.query(connected(), tostring(sql)), "db_query")
end

function db.bulk_insert_init(sql)
  done(host.bulk_insert_init(connected(), sql), "db_bulk_insert_init")
end

function db.bulk_insert_next(values)
  done(host.bulk_insert_next(connected(), values), "db_bulk_insert_next")
end

function db.bulk_insert_done()
  done(host.bulk_insert_done(connected()), "db_bulk_insert_done")
end

local statement_meta = {}

local function checked(statement, name)
  if getmetatable(statement) ~= statement_meta then
    error(("bad argument #1 to '%s' (a statement of db_prepare() expected)"):format(name), 3)
  end
  return statement
end

function db.prepare(sql)
  return setmetatable({ statement = connected():prepare(sql), params = {} }, statement_meta)
end

-- The types of the values decide the types of the parameters, as they are bound.
function db.bind_param(bound, values)
  checked(bound, "db_bind_param")
  if #values == 0 then
    error("table is empty", 2)
  end
  local params = {}
  for place, value in ipairs(values) do
    local param
    if type(value) == "number" then
      param = bound.statement:bind_create(sysbench.sql.type.BIGINT)
      param:set(value)
    else
      local text = tostring(value)
      param = bound.statement:bind_create(sysbench.sql.type.VARCHAR, #text)
      param:set(text)
    end
    params[place] = param
  end
  bound.params = params
  bound.statement:bind_param(unpack(params))
end

function db.bind_result(bound)
  checked(bound, "db_bind_result")
end

function db.execute(bound)
  checked(bound, "db_execute")
  local result = host.execute(bound.statement)
  done(result, "db_execute")
  return result
end

-- Results are read whole as they arrive, so there is nothing left to store.
function db.store_results() end

function db.free_results() end

function db.close(bound)
  checked(bound, "db_close").statement:close()
end

for name, member in pairs(db) do
  if type(member) == "function" then
    names["db_" .. name] = member
  end
end

names.db = db
return names

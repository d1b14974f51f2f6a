-- sysbench.sql: drivers, connections, statements, parameters, results.
--
-- Handles are FFI pointers, as scripts expect: a query without a result set gives a NULL result,
-- which equals nil and yet counts as true.

local host = ...
local cast, to_string = ffi.cast, ffi.string

ffi.cdef([[
typedef enum { SQL_ERROR_NONE, SQL_ERROR_IGNORABLE, SQL_ERROR_FATAL } sql_error;

typedef struct sql_driver { uint32_t kind_; } sql_driver;

typedef struct sql_connection {
  uint32_t kind_;
  sql_error error;
  int sql_errno;
  const char *sql_state;
  const char *sql_errmsg;
  sql_driver *driver;
} sql_connection;

typedef struct sql_statement {
  uint32_t kind_;
  sql_connection *connection;
} sql_statement;

typedef struct { uint32_t len; const char *ptr; } sql_value;

typedef struct { void *ptr; sql_value *values; } sql_row;

typedef struct sql_result {
  uint32_t kind_;
  sb_counter_type counter;
  uint32_t nrows;
  uint32_t nfields;
  sql_statement *statement;
  sql_row row;
} sql_result;

typedef struct {
  int type;
  void *buffer;
  unsigned long *data_len;
  unsigned long max_len;
  char *is_null;
} sql_bind;
]])

local driver_pointer = ffi.typeof("sql_driver *")
local connection_pointer = ffi.typeof("sql_connection *")
local statement_pointer = ffi.typeof("sql_statement *")
local result_pointer = ffi.typeof("sql_result *")

sysbench.sql = {
  type = {
    NONE = 0,
    TINYINT = 1,
    SMALLINT = 2,
    INT = 3,
    BIGINT = 4,
    FLOAT = 5,
    DOUBLE = 6,
    TIME = 7,
    DATE = 8,
    DATETIME = 9,
    TIMESTAMP = 10,
    CHAR = 11,
    VARCHAR = 12,
  },
  error = { NONE = 0, IGNORABLE = 1, FATAL = 2 },
}

local NONE, IGNORABLE = sysbench.sql.error.NONE, sysbench.sql.error.IGNORABLE

host.keep_types(
  cast(driver_pointer, nil),
  cast(connection_pointer, nil),
  cast(statement_pointer, nil),
  cast(result_pointer, nil)
)
host.keep_null(cast(result_pointer, nil))

local function text_of(pointer)
  return pointer ~= nil and to_string(pointer) or ""
end

-- Raises what the last call on `connection` failed with. An error of the ignorable kind, or one
-- that the script's hook takes for such, begins the event again. The place is that of the caller at
-- `level`; of what has no number, sysbench names another.
local function raise(connection, query, level, level_without_number)
  local failure = {
    connection = connection,
    query = query,
    sql_errno = connection.sql_errno,
    sql_state = text_of(connection.sql_state),
    sql_errmsg = text_of(connection.sql_errmsg),
  }
  local ignorable = tonumber(connection.error) == IGNORABLE
  if not ignorable then
    local hook = sysbench.hooks.sql_error_ignorable
    ignorable = hook and hook(failure)
    if ignorable then
      host.count_error()
    end
  end
  if ignorable then
    failure.errcode = sysbench.error.RESTART_EVENT
    error(failure, 0)
  end
  if failure.sql_errno == 0 then
    -- The call failed without having reached a server.
    error("SQL API error", level_without_number or level)
  end
  error(
    ("SQL error, errno = %d, state = '%s': %s"):format(
      failure.sql_errno,
      failure.sql_state,
      failure.sql_errmsg
    ),
    level
  )
end

-- Drivers ------------------------------------------------------------------------------------

local driver = { name = host.driver_name }

function driver:connect()
  local pointer = host.connect(self)
  if not pointer then
    error("connection creation failed", 2)
  end
  local connection = cast(connection_pointer, pointer)
  host.keep_result(connection, cast(result_pointer, host.result_of(connection)))
  return connection
end

function sysbench.sql.driver(name)
  local pointer = host.driver(name)
  if not pointer then
    error("failed to initialize the DB driver", 2)
  end
  return cast(driver_pointer, pointer)
end

-- Connections --------------------------------------------------------------------------------

local connection = {}

local query = host.query

function connection:query(sql)
  return query(self, sql) or raise(self, sql, 3, 4)
end

function connection:query_row(sql)
  local result = query(self, sql) or raise(self, sql, 3)
  if result == nil then
    return nil
  end
  return host.fetch_values(result)
end

function connection:prepare(sql)
  local pointer = host.prepare(self, sql)
  if not pointer then
    error("SQL API error", 2)
  end
  return cast(statement_pointer, pointer)
end

function connection:check_error(result, sql)
  if tonumber(self.error) == NONE then
    return result
  end
  raise(self, sql, 3)
end

function connection:disconnect()
  return host.disconnect(self)
end

function connection:reconnect()
  return host.reconnect(self)
end

function connection:bulk_insert_init(sql)
  return assert(host.bulk_insert_init(self, sql), "db_bulk_insert_init() failed")
end

function connection:bulk_insert_next(values)
  return assert(host.bulk_insert_next(self, values), "db_bulk_insert_next() failed")
end

function connection:bulk_insert_done()
  return assert(host.bulk_insert_done(self), "db_bulk_insert_done() failed")
end

-- Statements and their parameters ------------------------------------------------------------

local statement = { bind_param = host.bind_param, close = host.close_statement }

local execute = host.execute

function statement:execute()
  return execute(self) or raise(self.connection, "<prepared statement>", 3, 4)
end

host.keep_param_meta({
  __index = { set = host.param_set, set_rand_str = host.param_set_rand_str },
  __tostring = function()
    return "<sql_param>"
  end,
})

function statement:bind_create(kind, max_length)
  local param = host.param_new(kind, max_length or 0)
  if not param then
    error(("Unsupported argument type: %s"):format(tostring(kind)), 2)
  end
  return param
end

-- Results ------------------------------------------------------------------------------------

local result = { fetch_row = host.fetch_row }

function result:free()
  return assert(host.free_result(self), "db_free_results() failed")
end

if host.compat == "1.1" then
  function connection:next_result()
    return host.next_result(self) or raise(self, "<next_result>", 3)
  end

  function connection:more_results()
    return host.more_results(self)
  end

  function statement:next_result()
    return host.next_result(self.connection) or raise(self.connection, "<next_result>", 3)
  end
end

local function describe(type_name, methods)
  local name = "<" .. type_name .. ">"
  ffi.metatype(type_name, {
    __index = methods,
    __tostring = function()
      return name
    end,
  })
end

describe("sql_driver", driver)
describe("sql_connection", connection)
describe("sql_statement", statement)
describe("sql_result", result)

-- Tables of the bundled scripts ---------------------------------------------------------------

if host.bundled then
  -- Fills a table that was just made, over connections of its own: much quicker than rows of
  -- text. False where the rows have to be inserted one by one.
  function sysbench.fill(connection_to, order)
    local filled = host.fill(
      connection_to,
      order.table,
      order.number,
      order.engine,
      order.options,
      order.rows,
      order.sessions
    )
    if filled == false then
      error(("table '%s' is not filled"):format(order.table), 0)
    end
    return filled == true
  end
end

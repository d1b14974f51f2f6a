-- What scripts reach by ffi.C: the host's functions under sysbench's names, and those functions
-- of the C library that wait, so that a thread that sleeps leaves its core to the others.
--
-- Loaded when a script first names one of them. Called with the C namespace behind the host.

local host, real = ...
local cast, to_string = ffi.cast, ffi.string

local symbols = {}

-- Events and counters ------------------------------------------------------------------------

symbols.sb_more_events = host.more_events
symbols.sb_event_start = host.event_start
symbols.sb_event_stop = host.event_stop

-- Counters are numbers or values of the enumeration; the host takes numbers.
function symbols.sb_counter_val(thread_id, counter)
  return ffi.new("uint64_t", host.counter_value(thread_id, tonumber(counter)))
end

function symbols.sb_counter_add(thread_id, counter, count)
  host.counter_add(thread_id, tonumber(counter), tonumber(count))
end

function symbols.sb_counter_inc(thread_id, counter)
  host.counter_add(thread_id, tonumber(counter))
end

-- Random numbers -----------------------------------------------------------------------------

for _, name in ipairs({
  "default",
  "uniform",
  "gaussian",
  "special",
  "pareto",
  "zipfian",
  "unique",
  "uniform_double",
}) do
  local draw = host["rand_" .. name]
  symbols["sb_rand_" .. name] = function(low, high)
    return draw(tonumber(low), tonumber(high))
  end
end
symbols.sb_rand_uniform_uint64 = host.rand_uint64

local function text_of(value, length)
  if type(value) == "string" then
    return length and value:sub(1, length) or value
  end
  return length and to_string(value, length) or to_string(value)
end

function symbols.sb_rand_str(format, buffer)
  local text = host.rand_string(text_of(format))
  ffi.copy(buffer, text, #text)
end

function symbols.sb_rand_varstr(buffer, shortest, longest)
  local text = host.rand_varstring(shortest, longest)
  ffi.copy(buffer, text, #text)
  return #text
end

-- Histograms ---------------------------------------------------------------------------------

function symbols.sb_histogram_new(size, lowest, highest)
  return sysbench.histogram.new(tonumber(size), lowest, highest)
end

symbols.sb_histogram_update = host.histogram_update
symbols.sb_histogram_print = host.histogram_print

function symbols.sb_histogram_delete() end

-- Database -----------------------------------------------------------------------------------

local FINE, FAILED = 0, 1

local function code_of(fine)
  return fine and FINE or FAILED
end

local function pointer_or_null(pointer, type_name)
  return cast(type_name, pointer or nil)
end

function symbols.db_create(name)
  return pointer_or_null(host.driver(name ~= nil and text_of(name) or nil), "sql_driver *")
end

function symbols.db_destroy()
  return FINE
end

function symbols.db_connection_create(driver)
  local fine, connection = pcall(driver.connect, driver)
  return fine and connection or cast("sql_connection *", nil)
end

function symbols.db_connection_close(connection)
  return code_of(host.disconnect(connection))
end

symbols.db_connection_free = symbols.db_connection_close

function symbols.db_connection_reconnect(connection)
  return code_of(host.reconnect(connection))
end

local NO_RESULT = cast("sql_result *", nil)

function symbols.db_query(connection, sql, length)
  return host.query(connection, text_of(sql, tonumber(length))) or NO_RESULT
end

function symbols.db_fetch_row(result)
  if host.fetch_raw_row(result) then
    return cast("sql_row *", ffi.cast("char *", result) + ffi.offsetof("sql_result", "row"))
  end
  return cast("sql_row *", nil)
end

function symbols.db_prepare(connection, sql, length)
  return pointer_or_null(host.prepare(connection, text_of(sql, tonumber(length))), "sql_statement *")
end

function symbols.db_bind_param(statement, params, count)
  return host.bind_raw(statement, cast("sql_bind *", params), tonumber(count))
end

-- Values of prepared statements are not read, so there is nowhere to put them.
function symbols.db_bind_result()
  return FINE
end

function symbols.db_execute(statement)
  return host.execute(statement) or NO_RESULT
end

function symbols.db_close(statement)
  return host.close_statement(statement)
end

function symbols.db_free_results(result)
  return code_of(host.free_result(result))
end

function symbols.db_bulk_insert_init(connection, sql, length)
  return code_of(host.bulk_insert_init(connection, text_of(sql, tonumber(length))))
end

function symbols.db_bulk_insert_next(connection, values, length)
  return code_of(host.bulk_insert_next(connection, text_of(values, tonumber(length))))
end

function symbols.db_bulk_insert_done(connection)
  return code_of(host.bulk_insert_done(connection))
end

if host.compat == "1.1" then
  symbols.db_next_result = host.next_result
  symbols.db_more_results = host.more_results

  function symbols.db_stmt_next_result(statement)
    return host.next_result(statement.connection)
  end
end

symbols.sb_print_test_options = host.print_test_options

function symbols.sb_lua_set_test_args()
  error("options are declared by sysbench.cmdline.options", 2)
end

-- Waiting ------------------------------------------------------------------------------------

function symbols.usleep(microseconds)
  host.sleep(tonumber(microseconds) / 1e6)
  return 0
end

function symbols.sleep(seconds)
  host.sleep(tonumber(seconds))
  return 0
end

local function seconds_of(span)
  return tonumber(span.tv_sec) + tonumber(span.tv_nsec) / 1e9
end

function symbols.nanosleep(request)
  -- A structure, a pointer to one, or an array of one.
  local fine, seconds = pcall(seconds_of, request)
  host.sleep(fine and seconds or seconds_of(request[0]))
  return 0
end

function symbols.poll(descriptors, count, timeout_ms)
  if descriptors ~= nil or tonumber(timeout_ms) < 0 then
    return real.poll(descriptors, count, timeout_ms)
  end
  host.sleep(tonumber(timeout_ms) / 1e3)
  return 0
end

return symbols

-- Writes and fails only in its first tenth of a second, which a warm-up covers.
ffi.cdef("int usleep(unsigned int);")

local begun, failed

function thread_init()
  con = sysbench.sql.driver():connect()
  con:query("CREATE TEMPORARY TABLE warm (a INT PRIMARY KEY)")
end

function event()
  ffi.C.usleep(2000)
  local now_s = tonumber(con:query_row("SELECT UNIX_TIMESTAMP(NOW(6))"))
  begun = begun or now_s
  if now_s - begun < 0.1 then
    con:query("REPLACE INTO warm VALUES (1)")
    if not failed then
      failed = true
      con:query("INSERT INTO warm VALUES (1)")
    end
  end
end

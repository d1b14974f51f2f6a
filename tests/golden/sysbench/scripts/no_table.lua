function thread_init()
  con = sysbench.sql.driver():connect()
end

function event()
  con:query("SELECT a FROM no_such_table")
end

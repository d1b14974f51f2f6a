-- One DELETE by primary key.

require("oltp_common")

function prepare_statements()
  prepare_for_each_table("deletes")
end

function event()
  local number = sysbench.rand.uniform(1, sysbench.opt.tables)
  param[number].deletes[1]:set(sysbench.rand.default(1, sysbench.opt.table_size))
  stmt[number].deletes:execute()
  if check_reconnect then
    check_reconnect()
  end
end

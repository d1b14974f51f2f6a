-- Takes over parts of oltp_common: the table, one more command, one more statement.
require("oltp_common")

sysbench.cmdline.options.own_size = { "Digits in its own column", 6 }

function create_table(drv, con, table_num)
  print(("Creating a table of its own 'sbtest%d'..."):format(table_num))
  con:query(("CREATE TABLE sbtest%d (id INT PRIMARY KEY, k INT, c CHAR(120), pad CHAR(60))"):format(table_num))
  con:bulk_insert_init("INSERT INTO sbtest" .. table_num .. " VALUES")
  for id = 1, sysbench.opt.table_size do
    con:bulk_insert_next(("(%d, %d, '%s', '%s')"):format(
      id, sysbench.rand.default(1, sysbench.opt.table_size), get_c_value(), get_pad_value()
    ))
  end
  con:bulk_insert_done()
end

sysbench.cmdline.commands.analyze = {
  function()
    local con = sysbench.sql.driver():connect()
    for number = sysbench.tid % sysbench.opt.threads + 1, sysbench.opt.tables, sysbench.opt.threads do
      con:query("ANALYZE TABLE sbtest" .. number)
    end
    print("analyzed")
  end,
  sysbench.cmdline.PARALLEL_COMMAND,
}

function prepare_statements()
  prepare_begin()
  prepare_commit()
  prepare_point_selects()
  own = con:prepare("SELECT COUNT(*) FROM sbtest1 WHERE id = ?")
  own_id = own:bind_create(sysbench.sql.type.INT)
  own:bind_param(own_id)
end

function event()
  begin()
  execute_point_selects()
  own_id:set(sysbench.rand.default(1, sysbench.opt.table_size))
  own:execute()
  commit()
end

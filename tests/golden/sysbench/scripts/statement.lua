-- Statements that the server refuses: where --when says, with or without parameters.
sysbench.cmdline.options = { when = { "when it is refused", "prepare" } }

function thread_init()
  con = sysbench.sql.driver():connect()
  con:query("CREATE TEMPORARY TABLE refused (a INT PRIMARY KEY)")
  if sysbench.opt.when == "prepare" then
    con:prepare("SELECT ? FROM no_such_table")
  end
  insert = con:prepare("INSERT INTO refused VALUES (?)")
  number = insert:bind_create(sysbench.sql.type.INT)
  insert:bind_param(number)
end

function event()
  number:set(1)
  insert:execute()
end

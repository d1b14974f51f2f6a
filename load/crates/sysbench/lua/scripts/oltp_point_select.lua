-- One SELECT by primary key.

require("oltp_common")

function prepare_statements()
  -- An event is one query, whatever the option says.
  sysbench.opt.point_selects = 1
  prepare_point_selects()
end

function event()
  execute_point_selects()
  if check_reconnect then
    check_reconnect()
  end
end

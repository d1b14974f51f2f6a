-- UPDATEs of a column without an index.

require("oltp_common")

function prepare_statements()
  prepare_non_index_updates()
end

function event()
  execute_non_index_updates()
  if check_reconnect then
    check_reconnect()
  end
end

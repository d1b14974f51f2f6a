-- One INSERT of a row with a new id.

require("oltp_common")

sysbench.cmdline.commands.prepare = {
  function()
    if not sysbench.opt.auto_inc then
      -- Ids are drawn from all that there are, so rows that exist would be met.
      sysbench.opt.table_size = 0
    end
    cmd_prepare()
  end,
  sysbench.cmdline.PARALLEL_COMMAND,
}

-- Each row is another text: there is nothing to prepare.
function prepare_statements() end

-- The drawn numbers have 32 bits, the column has a sign.
local SIGNED_OFFSET = 2 ^ 31

function event()
  local number = sysbench.rand.uniform(1, sysbench.opt.tables)
  local k = sysbench.rand.default(1, sysbench.opt.table_size)
  local id = 0
  if not sysbench.opt.auto_inc then
    id = sysbench.rand.unique() - SIGNED_OFFSET
  end
  con:query(
    ("INSERT INTO sbtest%d (id, k, c, pad) VALUES (%.0f, %.0f, '%s', '%s')"):format(
      number,
      id,
      k,
      get_c_value(),
      get_pad_value()
    )
  )
  if check_reconnect then
    check_reconnect()
  end
end

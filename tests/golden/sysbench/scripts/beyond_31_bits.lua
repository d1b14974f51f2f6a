-- Shows which table oltp_common would make, without a server.
require("oltp_common")

sysbench.cmdline.commands = {
  show = {
    function()
      local shown = { query = function(_, sql) print(sql) end, bulk_insert_init = error }
      pcall(create_table, nil, shown, 1)
    end,
  },
}

sysbench.cmdline.commands = {
  share = {
    function()
      if sysbench.tid == 1 then
        error("thread 1 has no part")
      end
    end,
    sysbench.cmdline.PARALLEL_COMMAND,
  },
}

-- Threads that print at the same time.
sysbench.cmdline.commands = {
  share = {
    function()
      assert(sysbench.cmdline.command_parallel("share"))
      for line = 1, 500 do
        print("thread", sysbench.tid, nil, line)
      end
    end,
    sysbench.cmdline.PARALLEL_COMMAND,
  },
}

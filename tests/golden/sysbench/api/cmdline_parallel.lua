-- run: --threads=3 share
-- says: Initializing worker threads\.\.\.
-- says: part \d of 3
-- says: part \d of 3
-- says: part \d of 3
-- unordered: the threads print when they get to
sysbench.cmdline.commands = {
  share = {
    function()
      assert(sysbench.cmdline.command_parallel("share"))
      print(("part %d of %d"):format(sysbench.tid, sysbench.opt.threads))
    end,
    sysbench.cmdline.PARALLEL_COMMAND,
  },
}

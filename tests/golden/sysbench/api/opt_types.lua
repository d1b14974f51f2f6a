-- run: --threads=3 --mysql-host=a,b --debug=off prepare
-- says: all typed
assert(sysbench.opt == nil, "options are not there in the body")
sysbench.cmdline.options = { mine = { "mine", 5 } }

function prepare()
  local opt = sysbench.opt
  assert(opt.threads == 3 and opt.debug == false and opt.mine == 5)
  assert(opt.mysql_host[1] == "a" and opt.mysql_host[2] == "b" and opt.db_driver == "mysql")
  assert(opt.thread_stack_size == 65536 and opt.rand_pareto_h == 0.2 and opt.config_file == nil)
  opt.threads = 7
  assert(sysbench.opt.threads == 7, "the table can be written")
  print("all typed")
end

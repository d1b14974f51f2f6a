-- sysbench.cmdline: what the command line said, and what the script declares for it.

local host = ...

local cmdline = {
  argv = host.arguments,
  command = host.command,
  script_path = host.script_path,
  PARALLEL_COMMAND = true,
  ARG_NULL = 0,
  ARG_BOOL = 1,
  ARG_INT = 2,
  ARG_SIZE = 3,
  ARG_DOUBLE = 4,
  ARG_STRING = 5,
  ARG_LIST = 6,
  ARG_FILE = 7,
  ARG_MAX = 8,
}
sysbench.cmdline = cmdline

cmdline.print_test_options = host.print_test_options

-- What asks for that is only called where a command line is read, not by each thread.
local declared
setmetatable(cmdline, {
  __index = function(_, name)
    declared = declared or host.part("declared")()
    return declared[name]
  end,
})

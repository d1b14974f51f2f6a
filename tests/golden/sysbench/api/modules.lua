-- run: prepare
-- says: found
function prepare()
  -- Beside the script, where the test runs it.
  assert(require("helper_module").answer == 42 and require("helper_module") ~= nil)
  local fine, message = pcall(require, "no_such_module")
  assert(not fine and message:find("no file './no_such_module.lua'", 1, true), message)
  assert(package.path:find("./?.lua", 1, true) and package.cpath:find("./?.so", 1, true))
  sysbench.cmdline.command = "prepare"
  require("oltp_common")
  assert(type(create_table) == "function")
  print("found")
end

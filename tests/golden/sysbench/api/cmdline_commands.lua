-- run: --events=1 greet
-- says: greeted greet 2
function greet()
  error("the table goes before the function")
end

sysbench.cmdline.commands = {
  greet = {
    function()
      assert(sysbench.cmdline.command_defined("greet"))
      assert(not sysbench.cmdline.command_defined("nosuch"))
      assert(not sysbench.cmdline.command_parallel("greet"))
      assert(sysbench.cmdline.script_path:find("cmdline_commands"))
      assert(sysbench.cmdline.argv[0] and #sysbench.cmdline.argv >= 2)
      local words = 0
      for _, word in pairs(sysbench.cmdline.argv) do
        words = words + ((word == "greet" or word == "--events=1") and 1 or 0)
      end
      print("greeted", sysbench.cmdline.command, words)
    end,
  },
}

-- run: --level=7 prepare
-- exit: 1
-- complains: Invalid value for the 'level' option: '7'
-- alone: sysbench hands over C strings, and does not look at what the check answers
sysbench.cmdline.options = {
  level = { "a level", 1, sysbench.cmdline.ARG_INT, function(name, value) return name == "level" and tonumber(ffi.string(value)) < 5 end },
}

function prepare() end

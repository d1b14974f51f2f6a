-- run: --level=7 prepare
-- exit: 1
-- complains: Invalid value for the 'level' option: '7'
sysbench.cmdline.options = {
  level = { "a level", 1, sysbench.cmdline.ARG_INT, function(value) return tonumber(value) < 5 end },
}

function prepare() end

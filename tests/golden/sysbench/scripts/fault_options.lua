sysbench.cmdline.options = { rows = 5 }

function event() end

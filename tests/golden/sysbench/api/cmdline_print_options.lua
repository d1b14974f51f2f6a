-- run: show
-- says: ^  --rows=N       rows of it \[5\]$
-- says: ^  --word=STRING  a word \[x\]$
sysbench.cmdline.options = { rows = { "rows of it", 5 }, word = { "a word", "x" }, ["a-b"] = { "on", false } }
sysbench.cmdline.commands = { show = { function() sysbench.cmdline.print_test_options() end } }

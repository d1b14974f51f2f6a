-- run: prepare
-- says: 0 1.0.20 sysbench 1.0.20 0 1
function prepare()
  print(
    sysbench.tid, sysbench.version, sysbench.version_string,
    sysbench.error.NONE, sysbench.error.RESTART_EVENT
  )
end

-- run: prepare
-- says: prepared 0 0
function prepare(...)
  print("prepared", select("#", ...), sysbench.tid)
end

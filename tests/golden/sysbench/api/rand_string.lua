-- run: prepare
-- says: filled
function prepare()
  local text = sysbench.rand.string("##-@@.x")
  assert(text:find("^%d%d%-%l%l%.x$"), text)
  assert(sysbench.rand.string("") == "")
  print("filled")
end

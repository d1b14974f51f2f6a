-- run: prepare
-- says: drawn
function prepare()
  for _ = 1, 1000 do
    local number = sysbench.rand.uniform_double()
    assert(number >= 0 and number < 1)
  end
  local wide = sysbench.rand.uniform_uint64()
  assert(type(wide) == "cdata" and tostring(wide):find("ULL$"))
  assert(sysbench.rand.uniform_uint64() ~= wide)
  print("drawn")
end

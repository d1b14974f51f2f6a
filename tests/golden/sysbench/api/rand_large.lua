-- run: prepare
-- says: large
-- alone: sysbench counts modulo 2^32
function prepare()
  local top = 2 ^ 40
  for _ = 1, 100 do
    local number = sysbench.rand.uniform(top, top + 10)
    assert(number >= top and number <= top + 10)
  end
  assert(sysbench.rand.uniform(-1, -1) == 4294967295)
  print("large")
end

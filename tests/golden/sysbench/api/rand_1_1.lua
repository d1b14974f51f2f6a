-- run: --compat=1.1 prepare
-- says: newer
-- alone: 1.0 has neither
function prepare()
  assert(sysbench.version == "1.1.0" and sysbench.rand.special == nil)
  local hits = 0
  for _ = 1, 1000 do
    local number = sysbench.rand.zipfian(1, 1000)
    assert(number >= 1 and number <= 1000)
    hits = hits + (number <= 100 and 1 or 0)
  end
  assert(hits > 300, "the smallest are the hottest")
  for _ = 1, 100 do
    local text = sysbench.rand.varstring(3, 9)
    assert(#text >= 3 and #text <= 9 and not text:find("[^%z0-z]"), text)
  end
  print("newer")
end

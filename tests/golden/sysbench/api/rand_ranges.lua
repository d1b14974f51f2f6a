-- run: prepare
-- says: in range
function prepare()
  for _, name in ipairs({ "default", "uniform", "gaussian", "special", "pareto" }) do
    local draw, seen = sysbench.rand[name], {}
    for _ = 1, 2000 do
      local number = draw(5, 8)
      assert(number >= 5 and number <= 8 and number % 1 == 0, name)
      seen[number] = true
    end
    assert(seen[5] or name ~= "uniform")
    assert(draw(3, 3) == 3 and draw(1.9, 1.9) == 1)
  end
  local seen = {}
  for _ = 1, 2000 do
    seen[sysbench.rand.uniform(1, 4)] = true
  end
  assert(seen[1] and seen[2] and seen[3] and seen[4] and not seen[0] and not seen[5])
  print("in range")
end

-- run: prepare
-- says: drawn
-- alone: sysbench takes no numbers as text, and draws until one fits the range
function prepare()
  for _, draw in ipairs({ sb_rand, sb_rand_uniform, sb_rand_gaussian, sb_rand_special }) do
    local number = draw("1", "5")
    assert(number >= 1 and number <= 5)
  end
  assert(sb_rand_str("#@"):find("^%d%l$") and sb_rnd() >= 0)
  assert(sb_rand_uniq(1, 10) <= 10 and sb_rand_uniq() < 2 ^ 32)
  print("drawn")
end

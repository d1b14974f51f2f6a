-- run: prepare
-- says:        value  ------------- distribution ------------- count
-- says:        1\.000 \|\*{40} 1
-- says:        4\.642 \|\*{40} 1
-- says:       59\.948 \|\*{40} 1
-- says:      100\.000 \|\*{40} 1
function prepare()
  local histogram = sysbench.histogram.new(10, 1, 100)
  for _, value in ipairs({ 5, 50, 0.1, 1000 }) do
    histogram:update(value)
  end
  histogram:print()
  assert(not pcall(sysbench.histogram.new))
  -- sysbench raises here.
  local fine, text = pcall(tostring, histogram)
  assert(not fine or text == "<sb_histogram>")
end

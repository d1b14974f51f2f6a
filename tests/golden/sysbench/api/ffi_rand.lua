-- run: prepare
-- says: drawn
function prepare()
  for _, name in ipairs({ "default", "uniform", "gaussian", "special", "pareto" }) do
    local number = ffi.C["sb_rand_" .. name](1, 10)
    assert(number >= 1 and number <= 10)
  end
  assert(ffi.C.sb_rand_uniform_double() < 1)
  local buffer = ffi.new("char[6]")
  ffi.C.sb_rand_str("##@@#", buffer)
  assert(ffi.string(buffer, 5):find("^%d%d%l%l%d$"))
  print("drawn")
end

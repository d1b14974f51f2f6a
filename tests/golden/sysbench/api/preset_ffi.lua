-- run: prepare
-- says: 8
assert(ffi == require("ffi"))

function prepare()
  print(ffi.sizeof("int64_t"))
end

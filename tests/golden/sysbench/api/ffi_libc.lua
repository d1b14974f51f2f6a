-- run: prepare
-- says: called
ffi.cdef([[
  typedef struct { long tv_sec; long tv_usec; } my_timeval;
  int gettimeofday(my_timeval *, void *);
  int snprintf(char *, size_t, const char *, ...);
  size_t strlen(const char *);
]])

function prepare()
  local now = ffi.new("my_timeval")
  assert(ffi.C.gettimeofday(now, nil) == 0 and now.tv_sec > 1e9)
  local text = ffi.new("char[20]")
  ffi.C.snprintf(text, 20, "%d-%s", ffi.cast("int", 7), "x")
  assert(ffi.string(text) == "7-x" and tonumber(ffi.C.strlen("abc")) == 3)
  assert(not pcall(function() return ffi.C.no_such_symbol end))
  print("called")
end

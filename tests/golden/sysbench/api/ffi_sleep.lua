-- run: --threads=100 --events=100 run
-- says: total number of events:              100
-- within: 15
ffi.cdef([[
  int usleep(unsigned int);
  unsigned int sleep(unsigned int);
  struct timespec { long tv_sec; long tv_nsec; };
  int nanosleep(const struct timespec *, struct timespec *);
]])

function event()
  ffi.C.usleep(100000)
  ffi.C.nanosleep(ffi.new("struct timespec", { 0, 50000000 }), nil)
  ffi.C.nanosleep(ffi.new("struct timespec[1]", { { 0, 50000000 } }), nil)
  ffi.C.sleep(0)
end

-- Events of ten milliseconds.
ffi.cdef("int usleep(unsigned int);")

function event()
  ffi.C.usleep(10000)
end

-- An event that outlives the time.
ffi.cdef("unsigned int sleep(unsigned int);")

function event()
  ffi.C.sleep(100)
end

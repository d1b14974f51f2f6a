-- A script that asks no database.
sysbench.cmdline.options = {
  rows = { "rows of it", 5 },
  word = { "a word", "x" },
}

function event()
  ffi.C.usleep(1000)
end

ffi.cdef("int usleep(unsigned int);")

-- run: --threads=3 --time=60 --rand-seed=7 run
-- twice: --percentile=0
-- alone: under sysbench the figures draw from the same numbers
local numbers = {}

function event(tid)
  numbers[#numbers + 1] = sysbench.rand.default(1, 1000000)
  ffi.C.usleep(500)
  return #numbers == 5
end

function thread_done(tid)
  print("drew", tid, table.concat(numbers, " "))
end

ffi.cdef("int usleep(unsigned int);")

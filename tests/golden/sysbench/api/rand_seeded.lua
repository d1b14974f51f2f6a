-- run: --threads=3 --events=30 --rand-seed=7 run
-- twice: --percentile=0
-- alone: under sysbench the figures draw from the same numbers
local numbers = {}

function event(tid)
  if #numbers < 5 then
    numbers[#numbers + 1] = sysbench.rand.default(1, 1000000)
  end
  ffi.C.usleep(500)
end

function thread_done(tid)
  print("drew", tid, table.concat(numbers, " "))
end

ffi.cdef("int usleep(unsigned int);")

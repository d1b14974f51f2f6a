-- run: --threads=2 --events=2 run
-- says: init 0
-- says: thread_init \d
-- says: thread_init \d
-- says: event$
-- says: thread_done \d
-- says: done 0
-- says: order kept
-- unordered: the threads print when they get to
local calls = {}
local own

function init()
  assert(own == nil, "the state of init is not that of a thread")
  print("init", sysbench.tid)
  table.insert(calls, "init")
end

function thread_init(tid)
  assert(tid == sysbench.tid and #calls == 0, "each thread has its own state")
  own = tid
  print("thread_init", tid)
end

function event(tid)
  assert(own == tid)
  print("event")
end

function thread_done(tid)
  assert(own == tid)
  print("thread_done", tid)
end

function done()
  print("done", sysbench.tid)
  assert(calls[1] == "init" and own == nil, "done runs in the state of init")
  print("order kept")
end

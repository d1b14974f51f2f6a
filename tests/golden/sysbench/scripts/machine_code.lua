-- Counts the pieces of machine code that its threads come to.
sysbench.cmdline.options = { rounds = { "Rounds of the loop in an event", 20 } }

function thread_init()
  made = 0
  jit.attach(function(what)
    made = made + (what == "stop" and 1 or 0)
  end, "trace")
end

function event()
  local sum = 0
  for round = 1, sysbench.opt.rounds do
    sum = sum + round % 7
  end
end

function thread_done()
  print("made " .. made)
end

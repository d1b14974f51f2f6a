-- run: --compat=1.1 --luajit-cmd=off --events=2 run
-- says: ^compiles: false$

function event()
  print("compiles: " .. tostring(jit.status()))
end

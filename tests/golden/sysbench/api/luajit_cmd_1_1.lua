-- run: --compat=1.1 --luajit-cmd=off --events=2 run
-- alone: 1.0 has no such option
-- says: ^compiles: false$

function event()
  print("compiles: " .. tostring(jit.status()))
end

-- run: --threads=10 --events=10 run
-- says: total number of events:              10
-- within: 4
function event()
  assert(os.execute("sleep 0.3") == 0)
  assert(os.execute("exit 3") == 768)
end

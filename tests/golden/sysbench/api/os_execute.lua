-- run: --threads=30 --events=30 run
-- says: total number of events:              30
-- within: 15
function event()
  assert(os.execute("sleep 1") == 0)
  assert(os.execute("exit 3") == 768)
end

-- run: --threads=1 --events=1 run
-- alone: the symbol sb_counter_add of sysbench cannot be reached
-- says: 5 4
-- says: read: +7
-- says: ignored errors: +5
ffi.cdef([[
  void sb_counter_inc(int, sb_counter_type);
  void sb_counter_add(int, sb_counter_type, uint64_t);
  uint64_t sb_counter_val(int, sb_counter_type);
  int usleep(unsigned int);
]])

function event(tid)
  sysbench.sql.driver()
  ffi.C.sb_counter_inc(tid, ffi.C.SB_CNT_ERROR)
  ffi.C.sb_counter_add(tid, ffi.C.SB_CNT_ERROR, 4)
  ffi.C.sb_counter_add(tid, ffi.C.SB_CNT_READ, 7)
  print(tonumber(ffi.C.sb_counter_val(tid, ffi.C.SB_CNT_ERROR)), tonumber(ffi.C.SB_CNT_ERROR))
end

-- run: --threads=2 --events=2 run
-- says: 0 0
-- says: innodb 1000000 mysql
assert(mysql_table_engine == "innodb" and myisam_max_rows == 1000000 and thread_id == sysbench.tid)

function thread_init(tid)
  assert(thread_id == tid and test:find("legacy_globals"))
  assert(DB_ERROR_NONE == 0 and DB_ERROR_RESTART_TRANSACTION == 1 and DB_ERROR_FAILED == 2)
  if tid == 0 then
    print(tid, thread_id)
    print(mysql_table_engine, myisam_max_rows, db_driver)
  end
end

function event() end

-- run: prepare
-- says: none
-- says: FATAL: mysql_drv_query\(\) returned error 1054
-- says: false db_query\(\) failed
function prepare()
  db_query("CREATE TEMPORARY TABLE contend_legacy (a INT)")
  db_bulk_insert_init("INSERT INTO contend_legacy VALUES")
  db_bulk_insert_next("(1)")
  db_bulk_insert_next("(2)")
  db_bulk_insert_done()
  assert(select("#", db_query("DELETE FROM contend_legacy WHERE a = 1")) == 0)
  print("none")
  print(pcall(db_query, "SELECT nosuch"))
  db_disconnect()
  db_connect()
  db_query("SELECT 1")
end

-- In the style of 0.4 and 0.5: options as globals, db_query, a file of shared functions.
pathtest = string.match(test, "(.*/)") or ""
dofile(pathtest .. "legacy_common.lua")

function thread_init(thread_id)
  set_vars()
  begin_query = db_driver == "mysql" and "BEGIN" or "START TRANSACTION"
  statement = db_prepare("SELECT c FROM legacy1 WHERE id = ?")
  values = { 1 }
  db_bind_param(statement, values)
end

function event(thread_id)
  local table_name = "legacy" .. sb_rand_uniform(1, oltp_tables_count)
  if not oltp_skip_trx then
    db_query(begin_query)
  end
  for _ = 1, 3 do
    rs = db_query("SELECT c FROM " .. table_name .. " WHERE id = " .. sb_rand(1, oltp_table_size))
  end
  values[1] = sb_rand(1, oltp_table_size)
  rs = db_execute(statement)
  db_store_results(rs)
  db_free_results(rs)
  db_query("UPDATE " .. table_name .. " SET k = k + 1 WHERE id = " .. (sb_rnd() % oltp_table_size + 1))
  if not oltp_skip_trx then
    db_query("COMMIT")
  end
end

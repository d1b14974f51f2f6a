-- What the legacy scripts share.
function set_vars()
  oltp_table_size = tonumber(oltp_table_size) or 100
  oltp_tables_count = tonumber(oltp_tables_count) or 1
  mysql_table_engine = mysql_table_engine or "innodb"
  if oltp_skip_trx == "on" then
    oltp_skip_trx = true
  else
    oltp_skip_trx = false
  end
end

function create_insert(table_id)
  print("Creating table 'legacy" .. table_id .. "'...")
  db_query("CREATE TABLE legacy" .. table_id .. " (id INT UNSIGNED NOT NULL AUTO_INCREMENT, k INT, "
    .. "c CHAR(120), PRIMARY KEY (id)) /*! ENGINE = " .. mysql_table_engine
    .. " MAX_ROWS = " .. myisam_max_rows .. " */")
  print("Inserting " .. oltp_table_size .. " records into 'legacy" .. table_id .. "'")
  db_bulk_insert_init("INSERT INTO legacy" .. table_id .. "(k, c) VALUES")
  for _ = 1, oltp_table_size do
    db_bulk_insert_next("(" .. sb_rand(1, oltp_table_size) .. ", '" .. sb_rand_str("###########-@@@") .. "')")
  end
  db_bulk_insert_done()
end

function prepare()
  set_vars()
  db_connect()
  for i = 1, oltp_tables_count do
    create_insert(i)
  end
  return 0
end

function cleanup()
  set_vars()
  for i = 1, oltp_tables_count do
    print("Dropping table 'legacy" .. i .. "'...")
    db_query("DROP TABLE IF EXISTS legacy" .. i)
  end
end

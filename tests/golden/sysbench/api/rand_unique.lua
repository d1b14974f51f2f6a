-- run: --threads=4 --events=400 run
-- says: unique 0
function thread_init()
  con = sysbench.sql.driver():connect()
end

function init()
  local con = sysbench.sql.driver():connect()
  con:query("CREATE TABLE contend_unique (n BIGINT PRIMARY KEY) ENGINE=MEMORY")
end

function event()
  con:query("INSERT INTO contend_unique VALUES (" .. sysbench.rand.unique() .. ")")
end

function done()
  local con = sysbench.sql.driver():connect()
  print("unique", con:query_row("SELECT COUNT(*) - 400 FROM contend_unique"))
  con:query("DROP TABLE contend_unique")
end

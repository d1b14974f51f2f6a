function event()
  db_query("SELECT 1")
end

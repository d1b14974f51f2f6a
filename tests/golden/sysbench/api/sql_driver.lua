-- run: prepare
-- says: mysql mysql
-- says: FATAL: invalid database driver name: 'nosuch'
-- says: false .*failed to initialize the DB driver
function prepare()
  print(sysbench.sql.driver():name(), sysbench.sql.driver("mysql"):name())
  print(pcall(sysbench.sql.driver, "nosuch"))
end

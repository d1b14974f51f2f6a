-- run: --oltp-table-size=10 --flag prepare
-- says: string 10 string
assert(oltp_table_size == nil and threads == nil, "not there in the body")

function prepare()
  assert(threads == 1 and mysql_user ~= nil and sysbench.opt.oltp_table_size == "10")
  print(type(oltp_table_size), oltp_table_size, type(flag))
end

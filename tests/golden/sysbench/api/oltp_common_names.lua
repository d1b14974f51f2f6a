-- run: --threads=1 --events=1 --table_size=5 --tables=1 prepare
-- says: Creating table 'sbtest1'\.\.\.
-- says: Inserting 5 records into 'sbtest1'
-- says: Creating a secondary index on 'sbtest1'\.\.\.
-- says: all there
require("oltp_common")

function prepare_statements()
  prepare_begin()
  prepare_commit()
  prepare_point_selects()
  prepare_simple_ranges()
  prepare_sum_ranges()
  prepare_order_ranges()
  prepare_distinct_ranges()
  prepare_index_updates()
  prepare_non_index_updates()
  prepare_delete_inserts()
end

sysbench.cmdline.commands.prepare = {
  function()
    cmd_prepare()
    assert(#get_c_value() == 119 and #get_pad_value() == 59)
    thread_init()
    assert(tostring(drv) == "<sql_driver>" and tostring(con) == "<sql_connection>")
    assert(stmt[1].point_selects and param[1].point_selects[1] and stmt.begin)
    begin()
    execute_point_selects()
    execute_simple_ranges()
    execute_sum_ranges()
    execute_order_ranges()
    execute_distinct_ranges()
    execute_index_updates()
    execute_non_index_updates()
    execute_delete_inserts()
    commit()
    assert(con:query_row("SELECT COUNT(*) FROM sbtest1") == "5")
    close_statements()
    prepare_statements()
    thread_done()
    cleanup()
    print("all there")
  end,
}

function event() end

"""Options that older releases had, so that an error does not take one for a misspelling of another.
Those of MariaDB are accepted by its server, which ignores them."""

from __future__ import annotations

_MARIADB = """
    innodb_adaptive_max_sleep_delay innodb_additional_mem_pool_size
    innodb_background_scrub_data_check_interval innodb_background_scrub_data_compressed
    innodb_background_scrub_data_interval innodb_background_scrub_data_uncompressed
    innodb_buffer_pool_instances innodb_checksums innodb_commit_concurrency
    innodb_concurrency_tickets innodb_file_format innodb_file_format_check
    innodb_file_format_max innodb_force_load_corrupted innodb_idle_flush_pct innodb_large_prefix
    innodb_locks_unsafe_for_binlog innodb_log_checksums innodb_log_compressed_pages
    innodb_log_files_in_group innodb_log_optimize_ddl innodb_page_cleaners
    innodb_replication_delay innodb_rollback_segments innodb_scrub_log innodb_scrub_log_speed
    innodb_stats_sample_pages innodb_support_xa innodb_sync_array_size innodb_thread_concurrency
    innodb_thread_sleep_delay innodb_undo_logs innodb_use_sys_malloc log_slow_queries
    max_long_data_size multi_range_count skip_locking thread_concurrency timed_mutexes
"""
_MYSQL = """
    avoid_temporal_upgrade binlog_transaction_dependency_tracking date_format datetime_format
    default_authentication_plugin expire_logs_days ignore_builtin_innodb
    innodb_additional_mem_pool_size innodb_checksums innodb_file_format innodb_file_format_check
    innodb_file_format_max innodb_large_prefix innodb_locks_unsafe_for_binlog
    innodb_log_file_size innodb_log_files_in_group innodb_stats_sample_pages innodb_support_xa
    innodb_undo_logs innodb_use_sys_malloc internal_tmp_disk_storage_engine
    log_bin_use_v1_row_events log_slow_queries log_warnings max_tmp_tables
    metadata_locks_cache_size metadata_locks_hash_instances multi_range_count old_passwords
    query_cache_limit query_cache_min_res_unit query_cache_size query_cache_type
    query_cache_wlock_invalidate secure_auth show_old_temporals skip_host_cache skip_locking
    sync_frm table_cache thread_concurrency time_format transaction_write_set_extraction
    tx_isolation tx_read_only
"""

OF_MARIADB = frozenset(_MARIADB.split())
OF_MYSQL = frozenset(_MYSQL.split())

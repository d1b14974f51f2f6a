"""Options of an option file that belong to its machine: they describe where the server runs, not
how. A private server elsewhere has its own, so contend leaves them out and says so."""

from __future__ import annotations

import fnmatch

from contend.servers.errors import OptionRejected
from contend.servers.options import readings, refuse_outside

_PLACES = "places of the machine's files"

REASONS = {
    _PLACES: (
        "aria_log_dir_path basedir character_sets_dir chroot datadir des_key_file "
        "general_log_file ignore_db_dirs init_file innodb_buffer_pool_filename "
        "innodb_data_home_dir innodb_directories innodb_doublewrite_dir innodb_log_group_home_dir "
        "innodb_redo_log_archive_dirs innodb_temp_tablespaces_dir innodb_tmpdir "
        "innodb_undo_directory language lc_messages_dir log_basename log_bin_index log_error "
        "log_slow_query_file pid_file plugin_dir replica_load_tmpdir rocksdb_datadir "
        "rocksdb_wal_dir secure_file_priv server_audit_file_path slave_load_tmpdir "
        "slow_query_log_file tmpdir"
    ),
    "the machine's addresses": (
        "admin_address admin_port bind_address extra_port mysqlx_bind_address mysqlx_port "
        "mysqlx_socket port port_open_timeout proxy_protocol_networks skip_networking socket"
    ),
    "the machine's identity": ("gtid_domain_id report_* server_id server_uuid user"),
    "keys, certificates and passwords": (
        "admin_ssl_* caching_sha2_password_*_key_path file_key_management_* "
        "handlersocket_plain_secret* keyring_* mysqlx_ssl_* require_secure_transport "
        "sha256_password_*_key_path ssl ssl_*"
    ),
    "replication": (
        "auto_increment_increment auto_increment_offset binlog_do_db binlog_ignore_db "
        "group_replication_* init_replica init_slave log_replica_* log_slave_* master_* "
        "max_relay_log_size relay_* replica_* replicate_* rpl_semi_sync_* skip_replica_start "
        "skip_slave_start slave_* sync_relay_* wsrep_*"
    ),
    "how it is started": (
        "bootstrap daemonize defaults_extra_file defaults_file initialize initialize_insecure "
        "no_defaults"
    ),
}
"""What they describe -> patterns of their names, with underscores."""


def machine_reason(name: str, value: str | None) -> str | None:
    """What an option describes of its machine; None if it may be compared elsewhere.

    A value that names a place outside the server's folder does so for any option.

    Args:
        name: in its normal form.
    """
    for one in readings(name):
        for reason, patterns in REASONS.items():
            if any(fnmatch.fnmatchcase(one, pattern) for pattern in patterns.split()):
                return reason
    try:
        refuse_outside(name, value or "")
    except OptionRejected:
        return _PLACES
    return None

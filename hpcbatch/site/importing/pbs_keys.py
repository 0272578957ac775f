"""Attributes of PBS servers and queues beside limits and defaults: what has no counterpart, and what is only PBS's."""

from __future__ import annotations

from hpcbatch.site.topology import NOT_IMPORTED
from hpcbatch.typed import Final

AT_ONCE = "which limits qmgr and sacctmgr set is told in docs/accounts.md"
ORDER = "who goes first is set by the keys priority and backfillDepth, and by sacctmgr: see docs/accounts.md"
ACCESS: Final = "who may use a queue has no key: every user of the cluster may use each queue"
LIMITS: Final = frozenset(
    {
        *("max_run", "max_run_res", "max_queued", "max_queued_res", "max_run_soft", "max_run_res_soft"),
        *("queued_jobs_threshold", "queued_jobs_threshold_res", "max_running", "max_queuable"),
        *("max_user_run", "max_group_run", "max_user_res", "max_group_res"),
        *("max_user_run_soft", "max_group_run_soft", "max_user_res_soft", "max_group_res_soft"),
    }
)
"""Of the server and of queues: hpcbatch's qmgr takes them as they are."""
OF_SERVER: Final = frozenset({"job_sort_formula", "backfill_depth", "eligible_time_enable"})
"""Likewise, of the server alone."""
LEFT: Final[tuple[tuple[str, str], ...]] = (
    ("max_", AT_ONCE),
    ("queued_jobs_threshold", AT_ONCE),
    ("backfill_depth", "backfillDepth of a queue is from 0 to 10000"),
    ("node_group_", NOT_IMPORTED),
    ("fairshare_", ORDER),
    ("est_start_time", ORDER),
    ("managers", "admins are those whom Kubernetes gives the rights"),
    ("operators", "admins are those whom Kubernetes gives the rights"),
    ("default_qsub_arguments", "qsub has no arguments of the site"),
    ("default_qdel_arguments", "qdel has no arguments of the site"),
    ("default_chunk", "jobs that ask for none get none"),
    ("default_node", "jobs that ask for none get one pod"),
    ("node_fail_requeue", "a job whose node is gone is started again if it may be rerun"),
    ("mail_from", "mail is sent by the controller: see docs/mail.md for the key mail"),
    ("mail_", "mail is sent by the controller: see docs/mail.md for the key mail"),
    ("checkpoint_", "there are no checkpoints"),
    ("disallowed_types", "a queue takes all kinds of jobs"),
    ("required_property", "set nodeSelector to the label of the property"),
    ("partition", "there is one scheduler for all queues: Volcano"),
    ("job_requeue_timeout", "qrerun waits as long as it takes"),
    ("jobscript_max_size", "a script is limited by the size of a Kubernetes object"),
    ("flatuid", "users are those of the cluster: hpcbatch user"),
    ("submit_hosts", "jobs are submitted from any host with a kubeconfig"),
    ("acl_", ACCESS),
)
_DAEMONS = """
allow_node_submit allow_proxy_user authorized_users auto_node_gpu auto_node_mic auto_node_np cgroup_per_task
clone_batch_delay clone_batch_size comment copy_on_rerun cray_enabled disable_automatic_requeue
disable_server_id_check display_job_server_suffix dont_write_nodes_file down_on_error email_batch_seconds
exit_code_canceled_job extra_resc ghost_queue hasnodes ifl_version interactive_jobs_can_roam job_exclusive_on_use
job_force_cancel_time job_full_report_time job_history_enable job_log_file_max_size job_log_file_roll_depth
job_log_keep_days job_nanny job_start_timeout job_stat_rate job_suffix_alias job_sync_timeout keep_completed
kill_delay_mode legacy_vmem license_count license_linger lock_file lock_file_check_rate lock_file_update_time
log_events log_file_max_size log_file_roll_depth log_keep_days log_level max_concurrent_provision
max_threads min_threads moab_array_compatible moab_use_gpu mom_job_sync
next_job_id next_job_number no_mail_force node_check_rate node_id node_location_server node_pack node_ping_rate
node_submit_exceptions note_append_on_error np_default pass_cpuclock pbs_license_file_location
pbs_license_fileloc pbs_license_info pbs_license_linger_time pbs_license_max pbs_license_min pbs_version
ping_rate poll_jobs power_provisioning python_gc_min_interval python_restart_max_hooks python_restart_max_objects
python_restart_min_interval query_other_jobs record_job_info record_job_script reported_by rerunnable_jobs
resources_assigned
restrict_res_to_release_on_suspend restrict_user_exempt_groups resv_enable resv_post_processing_time route_held_jobs
route_lifetime route_retry_time route_waiting_jobs rpp_highwater rpp_max_pkt_check rpp_retry rpp_timeout
sched_version scheduler_iteration scheduler_version scheduling server_host server_name server_state state_count
store_server_flags tcp_incoming_timeout tcp_timeout thread_idle_seconds timeout_for_job_delete
timeout_for_job_requeue total_jobs use_alps use_jobs_subdirs webapi_auth_issuers webapi_enable
webapi_oidc_clientid webapi_oidc_provider_url
"""
OWN: Final = frozenset(_DAEMONS.split())
"""Attributes that only PBS's own daemons need, or counts."""

"""The attributes of PBS's objects: which there are, which may be written, and where each is set here."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum


class Kind(StrEnum):
    """In the order in which qmgr takes a word for one."""

    SERVER = "server"
    QUEUE = "queue"
    NODE = "node"
    RESOURCE = "resource"
    SCHED = "sched"
    HOOK = "hook"
    PBSHOOK = "pbshook"


_LIMITS = frozenset(
    f"max_{what}"
    for what in (
        *("running", "queued", "queued_res", "run", "run_res", "run_soft", "run_res_soft", "user_run", "group_run"),
        *("user_res", "group_res", "user_run_soft", "group_run_soft", "user_res_soft", "group_res_soft"),
    )
) | {"queued_jobs_threshold", "queued_jobs_threshold_res"}
PUBLIC: Mapping[Kind, frozenset[str]] = {
    Kind.SERVER: _LIMITS
    | {
        *(
            "scheduling",
            "pnames",
            "acl_host_enable",
            "acl_hosts",
            "acl_host_moms_enable",
            "acl_user_enable",
            "acl_users",
        ),
        *("acl_resv_host_enable", "acl_resv_hosts", "acl_resv_group_enable", "acl_resv_groups", "acl_resv_user_enable"),
        *("acl_resv_users", "acl_roots", "managers", "operators", "default_queue", "log_events", "mailer", "mail_from"),
        *("query_other_jobs", "resources_available", "resources_default", "default_chunk", "resources_max"),
        *("resources_cost", "system_cost", "scheduler_iteration", "comment", "default_node", "node_pack", "flatuid"),
        *("resv_enable", "node_fail_requeue", "max_array_size", "resend_term_delay", "node_group_enable"),
        *("node_group_key", "default_qdel_arguments", "default_qsub_arguments", "rpp_retry", "rpp_highwater"),
        *("pbs_license_info", "pbs_license_min", "pbs_license_max", "pbs_license_linger_time", "job_sort_formula"),
        *("eligible_time_enable", "reserve_retry_time", "reserve_retry_init", "job_history_enable"),
        *("job_history_duration", "max_concurrent_provision", "backfill_depth", "clear_topjob_estimates_enable"),
        *("job_requeue_timeout", "jobscript_max_size", "show_hidden_attribs", "max_job_sequence_id"),
        *("restrict_res_to_release_on_suspend", "python_restart_max_hooks", "python_restart_max_objects"),
        *("python_restart_min_interval", "sync_mom_hookfiles_timeout", "rpp_max_pkt_check"),
        *("resv_post_processing_time", "acl_krb_realm_enable", "acl_krb_realms", "acl_krb_submit_realms"),
        *("cred_renew_enable", "cred_renew_tool", "cred_renew_period", "cred_renew_cache_period"),
    },
    Kind.QUEUE: _LIMITS
    | {
        *("queue_type", "Priority", "max_queuable", "acl_host_enable", "acl_hosts", "acl_user_enable", "acl_users"),
        *("acl_group_enable", "acl_groups", "from_route_only", "resources_max", "resources_min", "resources_default"),
        *("max_array_size", "comment", "checkpoint_min", "default_chunk", "resources_available", "kill_delay"),
        *("node_group_key", "backfill_depth", "route_destinations", "alt_router", "route_held_jobs"),
        *("route_waiting_jobs", "route_retry_time", "route_lifetime", "enabled", "started", "partition"),
    },
    Kind.NODE: frozenset(
        {
            *("Mom", "Port", "state", "Priority", "max_running", "max_user_run", "max_group_run", "pnames", "queue"),
            *("resources_available", "comment", "resv_enable", "no_multinode_jobs", "provision_enable", "current_aoe"),
            *("vnode_pool", "power_provisioning", "current_eoe", "partition", "poweroff_eligible"),
        }
    ),
    Kind.RESOURCE: frozenset({"type", "flag"}),
    Kind.SCHED: frozenset(
        {"scheduling", "scheduler_iteration", "sched_host", "partition", "comment", "log_events"}
        | {"preempt_queue_prio", "preempt_prio", "preempt_order", "preempt_sort", "preempt_targets_enable"}
        | {"sched_cycle_length", "do_not_span_psets", "only_explicit_psets", "sched_preempt_enforce_resumption"}
        | {"job_sort_formula_threshold", "throughput_mode", "opt_backfill_fuzzy", "sched_priv", "sched_log"}
        | {"sched_user", "server_dyn_res_alarm", "job_run_wait", "attr_update_period", "job_sort_formula"}
    ),
}
"""Those that PBS lets operators and managers write. Source: the attribute tables of OpenPBS 23.06."""
READ_ONLY: Mapping[Kind, frozenset[str]] = {
    Kind.SERVER: frozenset(
        {"server_state", "server_host", "total_jobs", "state_count", "resources_assigned", "license_count"}
        | {"pbs_version", "has_runjob_hook"}
    ),
    Kind.QUEUE: frozenset({"total_jobs", "state_count", "resources_assigned", "hasnodes"}),
    Kind.NODE: frozenset(
        {
            "pbs_version",
            "ntype",
            "pcpus",
            "resources_assigned",
            "sharing",
            "maintenance_jobs",
            "license",
            "jobs",
            "resv",
        }
        | {"last_state_change_time", "last_used_time", "license_info", "topology_info", "in_multivnode_host"}
    ),
}
_SITE = "the site's administrator sets it in site.yaml (docs/site.md)"
_IN_SITE: Mapping[Kind, frozenset[str]] = {
    Kind.SERVER: frozenset(
        {"default_queue", "job_history_duration", "mailer", "mail_from", "max_array_size", "job_sort_formula"}
    ),
    Kind.QUEUE: frozenset({"default_chunk", "resources_default", "resources_max"}),
}
_NOWHERE = "hpcbatch has nothing that it would change"
_WHERE: Mapping[Kind, str] = {
    Kind.SERVER: _SITE,
    Kind.QUEUE: _SITE,
    Kind.NODE: "a node's kubelet says what it has, and its labels what kind it is",
    Kind.SCHED: "there is one scheduler; set server scheduling = False stops it (docs/accounts.md has its rules)",
}


def canonical(kind: Kind, name: str) -> str:
    """An attribute's name as it is shown: whoever writes it may use any letters, small or capital."""
    known = PUBLIC.get(kind, frozenset()) | READ_ONLY.get(kind, frozenset())
    return name if name in known else next((one for one in known if one.lower() == name.lower()), name)


def is_attribute(kind: Kind, name: str) -> bool:
    found = canonical(kind, name)
    return found in PUBLIC.get(kind, ()) or found in READ_ONLY.get(kind, ())


def set_elsewhere(kind: Kind, attribute: str = "") -> str:
    """Where that is set which qmgr does not set here."""
    if attribute in {"managers", "operators"}:
        return "Kubernetes decides who may; ClusterRole hpcbatch-operator has an operator's rights (docs/pbs.md)"
    if attribute.startswith("preempt_"):
        return "the site's administrator sets it in site.yaml: key preemption (docs/accounts.md)"
    if attribute and kind in _IN_SITE and attribute not in _IN_SITE[kind]:
        return _NOWHERE
    return _WHERE.get(kind, "there are no hooks")

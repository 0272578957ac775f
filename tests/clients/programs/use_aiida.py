"""AiiDA: its scheduler plugins over a local transport, from the script that they write to the states that they read."""

import json
import sys
import time

from aiida.common.datastructures import CodeRunMode
from aiida.plugins import SchedulerFactory, TransportFactory
from aiida.schedulers.datastructures import JobState, JobTemplate, JobTemplateCodeInfo

scheduler = SchedulerFactory(sys.argv[1])()
with TransportFactory("core.local")(use_login_shell=False) as transport:
    scheduler.set_transport(transport)

    def submit(name, *words):
        template = JobTemplate()
        template.job_name = name
        template.shebang = "#!/bin/sh"
        template.queue_name = "default"
        template.max_wallclock_seconds = 120
        template.sched_output_path, template.sched_error_path = f"{name}.out", f"{name}.err"
        template.job_resource = scheduler.create_job_resource(num_machines=1, num_mpiprocs_per_machine=1)
        template.codes_info = [JobTemplateCodeInfo(cmdline_params=list(words))]
        template.codes_run_mode = CodeRunMode.SERIAL
        with open(f"{name}.sh", "w") as script:
            script.write(scheduler.get_submit_script(template))
        return scheduler.submit_job(".", f"{name}.sh")

    ids = [submit("good", "/bin/echo", "hello"), submit("bad", "/bin/false"), submit("long", "/bin/sleep", "300")]
    long, states, listed = ids[2], {}, 0
    until = time.monotonic() + 90
    while time.monotonic() < until:
        jobs = scheduler.get_jobs(jobs=ids, as_dict=True)
        listed = max(listed, len(jobs))
        states = {job_id: job.job_state for job_id, job in jobs.items()}
        if states.get(long) is JobState.RUNNING and all(states.get(i) in (None, JobState.DONE) for i in ids[:2]):
            break
        time.sleep(0.5)
    running = states.get(long)
    killed = scheduler.kill_job(long)
    while time.monotonic() < until and scheduler.get_jobs(jobs=[long], as_dict=True).get(long):
        if scheduler.get_jobs(jobs=[long], as_dict=True)[long].job_state is JobState.DONE:
            break
        time.sleep(0.5)
    print(
        json.dumps(
            {"running": running.value, "killed": killed, "listed": listed, "said": open("good.out").read().strip()}
        )
    )

# shellcheck shell=sh
# shellcheck disable=SC2034,SC2154 # variables of step.sh, and those that srun.sh uses
# srun's command line, as srun 22.05 reads it: what stays of "$@" is the program. What an option cannot do here is reported.

srun_values=' accel-bind account acctg-freq bb bbf bcast-exclude begin chdir clusters comment constraint container core-spec
cores-per-socket cpu-bind cpu-freq cpu_bind cpus-per-gpu cpus-per-task deadline delay-boot dependency distribution epilog error
exclude export extra-node-info gid gpu-bind gpu-freq gpus gpus-per-node gpus-per-socket gpus-per-task gres gres-flags het-group
hint input job-name jobid kill-on-invalid-dep licenses mail-type mail-user max-exit-timeout mcs-label mem mem-bind mem-per-cpu
mem-per-gpu mem_bind mincpus mpi msg-timeout network nodelist nodes ntasks ntasks-per-core ntasks-per-gpu ntasks-per-node
ntasks-per-socket ntasks-per-tres open-mode output pack-group partition power prefer priority profile prolog qos relative
reservation signal slurmd-debug sockets-per-node switches task-epilog task-prolog tasks-per-node thread-spec threads
threads-per-core time time-min tmp tres-bind tres-per-task uid wait wckey '
srun_maybe=' bcast compress exclusive immediate kill-on-bad-exit nice no-kill propagate resv-ports send-libs x11 '
srun_flags=' contiguous debugger-test disable-status exact help hold interactive label launch-cmd multi-prog no-allocate overcommit
overlap oversubscribe preserve-env pty quiet quit-on-interrupt reboot spread-job test-only unbuffered usage use-min-nodes verbose
version whole '

ntasks='' nodes='' max_nodes='' cpus_per_task=${SRUN_CPUS_PER_TASK:-} per_node='' nodelist='' exclude='' relative=0
label=${SLURM_LABELIO:+yes} out=${SLURM_STDOUTMODE:-} err=${SLURM_STDERRMODE:-} input=${SLURM_STDINMODE:-}
kill_on_bad_exit=${SLURM_KILL_BAD_EXIT:-0} chdir=${SLURM_WORKING_DIR:-${SLURM_REMOTE_CWD:-}} distribution='' packs='' mpi=${SLURM_MPI_TYPE:-} multi_prog=${SLURM_SRUN_MULTI:+yes}
overlap=${SLURM_OVERLAP:+yes} overcommit=${SLURM_OVERCOMMIT:+yes} quiet='' export=${SLURM_EXPORT_ENV:-ALL} step_name='' export_given=''
prolog=${SLURM_PROLOG:-} epilog=${SLURM_EPILOG:-} preserve_env='' test_only='' groups=${default_group:-0} wait_s=${SLURM_WAIT:-0} open_mode=${SLURM_OPEN_MODE:-} step_limit=''
task_prolog=${SLURM_TASK_PROLOG:-} task_epilog=${SLURM_TASK_EPILOG:-} immediate_s='' bcast=${SLURM_BCAST+yes} bcast_target=${SLURM_BCAST:-} pty='' verbose=''

notes=
# note TEXT: once
note() {
  case $notes in
    *"$tool: hpcbatch: $1
"*) ;;
    *) notes="$notes$tool: hpcbatch: $1
" ;;
  esac
}
unapplied() { note "$1 is not applied: $2"; }

# Binding, for bind.sh. The job's own options are in the environment.
bind='' bind_list='' bind_verbose='' threads=${SLURM_THREADS_PER_CORE:-} per_core=${SLURM_NTASKS_PER_CORE:-}
per_socket=${SLURM_NTASKS_PER_SOCKET:-} order='' plane=${SLURM_DIST_PLANESIZE:-1}

# explain OPTION: of `--OPTION=help`, and ends srun
explain() {
  awk -v option="$1:" '/^[^ ]*:$/ { is_it = ($0 == option); next } is_it' "$root/runner/value_help.txt"
  exit 0
}

# in_small_letters TEXT: sets $small; options' values are read so
in_small_letters() {
  small=$1
  case $1 in *[A-Z]*) small=$(printf %s "$1" | tr '[:upper:]' '[:lower:]') ;; esac
}

# read_hint LIST
read_hint() {
  in_small_letters "$1"
  for hint in $(printf %s "$small" | tr , ' '); do
    case $hint in
      nomultithread | compute_bound) threads=1 bind=${bind:-auto} ;;
      memory_bound) threads=1 per_socket=1 bind=${bind:-auto} ;;
      multithread) bind=${bind:-threads} ;;
      help) explain hint ;;
      *) die "unrecognized --hint argument \"$hint\", see --hint=help" ;;
    esac
  done
}

# read_bind LIST: `verbose,cores`, `map_cpu:0,1` …
read_bind() {
  in_small_letters "$1"
  rest=$small
  while [ -n "$rest" ]; do
    case $rest in
      map_cpu:* | mask_cpu:*)
        bind=${rest%%:*} bind_list=${rest#*:}
        case $bind_list in *[!0-9a-fA-FxX,*]* | '') die "Invalid --cpu-bind argument: $1" ;; esac
        return
        ;;
    esac
    case ${rest%%,*} in
      v | verbose) bind_verbose=yes ;;
      q | quiet) bind_verbose= ;;
      none | no) bind=none ;;
      rank | cores | threads | sockets) bind=${rest%%,*} ;;
      core | thread | socket) bind=${rest%%,*}s ;;
      one_thread) threads=1 bind=${bind:-auto} ;;
      ldoms | boards | rank_ldom | map_ldom:* | mask_ldom:*)
        unapplied "--cpu-bind=$1" "tasks are bound to threads, cores or sockets"
        return
        ;;
      help) explain cpu-bind ;;
      *) die "Invalid --cpu-bind argument: $1" ;;
    esac
    case $rest in
      *,*) rest=${rest#*,} ;;
      *) rest= ;;
    esac
  done
}

. "$root/runner/devices.sh"
. "$root/runner/srun_gpus.sh"

# read_distribution LIST: over hosts; over the sockets of one; over the cores of a socket
read_distribution() {
  packs='' order=''
  in_small_letters "$1"
  case $small in
    plane=[1-9]*)
      distribution=plane plane=${small#*=}
      number --distribution "$plane"
      return
      ;;
    plane | plane=*)
      [ -n "${SLURM_DIST_PLANESIZE:-}" ] || {
        echo "srun: error: Invalid plane size or size not specified" >&2
        die "Invalid --distribution specification" 255
      }
      distribution=plane
      return
      ;;
    pack | nopack) small="*,$small" ;;
  esac
  levels=${small%%,*}
  printf '%s\n' "$levels" | grep -Eqx '(block|cyclic|[*])(:(block|cyclic|fcyclic|[*])){0,2}|arbitrary|hostfile' ||
    die "Invalid --distribution specification" 255
  distribution=${levels%%:*}
  case $levels in *:*) order=${levels#*:} ;; esac
  case $order in
    *:'*') order=${order%:*} ;;
    *:*)
      [ "${order#*:}" = "${order%:*}" ] ||
        unapplied "the third part of --distribution=$1" "tasks fill the cores of a socket in their order"
      order=${order%:*}
      ;;
  esac
  [ "$order" != '*' ] || order=
  case $distribution in
    hostfile) distribution=arbitrary ;;
    '*') distribution= ;;
  esac
  case $distribution,$small, in block,*,pack,* | ,*,pack,*) packs=yes ;; esac
}

[ -z "${SLURM_HINT:-}" ] || read_hint "$SLURM_HINT"
[ -z "${SLURM_CPU_BIND:-}" ] || [ -n "${SLURM_CPU_BIND_LIST:-}" ] || read_bind "$SLURM_CPU_BIND" # a task's own, else
[ -z "${SLURM_DISTRIBUTION:-}" ] || read_distribution "$SLURM_DISTRIBUTION"

# read_step_limit TIME: sets $step_limit to its seconds, whole minutes as in Slurm; empty: none
read_step_limit() {
  step_limit=$(printf '%.40s\n' "$1" | awk '
    tolower($0) ~ /^(-1|0|infinite|unlimited)$/ { right = 1 }
    /^[0-9]+-[0-9]+(:[0-9]+)?(:[0-9]+)?$/ { split($0, day, "-"); split(day[2], part, ":"); right = 1
      seconds = ((day[1] * 24 + part[1]) * 60 + part[2]) * 60 + part[3] }
    /^[0-9]+(:[0-9]+)?(:[0-9]+)?$/ { n = split($0, part, ":"); right = 1
      seconds = n == 1 ? part[1] * 60 : n == 2 ? part[1] * 60 + part[2] : (part[1] * 60 + part[2]) * 60 + part[3] }
    END {
      minutes = int((seconds + 59) / 60)
      if (!right || minutes > 16000000) exit 1
      if (minutes > 0) printf "%d", minutes * 60
    }') || die "Invalid --time specification" 255
}

[ -z "${SLURM_TIMELIMIT:-}" ] || read_step_limit "$SLURM_TIMELIMIT"

# apply NAME VALUE
apply() {
  case $1 in
    ntasks) number --ntasks "$2" && ntasks=$2 ;;
    nodes)
      nodes=${2%%-*} && number --nodes "$nodes"
      case $2 in *-*) max_nodes=${2#*-} && number --nodes "$max_nodes" ;; esac
      [ "${max_nodes:-$nodes}" -ge "$nodes" ] || die "Invalid node count specification: $2"
      ;;
    cpus-per-task) number --cpus-per-task "$2" && cpus_per_task=$2 ;;
    ntasks-per-node | tasks-per-node) number --ntasks-per-node "$2" && per_node=$2 ;;
    nodelist) nodelist=$2 ;;
    exclude) exclude=$2 ;;
    relative)
      case $2 in '' | *[!0-9]*) die "Invalid numeric value \"$2\" for --relative." ;; esac
      relative=$2
      ;;
    output) out=$2 ;;
    error) err=$2 ;;
    input) input=$2 ;;
    chdir) chdir=$2 ;;
    distribution) read_distribution "$2" ;;
    cpu-bind | cpu_bind) read_bind "$2" ;;
    hint) read_hint "$2" ;;
    threads-per-core) number --threads-per-core "$2" && threads=$2 bind=${bind:-auto} ;;
    ntasks-per-core) number --ntasks-per-core "$2" && per_core=$2 bind=${bind:-auto} ;;
    ntasks-per-socket) number --ntasks-per-socket "$2" && per_socket=$2 bind=${bind:-auto} ;;
    mpi)
      case $2 in
        none | pmi2 | pmix* | openmpi | cray_shasta) mpi=$2 ;;
        list) echo 'MPI plugin types are...
	none
	pmi2
	pmix' >&2 && exit 0 ;;
        *) die "MPI plugin \"$2\" is not there: expected none, pmi2 or pmix" ;;
      esac
      ;;
    export) export=$2 export_given=yes ;;
    job-name) step_name=$2 ;;
    kill-on-bad-exit)
      case ${2:-1} in
        0 | 1) kill_on_bad_exit=${2:-1} ;;
        *) die "Invalid numeric value \"$2\" for --kill-on-bad-exit." ;;
      esac
      ;;
    label) label=yes ;;
    overlap | oversubscribe) overlap=yes ;;
    overcommit) overcommit=yes ;;
    quiet) quiet=yes ;;
    multi-prog) multi_prog=yes ;;
    preserve-env) preserve_env=yes ;;
    exact | unbuffered | disable-status | quit-on-interrupt) ;; # so it is in any case
    exclusive) [ -z "$2" ] || unapplied "--exclusive=$2" "a step has what its job has" ;;
    version)
      echo "$version_text"
      exit 0
      ;;
    help | usage)
      echo "Usage: srun [OPTIONS(0)... [executable(0) [args(0)...]]]"
      [ "$1" = usage ] || show_options
      exit 0
      ;;
    test-only) test_only=yes ;;
    het-group | pack-group) read_groups "$2" ;;
    jobid) [ "$2" = "$job_id" ] || step_of_other "$2" ;;
    pty) pty=yes ;;
    x11) die "--x11 is not supported: X11 is not forwarded" ;;
    no-allocate) die "--no-allocate is not supported: a step is always its job's" ;;
    prolog) prolog=$2 && [ "$2" != none ] || prolog= ;;
    epilog) epilog=$2 && [ "$2" != none ] || epilog= ;;
    task-prolog) task_prolog=$2 ;;
    task-epilog) task_epilog=$2 ;;
    bcast) bcast=yes bcast_target=$2 ;;
    compress) ;; # how --bcast copies is not told either way
    container) die "--container is not supported: the pods of the job are containers already, of the image that sbatch --container-image names" ;;
    bcast-exclude) unapplied "--$1" "libraries are not broadcast" ;;
    send-libs)
      case $2 in no | n | 0) ;; *) unapplied "--$1" "the hosts have the libraries of their image" ;; esac
      ;;
    time) read_step_limit "$2" ;;
    time-min | signal) unapplied "--$1" "the step ends with the job" ;;
    gpus-per-task) read_gpus "--$1" "$2" && gpus_task=$count ;;
    gpus-per-node) read_gpus "--$1" "$2" && gpus_node=$count ;;
    gpus) read_gpus "--$1" "$2" && gpus_step=$count ;;
    gres) read_gres "$2" ;;
    gpu-bind | tres-bind) read_gpu_bind "--$1" "$2" ;;
    ntasks-per-gpu | ntasks-per-tres) number "--$1" "$2" && tasks_per_gpu=$2 ;;
    accel-bind | mem-bind | mem_bind) unapplied "--$1" "tasks are bound to CPUs and GPUs only" ;;
    cores-per-socket | sockets-per-node | extra-node-info) unapplied "--$1" "a step has the CPUs that its tasks ask for" ;;
    open-mode)
      case $2 in
        a | append | t | truncate) open_mode=$2 ;;
        *) die "Invalid --open-mode specification" 255 ;;
      esac
      ;;
    wait)
      case $2 in '' | *[!0-9]*) die "Invalid numeric value \"$2\" for --wait." ;; esac
      wait_s=$2
      ;;
    whole) unapplied --whole "a step has the CPUs that its tasks ask for" ;;
    immediate)
      case $2 in *[!0-9]*) die "Invalid numeric value \"$2\" for --immediate." ;; esac
      immediate_s=${2:-1}
      ;;
    propagate) unapplied --propagate "every host has the job's limits" ;;
    verbose) verbose=yes ;;
    profile | acctg-freq) unapplied "--$1" "what steps use is looked at once a second" ;;
    debugger-test | launch-cmd | max-exit-timeout | msg-timeout | network | resv-ports | slurmd-debug | threads)
      unapplied "--$1" "there is no slurmd here" ;;
    *) unapplied "--$1" "a step has what its job has" ;;
  esac
}

# show_options: the names of all, in a few lines
show_options() {
  # shellcheck disable=SC2086
  {
    printf '%s=\n' $srun_values
    printf '%s[=]\n' $srun_maybe
    printf '%s\n' $srun_flags
  } | sort | awk 'BEGIN { print ""; print "Options of a step, those with = take a value (all are told by `srun --help` on the login node):" }
    { word = " --" $0 }
    length(line word) > 100 { print line; line = "" }
    { line = line word }
    END { print line }'
}

# misused TEXT: in getopt's words
misused() {
  printf 'srun: %s\nTry "srun --help" for more information\n' "$1" >&2
  exit 1
}

. "$root/runner/options.sh"
takes_of() {
  case $1 in
    --) takes=end ;;
    --*) full_name "${1#--}" ;;
    -?) of_letter "${1#-}" ;;
    *) takes= ;;
  esac
}
valueless() {
  case $1 in
    --*) misused "option '--$option' requires an argument" ;;
    *) misused "option requires an argument -- '${1#-}'" ;;
  esac
}
excess() { misused "option '--$1' doesn't allow an argument"; }

# full_name GIVEN: sets $option to the one of that name or the only one that begins with it, and $takes.
full_name() {
  option='' alike=
  for candidate in $srun_values $srun_maybe $srun_flags; do
    case $candidate in
      "$1")
        option=$1 alike=
        break
        ;;
      "$1"*) option=$candidate alike="$alike '--$candidate'" ;;
    esac
  done
  case $alike in
    *' '*' '*) misused "option '--$1' is ambiguous; possibilities:$alike" ;;
  esac
  [ -n "$option" ] || misused "unrecognized option '--$1'"
  for candidate in $srun_values; do
    [ "$candidate" != "$option" ] || { takes=value && return; }
  done
  for candidate in $srun_maybe; do
    [ "$candidate" != "$option" ] || { takes=maybe && return; }
  done
  takes=flag
}

# of_letter LETTER: sets $option and $takes
of_letter() {
  takes=value
  case $1 in
    A) option=account ;; B) option=extra-node-info ;; C) option=constraint ;; D) option=chdir ;; G) option=gpus ;; J) option=job-name ;;
    L) option=licenses ;; M) option=clusters ;; N) option=nodes ;; S) option=core-spec ;; T) option=threads ;; W) option=wait ;;
    b) option=begin ;; c) option=cpus-per-task ;; d) option=dependency ;; e) option=error ;; i) option=input ;; m) option=distribution ;;
    n) option=ntasks ;; o) option=output ;; p) option=partition ;; q) option=qos ;; r) option=relative ;; t) option=time ;;
    w) option=nodelist ;; x) option=exclude ;;
    I) option=immediate takes=maybe ;; K) option=kill-on-bad-exit takes=maybe ;; k) option=no-kill takes=maybe ;;
    E) option=preserve-env takes=flag ;; H) option=hold takes=flag ;; O) option=overcommit takes=flag ;; Q) option=quiet takes=flag ;;
    V) option=version takes=flag ;; X) option=disable-status takes=flag ;; Z) option=no-allocate takes=flag ;; h) option=help takes=flag ;;
    l) option=label takes=flag ;; s) option=oversubscribe takes=flag ;; u) option=unbuffered takes=flag ;; v) option=verbose takes=flag ;;
    *) misused "invalid option -- '$1'" ;;
  esac
}

while next_option "$@"; do
  apply "$option" "$value"
  shift "$taken"
done
shift "$taken"
[ $# -gt 0 ] || die "No command given to execute."
if [ -n "$pty" ]; then
  [ -z "$out$err$input" ] || die "--error/--input/--output are incompatible with --pty"
  if [ -t 0 ] && [ -t 1 ]; then
    out=0 err=0 input=0
  else
    [ -n "$quiet" ] || echo "srun: error: Not using a pseudo-terminal, disregarding --pty option" >&2
    pty=
  fi
fi

[ -z "${SLURM_HOSTFILE:-}" ] || [ -n "$nodelist" ] || distribution=arbitrary

[ "$relative" = 0 ] || [ -z "$nodelist$exclude" ] || die "-r,--relative not allowed with -w,--nodelist or -x,--exclude."
cpus_given=$cpus_per_task
settle_gpus
[ -z "$threads$per_core$per_socket$order" ] || bind=${bind:-auto}

# What the tasks get of the environment: $kept has the names where it is not all of it, between commas.
# given_variables COMMAND: for each NAME and NAME=value of --export
given_variables() {
  rest=$export,
  while [ -n "$rest" ]; do
    word=${rest%%,*}
    rest=${rest#*,}
    case $word in
      [Aa][Ll][Ll] | [Nn][Oo][Nn][Ee] | [Nn][Ii][Ll] | '') ;;
      *) "$1" "$word" ;;
    esac
  done
}
check_variable() {
  case ${1%%=*} in
    '' | [!A-Za-z_]* | *[!A-Za-z0-9_]*) die "Invalid --export specification: '$1': expected ALL, NONE, NAME or NAME=value" ;;
  esac
}
keep_variable() { kept=$kept${1%%=*},; }
set_variable() { case $1 in *=*) export "${1?}" ;; esac; }
# the job has those of SLURM_EXPORT_ENV, however sbatch's commas were quoted
[ -z "$export_given" ] || given_variables check_variable
kept=
case ,$export, in
  *,[Aa][Ll][Ll],*) ;;
  *) kept=, && given_variables keep_variable ;;
esac
if [ -n "$test_only" ]; then
  [ -n "$quiet" ] || printf '%s' "$notes$tool: hpcbatch: --test-only: no step is started
" >&2
  exit 0
fi

# shellcheck shell=sh
# shellcheck disable=SC2154 # variables of common.sh and processes.sh
# CPU time and memory of all that the job runs in this pod. CPU time is what /proc says of all processes, the ended ones
# included. Memory is the container's peak where its control group has it; else the largest sum that was seen of its
# processes' resident memory, shared pages counted in each.

max_pages=0 max_ticks=0
page_bytes=

# know_page: sets $page_bytes
know_page() { page_bytes=${page_bytes:-$(getconf PAGESIZE 2>/dev/null || echo 4096)}; }

# keep_figures: what a loop in the background reports to the runner, of usage and of the clock, goes through files that have no name: the
# script, which runs as the same user, finds nothing to write to, and nothing is left open in it.
keep_figures() {
  exec 7>"$run/shares" 8>"$run/figures" 9>"$run/clock"
  rm -f "$run/shares" "$run/figures" "$run/clock"
  shares=/proc/self/fd/7 figures=/proc/self/fd/8 clock=/proc/self/fd/9
}

# peak_bytes: the control group's own figure, which counts the page cache too. Only a runner that is process 1 has been
# started by a container runtime, with a control group that holds nothing else.
peak_bytes() {
  peak=
  [ "${HPCBATCH_TERMINAL:-$$}" = 1 ] || return 0
  { read -r peak </sys/fs/cgroup/memory.peak || read -r peak </sys/fs/cgroup/memory/memory.max_usage_in_bytes; } 2>/dev/null
}

# keep_usage: takes what the last `look` saw into $max_pages and $max_ticks, and into the file from which others read them.
keep_usage() {
  [ "$pages" -le "$max_pages" ] && [ "$ticks" -le "$max_ticks" ] && return
  [ "$pages" -le "$max_pages" ] || max_pages=$pages
  [ "$ticks" -le "$max_ticks" ] || max_ticks=$ticks
  echo "$max_pages $max_ticks" >"$figures"
}

# sum_up_usage: sets $cpu_s (empty where it cannot be known from /proc) and $max_rss_bytes.
sum_up_usage() {
  seen_pages=0 seen_ticks=0 cpu_s='' max_rss_bytes=''
  look
  { read -r seen_pages seen_ticks <"$figures"; } 2>/dev/null || seen_pages=0 seen_ticks=0
  [ "$seen_pages" -gt "$pages" ] || seen_pages=$pages
  [ "$seen_ticks" -gt "$ticks" ] || seen_ticks=$ticks
  [ -z "$own_session" ] || cpu_s=$((seen_ticks / 100))
  peak_bytes
  max_rss_bytes=$peak
  if [ -z "$peak" ] && [ "$seen_pages" -gt 0 ]; then
    know_page
    max_rss_bytes=$((seen_pages * page_bytes))
  fi
}

# sample_usage: a loop for pods that have nothing else to watch. A walk each second; more seldom where there are many processes,
# or where only CPU time is to be looked at.
sample_usage() {
  end_at_term
  uptime
  began=$now pause=0.2
  while runner_lives; do
    rest "$pause"
    look
    keep_usage
    see_steps
    tell_usage "$began"
    [ "$host" != "${hosts%% *}" ] || look_at_worlds # a dedicated launcher's first host
    pause=$((1 + count / 200))
    [ -z "$peak" ] || [ $pause -ge 3 ] || pause=3
  done
}

# tell_usage SINCE: now and then, more seldom the longer it goes on, into the pod's log, where the controller finds what a running
# job has used (controller/live_usage.py). SINCE is the uptime at which it began.
tell_usage() {
  uptime
  [ "$now" -ge "${next_word:=0}" ] || return 0
  next_word=$(((now - $1) / 10))
  [ $next_word -ge 200 ] || next_word=200
  [ $next_word -le 6000 ] || next_word=6000
  next_word=$((now + next_word))
  peak_bytes
  know_page
  echo "hpcbatch: usage cpu_s=$((max_ticks / 100)) max_rss_bytes=${peak:-$((max_pages * page_bytes))}"
  tell_steps
}

# count_oom_kills: sets $oom_kills to how many processes the kernel has killed since this container had used up its memory; empty where
# that cannot be known. Where there is no control group, the engine looks and kills (podhost/sampling.py). A control group is seen under its path, as the engine's is (podhost/memory.py), or as the root of what is mounted.
count_oom_kills() {
  oom_kills=
  if [ -n "$HPCBATCH_MEMORY_EVENTS" ]; then
    read_oom_kills "$HPCBATCH_MEMORY_EVENTS"
    return
  fi
  group='' file=''
  while IFS=: read -r _ controllers path; do
    case ,$controllers, in
      *,memory,*)
        group=$path file=memory/memory.oom_control
        [ ! -r "/sys/fs/cgroup/memory$path/memory.oom_control" ] || file=memory$path/memory.oom_control
        break
        ;;
      ,,)
        group=$path file=memory.events
        [ ! -r "/sys/fs/cgroup$path/memory.events" ] || file=$path/memory.events
        ;;
    esac
  done 2>/dev/null </proc/self/cgroup
  # a group that others are in, too, says nothing of this job
  case ${HPCBATCH_TERMINAL:-$$}:$group in
    1:* | *:*/hpcbatch-*/?*) read_oom_kills "/sys/fs/cgroup/$file" ;;
  esac
}

read_oom_kills() {
  { while read -r name value; do
    [ "$name" != oom_kill ] || oom_kills=$value
  done <"$1"; } 2>/dev/null
}

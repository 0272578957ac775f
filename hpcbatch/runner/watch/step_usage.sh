# shellcheck shell=sh
# shellcheck disable=SC2154 # variables of common.sh, processes.sh and usage.sh
# The steps of srun, for the job's record (controller/live_usage.py, volcano/step_report.py).
#   $run/steps/log      what each srun of the first host writes down: `start STEP PID TIME TASKS CPUS HOSTS DISTRIBUTION NAME`, where HOSTS
#                       are places in the job's list, `end STEP TIME EXIT-CODE`, `cancel STEP`, `timeout STEP`,
#                       `limit STEP SECONDS`, 0 for none, `line STEP COMMAND-LINE`
#   $run/step_usage     of each step, what its tasks have used on this host: `STEP SEEN-TICKS SPENT-TICKS PAGES TASK …`: CPU time that was
#                       seen while they ran and what they had spent when they ended, memory of the largest, and which that is; then, once
#                       tasks were seen: how many, the sum of their pages, most ticks and whose, fewest ticks and whose, and of virtual
#                       memory, bytes read and bytes written the sum, the most and whose, in KiB
#   $run/task_usage     of each task of a step that runs here `STEP TASK TICKS PAGES VIRTUAL READ WRITTEN`, the most that was seen
#   $run/tasks.STEP.TASK, ranks.STEP.TASK    the process of a task that runs     $run/spent.STEP.*    ticks of tasks that have ended
# Of all these the running steps and the newest are told.

steps_kept=64

# see_steps: after `look`
see_steps() {
  set -- "$run"/spent.*
  [ -n "$with_table" ] || [ -e "$1" ] || return 0
  {
    for file in "$run"/tasks.*.*[0-9] "$run"/ranks.*.*[0-9]; do
      { read -r pid <"$file"; } 2>/dev/null || continue
      task=${file##*/}
      task=${task#*.}
      echo "mark ${task%%.*} ${task#*.} $pid"
      case $file in
        */ranks.*) kill -0 "$pid" 2>/dev/null || rm -f "$file" ;;
      esac
    done
    for file in "$@"; do
      { read -r spent <"$file"; } 2>/dev/null || continue
      task=${file##*/spent.}
      echo "spent ${task%%.*} $spent"
      rm -f "$file"
    done
    printf %s "$table"
    [ ! -e "$run/step_usage" ] || sed 's/^/was /' "$run/step_usage"
    [ ! -e "$run/task_usage" ] || sed 's/^/task /' "$run/task_usage"
  } | awk -v most=$steps_kept -v tasks="$run/task_usage" '
    function max(a, b) { return a + 0 > b + 0 ? a + 0 : b + 0 }
    function know(step) { if (step + 0 > last) last = step + 0; known[step] = 1 }
    function raise(kept, key, n) { kept[key] = max(kept[key], n) }
    function largest(id, n,    text) { # of the tasks of a step: total, most and whose
      text = sprintf(" %.0f %.0f %d", sum[id, n], top_of[id, n], whose[id, n])
      return text
    }
    $1 == "mark" { step[$4] = $2; task[$4] = $3; marked[$2] = 1; know($2); next }
    $1 == "task" { key = $2 " " $3; for (n = 1; n <= 5; n++) raise(used, key SUBSEP n, $(n + 3)); keys[key] = 1; next }
    $1 == "spent" { spent[$2] += $3; know($2); next }
    $1 == "was" { seen[$2] = $3; spent[$2] += $4; pages[$2] = $5; top[$2] = $6; know($2)
      tail[$2] = ""
      for (n = 7; n <= NF; n++) tail[$2] = tail[$2] " " $n
      next
    }
    { parent[$1] = $2; session[$1] = $3; ticks[$1] = $4; held[$1] = $5; virtual[$1] = $6; got[$1] = $7; put[$1] = $8 }
    END {
      for (pid in ticks) {
        root = pid
        for (depth = 0; !(root in step) && (root in parent) && depth < 100; depth++) root = parent[root]
        if (!(root in step)) root = session[pid]
        if (!(root in step)) continue
        now_ticks[step[root]] += ticks[pid]
        now_pages[root] += held[pid]
        now[root, 1] += ticks[pid]; now[root, 3] += virtual[pid] / 1024; now[root, 4] += got[pid] / 1024; now[root, 5] += put[pid] / 1024
      }
      for (root in now_pages)
        if (now_pages[root] > pages[step[root]] + 0) {
          pages[step[root]] = now_pages[root]
          top[step[root]] = task[root]
        }
      for (root in now_pages) {
        key = step[root] " " task[root]
        now[root, 2] = now_pages[root]
        for (n = 1; n <= 5; n++) raise(used, key SUBSEP n, now[root, n])
        keys[key] = 1
      }
      printf "" >tasks
      for (key in keys) {
        split(key, part, " ")
        id = part[1]
        if (!(id in marked)) continue
        count[id]++
        for (n = 1; n <= 5; n++) {
          amount = used[key, n] + 0
          sum[id, n] += amount
          if (count[id] == 1 || amount > top_of[id, n]) { top_of[id, n] = amount; whose[id, n] = part[2] }
        }
        if (count[id] == 1 || used[key, 1] + 0 < least[id]) { least[id] = used[key, 1] + 0; lazy[id] = part[2] }
        printf "%s %.0f %.0f %.0f %.0f %.0f\n", key, used[key, 1], used[key, 2], used[key, 3], used[key, 4], used[key, 5] >tasks
      }
      for (id in count)
        tail[id] = sprintf(" %d %.0f %.0f %d %.0f %d", count[id], sum[id, 2], top_of[id, 1], whose[id, 1], least[id], lazy[id]) \
          largest(id, 3) largest(id, 4) largest(id, 5)
      for (one = last + 0; one >= 0 && kept < most; one--)
        if (one in known) {
          kept++
          print one, max(seen[one], now_ticks[one]), spent[one] + 0, pages[one] + 0, top[one] + 0 tail[one]
        }
    }' >"$run/step_usage.new" && mv "$run/step_usage.new" "$run/step_usage"
}

# spent_words ROOM: prints `STEP:TICKS:KIB:TASK` words, in so many bytes, with the rest behind where there is room
spent_words() {
  [ -s "$run/step_usage" ] || return 0
  know_page
  awk -v room="$1" -v kib=$((page_bytes / 1024)) '
    {
      word[NR] = $1 ":" ($2 > $3 ? $2 : $3) ":" $4 * kib ":" $5
      need += length(word[NR]) + 1
      if (NF < 20) next
      rest[NR] = ":" $6 ":" sprintf("%.0f", $7 * kib)
      for (n = 8; n <= 20; n++) rest[NR] = rest[NR] ":" $n
    }
    END {
      for (at = 1; at <= NR; at++) {
        if (need + length(rest[at]) < room) {
          word[at] = word[at] rest[at]
          need += length(rest[at])
        }
        room -= length(word[at]) + 1
        need -= length(word[at]) + 1
        if (room > 0) printf "%s%s", at == 1 ? "" : " ", word[at]
      }
    }' "$run/step_usage"
}

# step_words ROOM: prints how many steps there were, and of those that are told `STEP:START:END:EXIT-CODE:TASKS:CPUS:HOSTS:DISTRIBUTION:NAME`
# words, with `:LIMIT` behind where it has one, or `:LIMIT:COMMAND-LINE:PID` where there is room, in so many bytes. A step that runs has no end; one that was cancelled by request has a `c`
# behind its code, one whose time was up a `t`.
step_words() {
  [ -s "$run/steps/log" ] || return 0
  awk -v room="$1" -v most=$steps_kept '
    $1 == "start" && NF == 9 { pid[$2] = $3; if (!($2 in start)) count++; if ($2 + 0 > last) last = $2 + 0; start[$2] = $4; rest[$2] = $5 ":" $6 ":" $7 ":" $8 ":" $9 }
    $1 == "end" { end[$2] = $3; code[$2] = $4 }
    $1 == "cancel" { cancelled[$2] = "c" }
    $1 == "timeout" { cancelled[$2] = "t" }
    $1 == "limit" { limit[$2] = $3 > 0 ? ":" $3 : "" }
    $1 == "line" && NF == 3 { line[$2] = $3 }
    function tell(id,    word, tail) {
      word = " " id ":" start[id] ":" (id in end ? end[id] ":" code[id] cancelled[id] : ":") ":" rest[id]
      tail = (limit[id] == "" ? ":0" : limit[id]) ":" line[id] ":" pid[id]
      word = word (line[id] != "" && length(word) + length(tail) < room ? tail : limit[id])
      room -= length(word)
      if (room > 0 && kept++ < most) printf "%s", word
    }
    END {
      printf "%d", count
      for (id = last + 0; id >= 0; id--) if (id in start && !(id in end)) tell(id)
      for (id = last + 0; id >= 0; id--) if (id in start && id in end) tell(id)
    }' "$run/steps/log"
}

# note_lost_steps EXIT-CODE: of those whose srun was killed
note_lost_steps() {
  [ -s "$run/steps/log" ] || return 0
  awk '$1 == "start" { pid[$2] = $3 } $1 == "end" { delete pid[$2] } END { for (id in pid) print id, pid[id] }' "$run/steps/log" |
    while read -r id pid; do
      kill -0 "$pid" 2>/dev/null || grep -q "^end $id " "$run/steps/log" || echo "end $id $(date +%s) $1" >>"$run/steps/log"
    done
}

# tell_steps: into the pod's log, where something has changed, and again now and then
tells=0
tell_steps() {
  tells=$((tells + 1))
  [ $((tells % 5)) = 0 ] || is_untold step_usage && [ -s "$run/step_usage" ] &&
    : >"$run/told.step_usage" && echo "hpcbatch: spent $(spent_words 4000)"
  if [ $((tells % 5)) = 0 ] || is_untold steps/log; then tell_step_log; fi
}

# tell_new_steps SINCE: at once, where a step has begun or ended; where steps follow each other, now and then. SINCE is the uptime at
# which the job began, $now the current one.
next_step_word=0
tell_new_steps() {
  is_untold steps/log && [ "$now" -ge "$next_step_word" ] || return 0
  pause_of_words=$(((now - $1) / 100))
  [ $pause_of_words -ge 100 ] || pause_of_words=100
  [ $pause_of_words -le 1000 ] || pause_of_words=1000
  next_step_word=$((now + pause_of_words))
  tell_step_log
}

tell_step_log() {
  [ -s "$run/steps/log" ] || return 0
  : >"$run/told.steps"
  note_lost_steps 137
  echo "hpcbatch: steps $(step_words 8000)"
}

# is_untold FILE: whether it may have changed since it was told
is_untold() { [ -s "$run/$1" ] && ! { [ -e "$run/told.${1%/*}" ] && [ "$run/$1" -ot "$run/told.${1%/*}" ]; }; }

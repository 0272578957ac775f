# Whether a run of WRF went well, by its logs: the only place that judges it, for the runner (wrf.sh) and for `hpcbatch wrf progress`.
# Without braces in expressions, which mawk lacks.
#
#   wrf_lines=wrf_lines.txt awk -v wants_history=1 -v logs=2 -f wrf.awk rsl.error.0000 rsl.out.0000 [rsl.error.NNNN...]
#
# The first files are the logs of rank 0, both where logs is 2, and else one; the one of these that knows more of the run counts.
# wants_history: wrf.exe is sure to write wrfout. $launcher_words in the environment names a file with what the MPI launcher said,
# for where no log says why.
#
# Prints four lines: `ok`, `failed`, or `unclear` where the logs of the other ranks may know more; the program as its banner
# names it (`wrf`, `real`, `none`, or `other`, of which nothing is known here) and the number of compute ranks (0: unknown);
# the host of rank 0 (- if unknown); the message, of at most 500 characters.

# Of what the file holds nothing may steer a terminal.
function words(text) {
  gsub(/[^!-~]+/, " ", text)
  sub(/^ /, "", text)
  sub(/ $/, "", text)
  return text
}

# Empty files have no first line.
function begin_file() {
  do file++
  while (ARGV[file] != FILENAME)
  in_block = kept = 0
}

function base_name(path) {
  sub(/^.*\//, "", path)
  return path
}

function keep(text) { recent[++kept % 12] = text }

# The last block counts, with those of the twelve lines before it that explain it.
function begin_block(   i) {
  in_block = 1
  said[file] = 0
  for (i = kept > 12 ? kept - 11 : 1; i <= kept; i++)
    if (recent[i % 12] ~ explains) say(recent[i % 12])
}

function say(text) { fatal[file, ++said[file]] = text }

# The block of file `f` without what only says that something else was wrong, where that something is there too.
function fatal_line(f,   i, pass, found, line, text) {
  for (pass = 1; pass <= 2 && !found; pass++) {
    split("", seen)
    for (i = 1; i <= said[f]; i++) {
      line = fatal[f, i]
      if (line in seen) continue
      seen[line] = 1
      if (pass == 1 && line ~ general) continue
      if (++found <= 4) text = text (found > 1 ? " / " : "") words(line)
    }
  }
  return text
}

function clock(text) { return text == "" ? "" : substr(text, 1, 13) ":" substr(text, 15, 2) ":" substr(text, 18) }

# The rank that a signal has ended, `SIGKILL on rank 3, probably out of memory`, as Open MPI, Intel MPI, MPICH and srun tell it, in text
# whose blanks and line ends are single: Open MPI 5 breaks its line. The first rank that is named counts: the others were ended
# because of that one.
function ended_by_signal(path,   text, line, found, rank, nameless) {
  while (path != "" && (getline line < path) > 0) text = text " " line
  gsub(/[ \t\r\n\f\v]+/, " ", text)
  while (match(text, ended)) {
    found = rank = substr(text, RSTART, RLENGTH)
    text = substr(text, RSTART + RLENGTH)
    if (sub(/^(process rank|RANK|srun: error: [^ ]+: tasks?) /, "", rank)) return signal_of(found, "rank " (rank + 0))
    if (nameless == "") nameless = signal_of(found, "a rank")
  }
  return nameless
}

function signal_of(found, whose,   number) {
  number = found
  sub(found ~ /^srun/ ? "^.*: " : "^.*[^0-9]", "", number)
  if (number in number_of) number = number_of[number]
  return (number in name_of ? name_of[number] : "signal " (number + 0)) " on " whose (number == 9 ? ", probably out of memory" : "")
}

# Of the logs of rank 0 the one that shows how the run ended, else how far it came: rsl.error.0000 may break off in a run that goes
# well (WRF 4.7.1 with sppt=1). A program starts both anew: one of another program, or host, is left over.
function witness() {
  if (logs < 2 || tells_end(1)) return 1
  if (program[1] != "none" && program[2] != "none" && program[1] != program[2]) return 1
  if (host[1] != "-" && host[1] != host[2]) return 1
  if (tells_end(2) || clock(stopped_at[2]) > clock(stopped_at[1])) return 2
  return clock(stopped_at[2]) == clock(stopped_at[1]) && loops[2] + 0 > loops[1] + 0 ? 2 : 1
}

function tells_end(f) { return said[f] || success[f] != "" || crash[f] != "" }

function with_cfl(text) { return cfl[main] == "" ? text : text " (before that: " words(cfl[main]) ")" }

function tell(verdict, text) {
  print verdict
  print program[main], ranks[main] + 0
  print host[main]
  text = words(text)
  print (length(text) > 500 ? substr(text, 1, 497) "..." : text)
}

BEGIN {
  while ((getline line < ENVIRON["wrf_lines"]) > 0) {
    if (line !~ /^[a-z_]+ /) continue
    name = substr(line, 1, index(line, " ") - 1)
    sub(/^[a-z_]+ +/, "", line)
    gsub(/\\t/, "\t", line)
    form[name] = line
  }
  step = form["step"]
  timing = form["timing"]
  loop = form["loop"]
  success_line = form["success"]
  block = form["fatal"]
  rule = form["rule"]
  crashed = form["crash"]
  courant = "points exceeded (v_)?cfl[ \t]*="
  explains = "--- ?ERROR|^-* ?ERRORS?[ :]|domain size is too small|SIZE MISMATCH|Ran out of valid" \
    "|is probably too large|ERROR (while )?reading|cell width in|UNABLE TO GENERATE|Maybe here|bad date in|does not match"
  general = "NOTE: .*(namelist settings are wrong|check and reset)|ERRORS while reading one or more|module_dm: mpaspect" \
    "|namelist vs input data"
  # busybox's awk compiles an expression that is no literal anew for each line: these are one
  understood = form["real"] "|" form["wrf"] "|" form["grid"] "|" form["time_step"] "|" form["start"] "|" form["restart"]
  ended = "(process rank [0-9]+ with PID [0-9]+ on node [^ ]+ )?exited on signal [0-9]+" \
    "|RANK [0-9]+ PID [0-9]+ RUNNING AT [^ ]+ [= ]*KILLED BY SIGNAL: [0-9]+" \
    "|EXIT STRING: [A-Za-z ]+\\(signal [0-9]+" \
    "|srun: error: [^ ]+: tasks? [0-9]+[^ ]*: (Killed|Terminated|Segmentation fault|Aborted|Bus error|Floating point exception" \
    "|Illegal instruction)"
  split("4 SIGILL 6 SIGABRT 7 SIGBUS 8 SIGFPE 9 SIGKILL 11 SIGSEGV 15 SIGTERM", pairs, " ")
  for (i = 1; i in pairs; i += 2) name_of[pairs[i]] = pairs[i + 1]
  number_of["Killed"] = 9
  number_of["Terminated"] = 15
  number_of["Segmentation fault"] = 11
  number_of["Aborted"] = 6
  number_of["Bus error"] = 7
  number_of["Floating point exception"] = 8
  number_of["Illegal instruction"] = 4
  if (logs < 2) logs = 1
  for (i = 1; i <= logs; i++) {
    program[i] = "none"
    host[i] = "-"
  }
}

FNR == 1 { begin_file() }

{
  sub(/\r$/, "")
  line = $0
  gsub(/^[ \t\f\v]+|[ \t\f\v]+$/, "", line)
  if (line == "") next
  is_rank_0 = file <= logs
  if (is_rank_0) last[file] = line
  if (in_block) {
    if ($0 ~ rule) in_block = 0
    else if (line !~ /^FATAL CALLED FROM/) say(line)
    next
  }
  if ($0 ~ step) {
    if (is_rank_0 && $8 + 0 == 1) stopped_at[file] = $5
    next
  }
  if ($0 ~ timing) {
    if (is_rank_0 && $3 == "Writing" && $4 != "restart") has_written[file] = 1
    next
  }
  if ($0 ~ loop) {
    sub(/^.*#[ \t]*/, "", line)
    if (line + 0 > loops[file] + 0) loops[file] = line + 0
    next
  }
  if ($0 ~ success_line) { if (is_rank_0) success[file] = line; next }
  if ($0 ~ block) { begin_block(); next }
  if ($0 ~ courant) { if (is_rank_0) cfl[file] = line; next }
  if ($0 ~ crashed) { if (crash[file] == "") crash[file] = line; next }
  if (is_rank_0) {
    if (line ~ /^taskid: 0 hostname: /) host[file] = $4
    if (line ~ /(VARIATIONAL|WRFVAR|WRF-Var)/) is_variational[file] = 1
    if (line ~ /^[A-Z_]+ V[^ \t]+ PREPROCESSOR/) program[file] = "other"
    if (match($0, /error opening [^ \t]+ for writing/)) {
      if (not_opened[file] == "") not_opened[file] = substr($0, RSTART + 14, RLENGTH - 26)
      next
    }
  }
  if ($0 !~ understood) keep(line)
  else if (is_rank_0) {
    if (line ~ form["real"]) program[file] = "real"
    if (line ~ form["wrf"]) program[file] = "wrf"
    if (line ~ form["grid"]) { split(line, sizes, /[^0-9]+/); ranks[file] = sizes[2] * sizes[3] }
    if (line ~ form["restart"]) is_restart[file] = 1
  }
}

END {
  main = witness()
  if (is_variational[main]) program[main] = "other"
  if (said[main]) tell("failed", with_cfl(fatal_line(main)))
  else if (success[main] != "") {
    if (not_opened[main] != "")
      tell("failed", success[main] ", but: error opening " not_opened[main] " for writing; there is no output")
    else if (wants_history && program[main] != "real" && success[main] ~ / WRF/ && !has_written[main] && !is_restart[main])
      tell("failed", success[main] ", but it wrote no wrfout")
    else tell("ok", success[main])
  } else if (crash[main] != "") tell("failed", with_cfl(crash[main]))
  else {
    for (i = logs + 1; i < ARGC; i++) if (said[i]) { tell("failed", fatal_line(i) " (" base_name(ARGV[i]) ")"); exit }
    for (i = logs + 1; i < ARGC; i++)
      if (crash[i] != "") { tell("failed", with_cfl(crash[i] " (" base_name(ARGV[i]) ")")); exit }
    at = stopped_at[main] == "" ? "" : ", stopped after " clock(stopped_at[main])
    signalled = ended_by_signal(ENVIRON["launcher_words"])
    if (cfl[main] != "" || signalled != "") tell("unclear", with_cfl((signalled == "" ? "no SUCCESS line" : signalled) at))
    else tell("unclear", "no SUCCESS line" at "; the last line is: " (last[main] == "" ? "(the file is empty)" : last[main]))
  }
}

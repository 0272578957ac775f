# What rsl.error.0000 says of a run of WRF, judged as hpcbatch/wrf/log.py judges it; tests/component/test_runner_wrf.py
# holds the two against each other. Without braces in expressions, which mawk lacks.
#
#   awk -v wants_history=1 -f wrf.awk rsl.error.0000 [rsl.error.NNNN...]    the first file is that of rank 0, or rsl.out.0000
#
# $launcher_words in the environment names a file with what the MPI launcher said, for where no log tells why.
#
# Prints four lines: `ok`, `failed`, or `unclear` where the logs of the other ranks may know more; the program as its banner
# names it (`wrf`, `real`, `none`, or `other`, of which nothing is known here) and the number of compute ranks (0: unknown);
# the host of rank 0 (- if unknown); the message.

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

function clock(text) { return substr(text, 1, 13) ":" substr(text, 15, 2) ":" substr(text, 18) }

# The rank that a signal has ended, as hpcbatch/wrf/launcher.py tells it.
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

function with_cfl(text) { return cfl == "" ? text : text " (before that: " words(cfl) ")" }

function tell(verdict, text) {
  print verdict
  print program, ranks
  print host
  text = words(text)
  print (length(text) > 500 ? substr(text, 1, 497) "..." : text)
}

BEGIN {
  date = "[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]_[0-9][0-9][:_][0-9][0-9][:_][0-9][0-9]"
  elapsed = ":[ \t]+[0-9.Ee+-]+ elapsed seconds"
  step = "^[ \t]*Timing for main: time " date " on domain[ \t]+[0-9]+" elapsed
  other = "^[ \t]*Timing for (Writing|processing) .* for domain[ \t]+[0-9]+" elapsed
  loop = "^[ \t]*(d01 [^ \t]+[ \t]+)?Timing for loop #[ \t]*[0-9]+ =[ \t]*[0-9.]+ s"
  success_line = "SUCCESS COMPLETE (WRF|REAL_EM INIT|IDEAL INIT|NDOWN_EM INIT|TC BOGUS)"
  block = "----*[ \t]*FATAL CALLED[ \t]*----*"
  rule = "^[ \t]*--------------------(-)*[ \t]*$"
  courant = "points exceeded (v_)?cfl[ \t]*="
  crashed = "Program received signal [^ \t]+|forrtl: severe \\([0-9]+\\)|Fortran runtime error: |Segmentation fault"
  explains = "--- ?ERROR|^-* ?ERRORS?[ :]|domain size is too small|SIZE MISMATCH|Ran out of valid" \
    "|is probably too large|ERROR (while )?reading|cell width in|UNABLE TO GENERATE|Maybe here|bad date in|does not match"
  general = "NOTE: .*(namelist settings are wrong|check and reset)|ERRORS while reading one or more|module_dm: mpaspect" \
    "|namelist vs input data"
  understood = "^[ \t]*Ntasks in X|^[ \t]*D01: Time step|^[ \t]*CURRENT DATE|^[ \t]*RESTART run: opening"
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
  program = "none"
  host = "-"
  ranks = 0
}

FNR == 1 { begin_file() }

{
  sub(/\r$/, "")
  line = $0
  gsub(/^[ \t\f\v]+|[ \t\f\v]+$/, "", line)
  if (line == "") next
  if (file == 1) last = line
  if (in_block) {
    if ($0 ~ rule) in_block = 0
    else if (line !~ /^FATAL CALLED FROM/) say(line)
    next
  }
  if ($0 ~ step) {
    if (file == 1 && $8 + 0 == 1) stopped_at = $5
    next
  }
  if ($0 ~ other) {
    if (file == 1 && $3 == "Writing" && $4 != "restart") has_written = 1
    next
  }
  if ($0 ~ loop) next
  if ($0 ~ success_line) { if (file == 1) success = line; next }
  if ($0 ~ block) { begin_block(); next }
  if ($0 ~ courant) { if (file == 1) cfl = line; next }
  if ($0 ~ crashed) { if (crash[file] == "") crash[file] = line; next }
  if (file == 1) {
    if (line ~ /^taskid: 0 hostname: /) host = $4
    if (line ~ /(VARIATIONAL|WRFVAR|WRF-Var)/) is_variational = 1
    if (line ~ /^REAL_EM V[^ \t]+ PREPROCESSOR/) { program = "real"; next }
    if (line ~ /^WRF V[^ \t]+ MODEL/) { program = "wrf"; next }
    if (line ~ /^[A-Z_]+ V[^ \t]+ PREPROCESSOR/) program = "other"
    if (line ~ /^Ntasks in X/) { split(line, sizes, /[^0-9]+/); ranks = sizes[2] * sizes[3] }
    if (line ~ /^RESTART run: opening/) is_restart = 1
    if (match($0, /error opening [^ \t]+ for writing/)) {
      if (not_opened == "") not_opened = substr($0, RSTART + 14, RLENGTH - 26)
      next
    }
  }
  if ($0 !~ understood) keep(line)
}

END {
  if (is_variational) program = "other"
  if (said[1]) tell("failed", with_cfl(fatal_line(1)))
  else if (success != "") {
    if (not_opened != "") tell("failed", success ", but: error opening " not_opened " for writing; there is no output")
    else if (wants_history && program != "real" && success ~ / WRF/ && !has_written && !is_restart)
      tell("failed", success ", but it wrote no wrfout")
    else tell("ok", success)
  } else if (crash[1] != "") tell("failed", with_cfl(crash[1]))
  else {
    for (i = 2; i < ARGC; i++) if (said[i]) { tell("failed", fatal_line(i) " (" base_name(ARGV[i]) ")"); exit }
    for (i = 2; i < ARGC; i++)
      if (crash[i] != "") { tell("failed", with_cfl(crash[i] " (" base_name(ARGV[i]) ")")); exit }
    at = stopped_at == "" ? "" : ", stopped after " clock(stopped_at)
    signalled = ended_by_signal(ENVIRON["launcher_words"])
    if (cfl != "" || signalled != "") tell("unclear", with_cfl((signalled == "" ? "no SUCCESS line" : signalled) at))
    else tell("unclear", "no SUCCESS line" at "; the last line is: " (last == "" ? "(the file is empty)" : last))
  }
}

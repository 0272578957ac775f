# The CPUs of one task of a step, for bind.sh: reads a pod's CPUs, `CPU SOCKET CORE` lines in order, and prints those of task `nth`
# of `tasks`, one a line; nothing where there are not enough for all tasks.
#   kind        cores: a task has whole cores; threads: single hardware threads; sockets: all of the socket that its cores are in
#   threads     how many hardware threads of each core are used; 0: all
#   width       CPUs of a task
#   per_core    tasks that share a core;   per_socket: tasks of a socket at most, 0: any
#   order       cyclic: the tasks take turns among the sockets; block: they fill one after the other
# A task whose CPUs no single socket has left gets what is left of several.

{
  if (!($2 in known)) known[$2] = sockets++
  s = known[$2]
  if (!((s, $3) in core)) core[s, $3] = cores[s]++
  c = core[s, $3]
  everything[s] = everything[s] " " $1
  if (threads == 0 || size[s, c] < threads) {
    if (kind == "threads") add(s, " " $1, 1)
    else { whole[s, c] = whole[s, c] " " $1; size[s, c]++ }
    if (kind == "threads") size[s, c]++
  }
}

END {
  if (kind != "threads")
    for (s = 0; s < sockets; s++)
      for (c = 0; c < cores[s]; c++)
        for (again = 0; again < per_core; again++) add(s, whole[s, c], size[s, c])
  turn = 0
  for (task = 0; task <= nth || task < tasks; task++) {
    mine = of_one_socket()
    if (mine == "") mine = of_several()
    if (mine == "") exit
    if (task == nth) answer = mine
  }
  n = split(answer, one, " ")
  for (i = 1; i <= n; i++) print one[i]
}

function add(s, cpus, weight) {
  unit[s, units[s] + 0] = cpus
  weights[s, units[s] + 0] = weight
  units[s]++
}

function of_one_socket(    tries, s, need, at, text) {
  for (tries = 0; tries < sockets; tries++) {
    s = (turn + tries) % sockets
    if (per_socket > 0 && held[s] >= per_socket) continue
    need = width
    text = ""
    for (at = used[s] + 0; need > 0 && at < units[s]; at++) {
      text = text unit[s, at]
      need -= weights[s, at]
    }
    if (need > 0) continue
    used[s] = at
    held[s]++
    turn = order == "block" ? s : s + 1
    return kind == "sockets" ? everything[s] : text
  }
  return ""
}

function of_several(    s, need, text) {
  if (per_socket > 0) return ""
  need = width
  for (s = 0; s < sockets; s++)
    for (; need > 0 && used[s] < units[s]; used[s]++) {
      text = text unit[s, used[s] + 0]
      need -= weights[s, used[s] + 0]
    }
  return need > 0 ? "" : text
}

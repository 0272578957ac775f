"""The usage texts of the PBS commands: as OpenPBS 23.06.06 prints them, qsub's without what it does not do here."""

from __future__ import annotations

QSUB = """\
usage: qsub [-a date_time] [-A account_string] [-C directive_prefix]
\t[-e path] [-f] [-h] [-j oe|eo|n] [-J X-Y[:Z][%N]] [-k keep]
\t[-l resource_list] [-m mail_options] [-M user_list] [-N jobname]
\t[-o path] [-p priority] [-P project] [-q queue] [-r y|n]
\t[-R o|e|oe] [-S path] [-W otherattributes=value...]
\t[-v variable_list] [-V] [-z] [--dry-run] [--explain] [--strict]
	[script | -- command [arg1 ...]]
       qsub --version"""

QSTAT = """\
usage: \n\
qstat [-f] [-J] [-p] [-t] [-x] [-E] [-F format | -w] [-D delim] [ job_identifier... | destination... ]
qstat [-a|-i|-r|-H|-T] [-J] [-t] [-u user] [-n] [-s] [-G|-M] [-1] [-w]
\t[ job_identifier... | destination... ]
qstat -Q [-f] [-F format] [-D delim] [ destination... ]
qstat -q [-G|-M] [ destination... ]
qstat -B [-f] [-F format] [-D delim] [ server_name... ]
qstat --version"""

QDEL = """\
usage:
\tqdel [-W force|suppress_email=X] [-x] job_identifier...
\tqdel --version"""

QHOLD = """\
usage: qhold [-h hold_list] job_identifier...
       qhold --version"""

QRLS = """\
usage: qrls [-h hold_list] job_identifier...
       qrls --version"""

QALTER = """\
usage: qalter [-a date_time] [-A account_string] [-c interval] [-e path]
\t[-h hold_list] [-j y|n] [-k keep] [-l resource_list]
\t[-m mail_options] [-M user_list] [-N jobname] [-o path] [-p priority]
\t[-R o|e|oe] [-r y|n] [-S path] [-u user_list] [-W dependency_list]
\t[-P project_name] job_identifier...
       qalter --version"""

QMOVE = """\
usage: qmove destination job_identifier...
       qmove --version"""

QRERUN = """\
usage: qrerun [-W force] job_identifier...
       qrerun --version"""

QSIG = """\
usage: qsig [-s signal] job_identifier...
       qsig --version"""

QSELECT = """\
usage: qselect [-a [op]date_time] [-A account_string] [-c [op]interval]
\t[-h hold_list] [-H] [-J] [-l resource_list] [-N name] [-p [op]priority]
\t[-q destination] [-r y|n] [-s states] [-t subopt[op]date_time] [-T] [-P project_name]
\t[-x] [-u user_name]
       qselect --version"""

PBSNODES = """\
usage:\tpbsnodes [-{o|r}][-C comment][-s server] host host ...
\tpbsnodes -l [-s server]
\tpbsnodes [-s server] -v vnode vnode ...
\tpbsnodes -a[v][S[j][L]][-F format][-D delim][-s server]
\tpbsnodes -[H][S[j][L]][-F format][-D delim] host host ...
\tpbsnodes --version
"""

QMSG = """\
usage: qmsg [-O] [-E] msg_string job_identifier...
       qmsg --version"""

QORDER = """\
usage: qorder job_identifier job_identifier
       qorder --version"""

QRUN = """\
Usage: qrun [-a] [-H vnode_specification ] job_identifier_list
       qrun [-a] [-H - ] job_identifier_list
       qrun --version"""

QMGR = """\
Usage: qmgr [-a] [-c command] [-e] [-n] [-z] [server...]
       qmgr --version"""

PBS_RSTAT = """\
Usage:
\tpbs_rstat [-fFBS] [reservation-id]
\tpbs_rstat --version"""

PBS_RSUB = """\
usage: pbs_rsub [-I seconds] [-m mail_points] [-M mail_list]
                [-N reservation_name] [-u user_list] [-g group_list]
                [-U auth_user_list] [-G auth_group_list] [-H auth_host_list]
                [-R start_time] [-E end_time] [-D duration] [-q destination]
                [-r rrule_expression] [-W otherattributes=value...]
                -l resource_list | --hosts host1 [... hostn]
       pbs_rsub --version"""

PBS_RALTER = """\
usage: pbs_ralter [-I seconds] [-m mail_points] [-M mail_list]
                [-N reservation_name] [-R start_time] [-E end_time]
                [-U (+/-)username[,(+/-)username]...]
                [-G [(+/-)group[,(+/-)group]...]]
                [-D duration]
                [-W force]
                resv_id
       pbs_ralter --version"""

PBS_RDEL = """\
usage:\tpbs_rdel [-q dest] resv_identifier...
      \tpbs_rdel --version"""

VERSION = "pbs_version = {}"

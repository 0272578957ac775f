"""sstat: what the steps of running jobs use."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from hpcbatch.dialects.slurm.errors import VERSION_TEXT, SlurmAnswer, SlurmUsageError
from hpcbatch.dialects.slurm.field_table import Heading, Style, headings, list_of_fields, style_of, table
from hpcbatch.dialects.slurm.getopt import Option, Parser, Takes
from hpcbatch.dialects.slurm.help import SSTAT_HELP, SSTAT_USAGE
from hpcbatch.dialects.slurm.ids import parse_id, split_ids
from hpcbatch.dialects.slurm.sacct_fields import FIELDS
from hpcbatch.dialects.slurm.sacct_line import Line, View
from hpcbatch.dialects.slurm.sacct_usage import Pick, average_of, most_of, read_of, written_by
from hpcbatch.model.named import NamedJob
from hpcbatch.typed import NamedTuple

PARSER = Parser(
    "sstat",
    [
        Option(name=name, short=short, takes=takes, aliases=aliases)
        for name, short, takes, aliases in (
            ("allsteps", "a", Takes.NOTHING, ()),
            ("format", "o", Takes.VALUE, ("fields",)),
            ("help", "h", Takes.NOTHING, ()),
            ("helpformat", "e", Takes.NOTHING, ()),
            ("jobs", "j", Takes.VALUE, ()),
            ("noconvert", "", Takes.NOTHING, ()),
            ("noheader", "n", Takes.NOTHING, ()),
            ("parsable", "p", Takes.NOTHING, ()),
            ("parsable2", "P", Takes.NOTHING, ()),
            ("pidformat", "i", Takes.NOTHING, ()),
            ("usage", "", Takes.NOTHING, ()),
            ("verbose", "v", Takes.NOTHING, ()),
            ("version", "V", Takes.NOTHING, ()),
        )
    ],
)
_OF_SACCT = (
    "AveCPU AveCPUFreq AveDiskRead AveDiskWrite AvePages AveRSS AveVMSize ConsumedEnergy ConsumedEnergyRaw JobID "
    "MaxDiskRead MaxDiskReadNode MaxDiskReadTask MaxDiskWrite MaxDiskWriteNode MaxDiskWriteTask MaxPages MaxPagesNode "
    "MaxPagesTask MaxRSS MaxRSSNode MaxRSSTask MaxVMSize MaxVMSizeNode MaxVMSizeTask MinCPU MinCPUNode MinCPUTask "
    "Nodelist NTasks Pids ReqCPUFreq ReqCPUFreqMin ReqCPUFreqMax ReqCPUFreqGov TRESUsageInAve TRESUsageInMax "
    "TRESUsageInMaxNode TRESUsageInMaxTask TRESUsageInMin TRESUsageInMinNode TRESUsageInMinTask TRESUsageInTot "
    "TRESUsageOutAve TRESUsageOutMax TRESUsageOutMaxNode TRESUsageOutMaxTask TRESUsageOutMin TRESUsageOutMinNode "
    "TRESUsageOutMinTask TRESUsageOutTot"
)
"""In the order of `sstat -e`."""
_OWN = {"AveDiskRead": 12, "AveDiskWrite": 12, "Nodelist": 20, "Pids": 20}
_FIELDS: Mapping[str, int] = {name: _OWN[name] if name in _OWN else FIELDS[name].width for name in _OF_SACCT.split()}
_DEFAULT = (
    "jobid,maxvmsize,maxvmsizenode,maxvmsizetask,avevmsize,maxrss,maxrssnode,maxrsstask,averss,maxpages,maxpagesnode,"
    "maxpagestask,avepages,mincpu,mincpunode,mincputask,avecpu,ntasks,avecpufreq,reqcpufreqmin,reqcpufreqmax,"
    "reqcpufreqgov,consumedenergy,maxdiskread,maxdiskreadnode,maxdiskreadtask,avediskread,maxdiskwrite,"
    "maxdiskwritenode,maxdiskwritetask,avediskwrite,tresusageinave,tresusageinmax,tresusageinmaxnode,"
    "tresusageinmaxtask,tresusageinmin,tresusageinminnode,tresusageinmintask,tresusageintot,tresusageoutave,"
    "tresusageoutmax,tresusageoutmaxnode,tresusageoutmaxtask,tresusageoutmin,tresusageoutminnode,"
    "tresusageoutmintask,tresusageouttot"
)
_PIDS = "jobid,nodelist,pids"
_BYTES: Mapping[str, tuple[Callable[[Line, Pick], int | None], Pick]] = {
    "AveDiskRead": (average_of, read_of),
    "AveDiskWrite": (average_of, written_by),
    "MaxDiskRead": (most_of, read_of),
    "MaxDiskWrite": (most_of, written_by),
}
"""What sacct shows in megabytes."""


class WantedSteps(NamedTuple):
    """`step` "": of a job the first, or with -a all."""

    text: str
    job: NamedJob
    step: str


class SstatOptions(NamedTuple):
    wanted: tuple[WantedSteps, ...]
    columns: tuple[Heading, ...]
    style: Style
    all_steps: bool
    convert: bool


def read_options(argv: Sequence[str]) -> SstatOptions:
    """Raises SlurmUsageError with the real texts, SlurmAnswer for help and version."""
    try:
        given, operands = PARSER.parse(argv, permute=True)
    except SlurmUsageError as error:
        raise SlurmUsageError(error.text.splitlines()[0], error.code) from None  # sstat does not hint at --help
    asked = {option.option.name: option.value or "" for option in given}
    for name, text in (
        ("help", SSTAT_HELP),
        ("usage", SSTAT_USAGE),
        ("version", VERSION_TEXT),
        ("helpformat", list_of_fields(_FIELDS, 19, 4)),
    ):
        if name in asked:
            raise SlurmAnswer(text)
    fields = asked.get("format") or (_PIDS if "pidformat" in asked else _DEFAULT)
    named = [option.value or "" for option in given if option.option.name == "jobs"]
    texts = [text for value in (*named, *(argv[index] for index in operands)) for text in split_ids(value)]
    wanted = tuple(_wanted(text) for text in texts)
    columns = tuple(headings(fields, _FIELDS, "sstat"))
    if not wanted:
        raise SlurmUsageError("sstat: error: You didn't give me any jobs to stat.")
    return SstatOptions(
        wanted=wanted,
        columns=columns,
        style=style_of(asked),
        all_steps="allsteps" in asked,
        convert="noconvert" not in asked,
    )


def _wanted(text: str) -> WantedSteps:
    job, _, step = text.partition(".")
    try:
        return WantedSteps(text, parse_id(job), step)
    except ValueError:
        raise SlurmUsageError(f"sstat: fatal: Bad job/step specified: {text}") from None


def chosen(lines: Sequence[Line], wanted: WantedSteps, *, all_steps: bool) -> list[Line]:
    """Of sacct's lines of a job: those of its running steps that are meant. Where none is named, it is the first of
    srun; the script, if there is none.
    """
    running = [line for line in lines if line.is_step and line.state == "R"]
    if wanted.step or all_steps:
        return [line for line in running if wanted.step in {"", line.step}]
    of_srun = [line for line in running if line.step.isdigit()]
    first = next((line.step for line in (*of_srun, *running)), "")
    return [line for line in running if line.step == first]


def complaint(wanted: WantedSteps, *, has_job: bool) -> str:
    """Where there is nothing to show."""
    if not has_job:
        return f"sstat: error: couldn't get steps for job {wanted.text}"
    if wanted.step:
        return f"sstat: error: StepId={wanted.text} not found running."
    return f"sstat: error: No steps running for job {wanted.text}"


def format_usage(lines: Sequence[Line], options: SstatOptions, view: View) -> Iterator[str]:
    rows = ([_value(line, column.name, view) for column in options.columns] for line in lines)
    return table(options.columns, rows, options.style)


def _value(line: Line, name: str, view: View) -> str:
    if name == "Nodelist":
        return line.node_list
    if name in _BYTES:
        amount, pick = _BYTES[name]
        found = amount(line, pick)
        return "" if found is None else view.size(found)
    return "" if name == "Pids" else FIELDS[name].value(line, view)

"""qmsg: its command line, and the files that a running job's messages go to."""

from __future__ import annotations

from collections.abc import Sequence

from hpcbatch.dialects.pbs import options, usage
from hpcbatch.dialects.pbs.errors import PbsUsageError
from hpcbatch.dialects.pbs.output import output_files
from hpcbatch.model.placed import of_run
from hpcbatch.model.record import JobRecord
from hpcbatch.typed import NamedTuple

_MOST_LETTERS = 255
"""Source: MAX_MSG_STRING_LEN of qmsg.c; the real one cuts a longer text, too."""


class Message(NamedTuple):
    text: str
    streams: str
    """Letters of e, standard error, and o, standard output."""
    job_ids: tuple[str, ...]


class Written(NamedTuple):
    """Where a running job writes one of its streams. If `path` is a directory, the file in it is `in_directory`; beside
    it lies `meanwhile`, if there is one, until the job ends.
    """

    path: str
    in_directory: str
    meanwhile: str


def parse_qmsg(argv: Sequence[str]) -> Message:
    """Read `[-E] [-O] text id…`."""
    parsed = options.getopt(options.words(argv), options.QMSG)
    words = tuple(word.text for word in parsed.operands)
    if parsed.errors or len(words) < 2:
        raise PbsUsageError("\n".join(parsed.errors), usage.QMSG)
    letters = {option.name.lower() for option in parsed.options}
    return Message(words[0][:_MOST_LETTERS], "".join(sorted(letters)) or "e", words[1:])


def written(record: JobRecord, stream: str) -> Written:
    """The file of one stream of a PBS job; with `-j` that of both."""
    files = output_files(of_run(record))
    if stream == "e" and files.stderr is not None:
        return Written(files.stderr, files.stderr_in_dir or "", files.stderr_meanwhile)
    return Written(files.stdout, files.stdout_in_dir or "", files.stdout_meanwhile)

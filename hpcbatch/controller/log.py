"""The controller's log: one line for each record on standard error, whatever it contains."""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime


class OneLine(logging.Formatter):
    """`time=2026-11-21T14:54:05.123Z level=info thread=batchjobs-0 msg="…"`, a traceback in `trace="…"`."""

    def format(self, record: logging.LogRecord) -> str:
        when = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").removesuffix("+00:00")
        text = json.dumps(record.getMessage(), ensure_ascii=False)
        line = f"time={when}Z level={record.levelname.lower()} thread={record.threadName} msg={text}"
        if record.exc_info:
            line += f" trace={json.dumps(self.formatException(record.exc_info), ensure_ascii=False)}"
        return line


def log_to_stderr() -> None:
    handler = logging.StreamHandler()
    handler.setFormatter(OneLine())
    logging.basicConfig(handlers=[handler], level=logging.INFO, force=True)

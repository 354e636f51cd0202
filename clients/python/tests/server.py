"""The local server with the example workflows."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import tempfile
from types import TracebackType
from typing import Self


class Server:
    """A server that the program in WEFT_BINARY serves on a free port."""

    def __enter__(self) -> Self:
        self._data = tempfile.mkdtemp(prefix="weft-")
        self._program = subprocess.Popen(
            [os.environ["WEFT_BINARY"], "dev", "--addr", "127.0.0.1:0", "--data", os.path.join(self._data, "data")],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self._program.stdout is not None
        for line in self._program.stdout:
            if found := re.search(r"http://[0-9.:]+", line):
                self.url = found[0]
                return self
        raise RuntimeError(f"the server has ended: {self._program.communicate()[1]}")

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._program.send_signal(signal.SIGINT)
        complaints = self._program.communicate()[1]
        shutil.rmtree(self._data)
        if self._program.returncode != 0:
            raise RuntimeError(f"the server has ended with {self._program.returncode}: {complaints}")

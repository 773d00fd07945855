"""The program of a worker: ``python -m equipoise.experiments.worker`` reads settings, and makes their runs."""

import os
import socket
import sys
import time
from pathlib import Path

from equipoise.errors import EquipoiseError, RunBusy
from equipoise.experiments.sweep import Setting, run_one
from equipoise.experiments.workers import Job, serve

SECONDS_BUSY = 60.0  # to wait for a run that the worker of a killed sweep is still saving


def work(job: Job) -> str:
    """Make one run; return what is wrong, or nothing."""
    setting, until = Setting.from_json(job["setting"]), time.monotonic() + SECONDS_BUSY
    while True:
        try:
            run_one(setting, job["seed"], Path(job["folder"]))
            return ""
        except RunBusy as error:
            if time.monotonic() > until:
                return str(error)
            time.sleep(0.5)
        except EquipoiseError as error:
            return str(error)


def work_in_shared_folder(job: Job) -> str:
    """Make one run on a machine of a cluster, if the folder of the sweep is the same there; return what is wrong."""
    if not Path(job["mark"]).exists():
        here = socket.gethostname()
        return f"{job['folder']} is not shared with {here}; runs are kept in a folder that all machines see"
    return work(job)


if __name__ == "__main__":
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what anybody prints is no answer
    serve(work, sys.stdin, answers)

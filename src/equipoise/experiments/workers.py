"""Processes that work off jobs: what is handed to them is text, so that nothing of the caller's has to be imported.

A worker reads jobs from its standard input, one JSON object per line, and answers each with a line. It saves its run
and ends when its input ends, which is also how it learns that the caller was killed. A worker that is killed itself is
replaced, and its job is begun again once: runs go on from their checkpoints.
"""

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any

Job = dict[str, Any]

TRIES = 2  # of a job whose worker was killed
SECONDS_TO_SAVE = 120.0  # after Ctrl-C


class Workers:
    """Some processes; ``run`` hands them jobs until all are done."""

    def __init__(self, count: int, log: Path) -> None:
        self._count = count
        self._log = log  # what workers have to say, besides their answers
        self._processes: set[subprocess.Popen[str]] = set()
        self._stopped = threading.Event()

    def run(self, jobs: Sequence[Job], on_wait: Callable[[int], None], pause: float) -> dict[int, str]:
        """Work off jobs, and call ``on_wait`` with the number of those done now and then; return what went wrong."""
        waiting: queue.SimpleQueue[int] = queue.SimpleQueue()
        for number in range(len(jobs)):
            waiting.put(number)
        failed: dict[int, str] = {}
        done: queue.SimpleQueue[int] = queue.SimpleQueue()

        def serve() -> None:
            with self._worker() as ask:
                while not self._stopped.is_set():
                    try:
                        number = waiting.get_nowait()
                    except queue.Empty:
                        return
                    error = ask(jobs[number])
                    if error:
                        failed[number] = error
                    done.put(number)

        threads = [threading.Thread(target=serve, daemon=True) for _ in range(min(self._count, len(jobs)))]
        for thread in threads:
            thread.start()
        try:
            finished = 0
            while finished < len(jobs) and any(thread.is_alive() for thread in threads):
                with contextlib.suppress(queue.Empty):
                    done.get(timeout=pause)
                    finished += 1
                on_wait(finished)
        except BaseException:
            self._stop(threads)
            raise
        for thread in threads:
            thread.join()
        return failed

    def _stop(self, threads: Sequence[threading.Thread]) -> None:
        """Let each worker save its run and end."""
        self._stopped.set()
        for process in list(self._processes):
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(signal.SIGINT)
        for thread in threads:
            thread.join(SECONDS_TO_SAVE)

    @contextlib.contextmanager
    def _worker(self) -> Iterator[Callable[[Job], str]]:
        """Yield what asks one worker after the other: it returns what is wrong, or nothing."""
        process: subprocess.Popen[str] | None = None

        def ask(job: Job) -> str:
            nonlocal process
            for _ in range(TRIES):
                if process is None:
                    process = self._start()
                assert process.stdin is not None and process.stdout is not None
                try:
                    process.stdin.write(json.dumps(job) + "\n")
                    process.stdin.flush()
                    answer = process.stdout.readline()
                except OSError:
                    answer = ""
                if answer:
                    return str(json.loads(answer)["error"])
                self._end(process)
                code, process = process.returncode, None
                if self._stopped.is_set():
                    break
            return f"its process ended with code {code}; see {self._log}"

        try:
            yield ask
        finally:
            if process is not None:
                self._end(process)

    def _start(self) -> subprocess.Popen[str]:
        package = str(Path(__file__).parents[2])
        path = os.pathsep.join([package, *filter(None, [os.environ.get("PYTHONPATH")])])
        with open(self._log, "a") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "equipoise.experiments.worker"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                env={**os.environ, "PYTHONPATH": path},
                process_group=0,  # Ctrl-C is passed on, once
            )
        self._processes.add(process)
        return process

    def _end(self, process: subprocess.Popen[str]) -> None:
        with contextlib.suppress(OSError):
            if process.stdin is not None:
                process.stdin.close()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()
        self._processes.discard(process)


def on_cluster(
    cluster: str,
    jobs: Sequence[Job],
    on_wait: Callable[[int], None],
    pause: float,
    folder: Path,
    *,
    one_a_node: bool,
) -> dict[int, str]:
    """Work off jobs on a cluster, a task each, as :class:`Workers` do; its machines share the folder."""
    from equipoise.distribute.cluster import open_cluster
    from equipoise.experiments.worker import work_in_shared_folder

    with open_cluster(cluster) as workers, tempfile.NamedTemporaryFile(dir=folder, prefix=".seen-") as mark:
        given = [{**job, "folder": str(folder.resolve()), "mark": str(Path(mark.name).resolve())} for job in jobs]
        cores = [job["setting"]["threads"] for job in jobs]
        return workers.run_all(
            work_in_shared_folder,
            given,
            on_wait,
            pause,
            cores=cores,
            one_a_node=one_a_node,
            seconds_to_save=SECONDS_TO_SAVE,
        )


def serve(work: Callable[[Job], str], jobs: IO[str], answers: IO[str]) -> None:
    """Be a worker: answer each job with what is wrong, or with an empty text; end with the input, even in a job."""
    waiting: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
    busy = threading.Event()

    def listen() -> None:
        for line in jobs:
            waiting.put(json.loads(line))
        waiting.put(None)
        if busy.is_set():
            signal.raise_signal(signal.SIGINT)  # saves the run that is under way

    threading.Thread(target=listen, daemon=True).start()
    with contextlib.suppress(KeyboardInterrupt):
        while (job := waiting.get()) is not None:
            busy.set()
            answer = json.dumps({"error": work(job)})
            busy.clear()
            answers.write(f"{answer}\n")
            answers.flush()

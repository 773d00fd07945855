"""Records for TensorBoard: tags in groups, so that what belongs together is on one page."""

from pathlib import Path

from equipoise.errors import MissingPackage
from equipoise.runs.drive import OnRecord, Record

# The first group whose ending (or whole name) a number has.
_GROUPS = (
    ("evaluation", ("exploitability", "exploitability_pot", "nash_conv", "nash_conv_mbb", "value", "ev_first")),
    ("matches", ("versus_mean", "versus_error", "versus_mbb")),
    ("gradient norm", ("_gradient_norm",)),
    ("loss", ("_loss",)),
    ("drift", ("_drift", "observed_share")),
    ("memory", ("_samples", "_memory", "transitions", "responses", "snapshots", "_parameters")),
    ("seconds", ("seconds",)),
    ("speed", ("nodes_touched", "nodes_per_second", "iterations_per_second", "episodes")),
)


def group_of(name: str) -> str:
    """Return the group of a number, by its name; a network's number at its end does not count."""
    plain = name.rstrip("0123456789").removesuffix("_") if name[-1:].isdigit() else name
    return next((group for group, endings in _GROUPS if plain.endswith(endings)), "settings")


def speeds(before: Record, record: Record) -> Record:
    """Return nodes and iterations per second between two records; nodes by the time that traversals took."""
    clock = "traversal_seconds" if "traversal_seconds" in record else "solving_seconds"
    found: Record = {}
    for name, count, seconds in (
        ("nodes_per_second", "nodes_touched", clock),
        ("iterations_per_second", "iteration", "solving_seconds"),
    ):
        passed = record.get(seconds, 0.0) - before.get(seconds, 0.0)
        if count in record and passed > 0.0:
            found[name] = (record[count] - before.get(count, 0)) / passed
    return found


def tensorboard_writer(folder: Path) -> OnRecord:
    """Return what writes records to a folder for TensorBoard."""
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        raise MissingPackage(
            "--tensorboard needs TensorBoard; install it by: pip install 'equipoise[neural]'"
        ) from None
    writer = SummaryWriter(str(folder))
    before: Record = {}

    def write(record: Record) -> None:
        nonlocal before
        for name, number in {**record, **speeds(before, record)}.items():
            if name != "iteration":
                writer.add_scalar(f"{group_of(name)}/{name}", number, record["iteration"])
        writer.flush()
        before = record

    return write

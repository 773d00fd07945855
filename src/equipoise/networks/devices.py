"""Where networks are: a device by its name, or the best one that this machine has."""

import subprocess
import sys
from functools import cache
from pathlib import Path

import torch

from equipoise.errors import InvalidParameter, NotSupported

_ACCELERATORS = ("cuda", "mps", "xpu")  # in the order in which they are tried
_MOST_LETTERS = 100  # of PyTorch's reason: it may go on for a page


def find_device(name: str) -> torch.device:
    """Return a device that works, or say in a line why it does not; ``auto`` is an accelerator if there is one."""
    if name == "auto":
        works = (device for device in map(torch.device, _ACCELERATORS) if _is_built_in(device) and not _fault(device))
        return next(works, torch.device("cpu"))
    try:
        device = torch.device(name)
    except RuntimeError:
        raise InvalidParameter(f"'{name}' is not a device; give auto, cpu, cuda, cuda:1 or mps") from None
    if fault := _fault(device):
        raise NotSupported(f"device {name} cannot be used here ({fault}); give auto or cpu")
    return device


BF16_FLAGS = frozenset({"avx512_bf16", "amx_bf16", "bf16"})  # of CPUs
_TRY = "import torch; a = torch.ones(64, 64, dtype=torch.bfloat16); assert float((a @ a)[0, 0]) == 64.0"
_PATIENCE = 120.0  # seconds


def require_bf16(device: torch.device) -> None:
    """Refuse mixed precision where the hardware lacks it.

    A CPU is asked for its flags first, and then tried by another process: where flags and libraries do not fit
    together, a product ends in an illegal instruction, and the process with it.
    """
    why = ""
    if device.type == "cpu":
        why = _why_no_bf16()
    elif device.type == "cuda" and not torch.cuda.is_bf16_supported():
        why = f"{torch.cuda.get_device_name(device)} has no bfloat16"
    if why:
        raise NotSupported(f"amp=bf16 cannot be used here ({why}); leave it out")


@cache
def _why_no_bf16() -> str:
    if not BF16_FLAGS & cpu_flags():
        return "the CPU has no instructions for it"
    tried = subprocess.run([sys.executable, "-c", _TRY], capture_output=True, timeout=_PATIENCE, check=False)
    return "" if tried.returncode == 0 else "the CPU says that it has instructions for it, and they fail"


def cpu_flags() -> frozenset[str]:
    """Return what the CPU says that it can do; nothing where nobody knows."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return frozenset()
    return frozenset(
        next((line.partition(":")[2] for line in lines if line.startswith(("flags", "Features"))), "").split()
    )


def _is_built_in(device: torch.device) -> bool:
    module = getattr(torch, device.type, None) if device.type != "mps" else torch.backends.mps
    return module is not None and bool(module.is_available())


def _fault(device: torch.device) -> str:
    """Return why nothing can be computed on a device; nothing if all is well."""
    try:
        (torch.ones(1, device=device) + 1).item()
    except Exception as error:  # drivers fail in many ways
        text = str(error).strip() or type(error).__name__
        first = text.splitlines()[0].split(". ")[0]
        return first if len(first) <= _MOST_LETTERS else first[: _MOST_LETTERS - 3] + "..."
    return ""

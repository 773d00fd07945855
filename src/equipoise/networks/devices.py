"""Where networks are: a device by its name, or the best one that this machine has."""

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

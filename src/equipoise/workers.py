"""Workers elsewhere, as those see them who hand out work: other processes, here or on other machines.

The room `distribute` has them. Nothing depends on how many there are, where they are, or which of them does what.
"""

from collections.abc import Callable, Generator, Sequence
from typing import Any, Protocol, TypeVar

Spec = TypeVar("Spec")
Shared = TypeVar("Shared")
Result = TypeVar("Result")


def nothing() -> None:
    """Do nothing."""


class Keepers(Protocol):
    """Objects that are kept elsewhere, each by a worker of its own; one that is lost is made again as it was."""

    count: int

    def one(self, number: int, method: str, *given: Any) -> Any:
        """Return what a method of one of the objects returns; it changes nothing."""

    def each(self, method: str, *given: Any) -> list[Any]:
        """Return what a method of each object returns, in their order; it changes nothing."""

    def change(self, method: str, *given: Any) -> list[Any]:
        """Return what a method of each object returns, in their order; it may change the object.

        What was asked is kept, to be asked again if an object has to be made again.
        """

    def saved(self, given: Callable[[int], Any]) -> None:
        """Forget what was asked: from here on, ``restore(given(number))`` brings a new object to where it is now."""

    def restore(self, given: Callable[[int], Any]) -> None:
        """Bring all objects to a state that was saved, by ``restore(given(number))``."""


class Workers(Protocol):
    """A number of workers."""

    @property
    def workers(self) -> int:
        """Return how many there are now."""

    def map(
        self,
        function: Callable[[Shared, int, Spec], Result],
        specs: Sequence[Spec],
        shared: Shared,
        *,
        patience: float | None = None,
        on_wait: Callable[[], None] = nothing,
    ) -> Generator[Result, None, None]:
        """Return ``function(shared, 0, spec)`` for all specs, in their order, as ``threads.map_parts`` does.

        Work begins at once, not when the first result is asked for. Arrays that come back may be written to. A part
        that takes longer than ``patience`` (seconds) is begun again. ``on_wait`` is called about once a second while a
        result is waited for, and may raise.
        """

    def once(self, thing: object) -> None:
        """Take note that a thing never changes: wherever it is part of what is shared, a process is sent it once."""

    def keep(self, make: Callable[[Spec, int], Any], specs: Sequence[Spec]) -> Keepers:
        """Make an object from each spec, by ``make(spec, neighbours)``, and keep it where it was made.

        ``neighbours`` is how many of the objects are on that machine, which share its memory.
        """

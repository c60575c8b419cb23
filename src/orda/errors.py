"""Everything that orda raises or warns about.

    OrdaError                       catch this to catch all of them
    ├── InputError (ValueError)     an argument cannot be used
    │   ├── FeatureError            features: shape, dtype, NaN, infinities, sizes
    │   ├── SettingError            a setting outside its range, or two that contradict each other
    │   └── UnknownName             a name that is not on the list; the nearest right one is offered
    ├── ConfigError (ValueError)    a configuration file or record: unknown key, wrong type
    ├── DataError                   a data set on disk
    │   ├── DamagedImages           images that cannot be decoded, all of them listed
    │   ├── CacheMismatch           a cached array that does not match its manifest
    │   └── DownloadError           a file that could not be fetched or is not what it should be
    └── RunError                    a run's folder
        └── Diverged                the loss became NaN or infinite

    OrdaWarning (UserWarning)
    ├── CompileWarning              compiled code that cannot be kept for the next process
    ├── KernelWarning               a kernel that does not see the data
    └── StratumWarning              a minimum stratum size that had to be lowered

Every message says the rule, the value received, and the remedy.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class OrdaError(Exception):
    """The root. ``OrdaError(rule, got, remedy)`` reads "rule; got …. Remedy"; a list in ``got`` ends its own lines."""

    def __init__(self, rule: str, got: object = None, remedy: str | None = None) -> None:
        super().__init__(rule, got, remedy)  # all three in args, so that the error survives pickling
        self.rule, self.got, self.remedy = rule, got, remedy

    def __str__(self) -> str:
        text = self.rule if self.got is None else f"{self.rule}; got {self.got}"
        if self.remedy is None:
            return text
        stop = "" if text.endswith("\n") else " " if text.endswith("?") else ". "
        return text + stop + self.remedy


class InputError(OrdaError, ValueError):
    """An argument that cannot be used."""


class FeatureError(InputError):
    """Features of the wrong shape, dtype or size, or with values that are not finite."""


class SettingError(InputError):
    """A setting outside its range, or settings that contradict each other."""


class UnknownName(InputError):
    """A name that is not on the list of names."""

    def __init__(self, kind: str, got: object, known: Iterable[str]) -> None:
        names = sorted(known)
        near = difflib.get_close_matches(str(got), names, n=1, cutoff=0.4)
        hint = f"Did you mean {near[0]!r}? " if near else ""
        super().__init__(f"unknown {kind}", repr(got), f"{hint}Known: {', '.join(names)}")
        self._call = (kind, got, tuple(names))

    def __reduce__(self) -> tuple[type[UnknownName], tuple[str, object, tuple[str, ...]]]:
        return type(self), self._call


class ConfigError(OrdaError, ValueError):
    """A configuration with an unknown key or a value of the wrong type."""


class DataError(OrdaError):
    """A data set on disk that cannot be used as it is."""


class DamagedImages(DataError):
    """Images that cannot be decoded; the message lists all of them."""


class CacheMismatch(DataError):
    """A cached array that does not match the manifest beside it."""


class DownloadError(DataError):
    """A file that could not be fetched, or that is not what it should be."""


class RunError(OrdaError):
    """A run's folder that cannot be used as asked."""


class Diverged(RunError):
    """The training loss became NaN or infinite."""


class OrdaWarning(UserWarning):
    """The root of orda's warnings."""


class CompileWarning(OrdaWarning):
    """Compiled code that cannot be kept for the next process."""


class KernelWarning(OrdaWarning):
    """A kernel whose values are all alike on the data, so that it does not see them."""


class StratumWarning(OrdaWarning):
    """A minimum stratum size that the data cannot satisfy and that was lowered."""

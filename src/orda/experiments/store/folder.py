"""A folder of runs.

DIR/<digest>/                 one run (orda.training.paths), and besides:
    claim-1, claim-2, …       who did it or does it, one for every attempt (claims.py)
    failed-2.json             how attempt 2 ended, with its traceback
    log.txt                   what its process printed, where it had one of its own
    result.json.damaged-1     a record that could not be used, set aside
DIR/sweeps/<name>/            one sweep: protocol.yaml, and jobs.jsonl: which run is which cell of the table

done       result.json is there
running    the last claim's process is at work
failed     the last attempt has a failed-G.json
queued     none of these: not begun, or stopped on the way, and then it goes on from its checkpoint
"""

from __future__ import annotations

import json
import os
import re
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from orda.errors import RunError, UnknownName
from orda.experiments.jobs import Place
from orda.experiments.protocol import Protocol
from orda.experiments.store.claims import BEAT, PATIENCE, Claim, Watch, claim_path, highest
from orda.experiments.store.processes import Process
from orda.training import RunPaths, RunResult
from orda.training.paths import Lines, faults_named

DIGEST = re.compile(r"[0-9a-f]{12}")
RESULT = RunPaths(Path()).result.name
READERS = 16  # threads that read results, each so many after another
TOGETHER = 256


class State(StrEnum):
    QUEUED = "queued"
    RUNNING = "running"
    FAILED = "failed"
    DONE = "done"
    DAMAGED = "damaged"


@dataclass(frozen=True, slots=True)
class Score:
    """What tables need of a result. Accuracies are shares; ``None`` where a run diverged before any evaluation."""

    diverged: bool
    validation: float | None  # of the source, at the selected evaluation
    accuracy: float | None  # of the target, there
    final_accuracy: float | None  # of the target, after the last step
    seconds: float  # of the run, without those of diagnostics that were asked for (machine.assess)

    @classmethod
    def of(cls, result: RunResult) -> Score:
        score = cls(
            result.status == "diverged",
            result.source_validation,
            result.target_accuracy,
            result.final_target_accuracy,
            float(result.seconds["total"]) - float(result.seconds.get("assess", 0.0)),
        )
        for share in (score.validation, score.accuracy, score.final_accuracy):
            if share is not None and not 0 <= share <= 1:
                raise ValueError(f"an accuracy of {share}")
        return score


@dataclass(frozen=True, slots=True)
class Entry:
    """What the disk says of one run."""

    state: State
    score: Score | None = None  # of a run that is done
    fault: str | None = None  # why it failed, or what is damaged


@dataclass(frozen=True, slots=True)
class Record:
    """A run of a sweep and what the disk says of it."""

    place: Place
    entry: Entry


class Store:
    """The runs in the folder ``root``; any number of processes may have it open."""

    def __init__(
        self, root: str | Path, *, beat: float = BEAT, patience: float = PATIENCE, watch: Watch | None = None
    ) -> None:
        self.root = Path(root)
        self.beat = beat
        self.watch = Watch(patience) if watch is None else watch

    def __reduce__(self) -> tuple[Callable[[Path, float, float], Store], tuple[Path, float, float]]:
        """Another process opens the folder for itself."""
        return _open, (self.root, self.beat, self.watch.patience)

    def folder(self, digest: str) -> Path:
        """Where the run with this digest is."""
        return self.root / digest

    def digests(self) -> list[str]:
        """All runs that have a folder."""
        with faults_named(f"the folder of runs must be readable, {self.root}", "Check the path (--runs)"):
            return sorted(entry.name for entry in os.scandir(self.root) if DIGEST.fullmatch(entry.name))

    # ---- one run ------------------------------------------------------------------------------------------------

    def state(self, digest: str) -> State:
        """The run's state by the names of its files; a result is not looked into."""
        folder = self.folder(digest)
        try:
            names = os.listdir(folder)
        except FileNotFoundError:
            return State.QUEUED
        except OSError as error:
            raise RunError(
                f"the folder of runs must be readable, {self.root}", error, "Check the path (--runs)"
            ) from error
        if RESULT in names:
            return State.DONE
        last = highest(names)
        if last and self.watch.active(claim_path(folder, last)):
            return State.RUNNING
        return State.FAILED if f"failed-{last}.json" in names else State.QUEUED

    def read(self, digest: str) -> Entry:
        """The run's state, its score if it is done, its fault if it has one; "damaged" if its result cannot be used."""
        return self._entry(digest, self._result(digest))

    def _result(self, digest: str) -> bytes | OSError:
        """What is in the run's result.json, or why that cannot be read."""
        try:
            with open(f"{self.root}/{digest}/{RESULT}", "rb", buffering=0) as file:
                return file.read()
        except OSError as error:
            return error

    def _entry(self, digest: str, content: bytes | OSError) -> Entry:
        if isinstance(content, FileNotFoundError | NotADirectoryError):
            state = self.state(digest)
            return Entry(state, fault=self.failure(digest).get("error") if state is State.FAILED else None)
        try:
            if isinstance(content, OSError):
                raise content
            result = RunResult.from_json(content)
            if result.digest != digest:
                raise ValueError(f"it is of the run {result.digest}")
            return Entry(State.DONE, Score.of(result))
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            fault = f"{type(error).__name__}: {error}"
            return Entry(State.DAMAGED, fault=f"{RunPaths(self.folder(digest)).result}: {fault}")

    def failure(self, digest: str) -> dict[str, Any]:
        """How the last attempt failed: "error", "traceback", "where"; empty if it did not."""
        try:
            found = json.loads(self.failure_path(digest).read_text(encoding="utf-8"))
            return {**found, "traceback": "\n".join(found["traceback"])}
        except (OSError, ValueError, KeyError, TypeError):
            return {}

    def failure_path(self, digest: str) -> Path:
        """Where it stands how the last attempt failed, if it did."""
        folder = self.folder(digest)
        return folder / f"failed-{highest(os.listdir(folder))}.json"

    def claim(self, digest: str, on_loss: Callable[[], None] | None = None) -> Claim | None:
        """The right to do the run, until it is released; ``None`` where another process has it."""
        folder = self.folder(digest)
        with faults_named(f"the run's folder must be writable, {folder}", "Choose another folder (--runs)"):
            folder.mkdir(parents=True, exist_ok=True)
            return Claim.take(folder, self.watch, self.beat, on_loss)

    def fail(self, digest: str, error: str, traceback: str = "") -> None:
        """Record that the last attempt at the run failed."""
        record = {"error": error, "where": str(Process.this()), "traceback": traceback.splitlines()}
        with faults_named(f"the run's folder must be writable, {self.root}", "Choose another folder (--runs)"):
            self.folder(digest).mkdir(parents=True, exist_ok=True)
        write_whole(self.failure_path(digest), json.dumps(record, indent=2, ensure_ascii=False) + "\n")

    def set_aside(self, digest: str) -> Path:
        """Move a damaged result out of the way, so that the run ends again; where it went."""
        path = RunPaths(self.folder(digest)).result
        for number in range(1, 1000):
            aside = path.with_name(f"{path.name}.damaged-{number}")
            if not aside.exists():
                with faults_named(f"a damaged result is set aside, {path}", "Move it away"):
                    os.replace(path, aside)
                return aside
        raise RunError("a damaged result is set aside", f"999 of them in {path.parent}", "Look into this disk")

    # ---- sweeps -------------------------------------------------------------------------------------------------

    def save_sweep(self, protocol: Protocol, places: Sequence[Place]) -> None:
        """Keep what the sweep is and which run is which cell, in place of what an earlier one of this name was."""
        folder = self.root / "sweeps" / protocol.name
        with faults_named(f"the folder of runs must be writable, {self.root}", "Choose another folder (--runs)"):
            folder.mkdir(parents=True, exist_ok=True)
        lines = (json.dumps({name: getattr(place, name) for name in PLACE}, ensure_ascii=False) for place in places)
        write_whole(folder / "jobs.jsonl", "".join(line + "\n" for line in lines))
        write_whole(folder / "protocol.yaml", protocol.to_yaml())

    def sweeps(self) -> list[str]:
        """The names of the sweeps that were started here."""
        folder = self.root / "sweeps"
        return sorted(path.parent.name for path in folder.glob("*/protocol.yaml"))

    def load_sweep(self, name: str) -> tuple[Protocol, list[Place]]:
        """A sweep that was started here."""
        if name not in self.sweeps():
            raise UnknownName(f"sweep in {self.root}", name, self.sweeps())
        folder = self.root / "sweeps" / name
        places = [Place(**line) for line in Lines(folder / "jobs.jsonl").read()]
        return Protocol.load(folder / "protocol.yaml"), places

    def records(self, places: Iterable[Place]) -> list[Record]:
        """What the disk says of every run, read once where two cells share one."""
        listed = list(places)
        digests = list(dict.fromkeys(place.digest for place in listed))
        entries = {digest: self._entry(digest, content) for digest, content in self._results(digests)}
        return [Record(place, entries[place.digest]) for place in listed]

    def _results(self, digests: Sequence[str]) -> Iterator[tuple[str, bytes | OSError]]:
        """All results, by threads that read ahead: the disk, where it must be asked, is what takes the time."""
        some = [digests[i : i + TOGETHER] for i in range(0, len(digests), TOGETHER)]
        if len(some) <= 1:
            yield from ((digest, self._result(digest)) for digest in digests)
            return
        with ThreadPoolExecutor(READERS, "orda-read") as pool:
            for together, contents in zip(some, pool.map(lambda part: [*map(self._result, part)], some), strict=True):
                yield from zip(together, contents, strict=True)


PLACE = ("group", "label", "task", "repeat", "draw", "digest", "drawn")


def _open(root: Path, beat: float, patience: float) -> Store:
    return Store(root, beat=beat, patience=patience)


def write_whole(path: Path, text: str) -> None:
    """Written beside and moved into place, by a name that no process of any machine uses at the same time."""
    part = path.with_name(f".{path.name}.{secrets.token_hex(6)}.part")
    with faults_named(f"cannot write {path}", "Make room there and start again: what was there before is untouched"):
        try:
            part.write_text(text, encoding="utf-8")
            os.replace(part, path)
        finally:
            part.unlink(missing_ok=True)


def counts(records: Iterable[Record]) -> Mapping[State, int]:
    """How many runs are in which state, in the order of the states."""
    found = [record.entry.state for record in records]
    return {state: found.count(state) for state in State if state in found}

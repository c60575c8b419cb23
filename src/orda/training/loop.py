"""The training loop: extract features -> plan M minibatches -> train on them -> again."""

from __future__ import annotations

from pathlib import Path

from orda.devices import deterministic, pick_device
from orda.errors import Diverged, RunError
from orda.training.assemble import assemble
from orda.training.checkpoint import Checkpoint, load_checkpoint
from orda.training.clock import Clock
from orda.training.config import TrainConfig
from orda.training.display import make_display
from orda.training.interrupts import Interrupted, Interrupts, Stop
from orda.training.lock import locked
from orda.training.losses import NotFinite
from orda.training.outcome import outcome_of
from orda.training.paths import RunPaths, write_whole
from orda.training.result import RunResult
from orda.training.run import Run


def train(
    config: TrainConfig, run_dir: str | Path | None = None, *, progress: bool | None = None, force: bool = False
) -> RunResult:
    """Do the run of ``config`` in the folder ``run_dir`` (by default ``runs/<digest>``), or go on with it.

    * A finished run returns its result without work; a diverged one raises ``Diverged`` again. ``force`` starts afresh.
    * A run that was killed goes on from its last checkpoint, and ends with the same weights bit for bit as if it had
      not been (on the same machine). Ctrl-C writes a checkpoint first and raises ``Interrupted``, a KeyboardInterrupt.
    * A folder of another configuration is refused, with the keys in which they differ.

    ``progress``: a bar on a terminal, lines elsewhere; ``None`` the bar alone; ``False`` neither.
    """
    config = config.resolved()
    paths = RunPaths(Path("runs", config.digest()) if run_dir is None else Path(run_dir))
    done = None if force else outcome(paths, config)
    if done is not None:
        return done
    paths.make()
    with locked(paths.lock):
        checkpoint = None
        if force:
            paths.clear()
        else:
            done = outcome(paths, config)  # another process may have finished it meanwhile
            if done is not None:
                return done
            checkpoint = load_checkpoint(paths.checkpoint)
            if checkpoint is not None and checkpoint["result"] is not None:  # only the last move was missing
                write_whole(paths.result, checkpoint["result"].encode())
                return RunResult.load(paths.result)
        return _train(config, paths, checkpoint, progress)


def _train(config: TrainConfig, paths: RunPaths, checkpoint: Checkpoint | None, progress: bool | None) -> RunResult:
    device = pick_device(config.machine.device)
    clock = Clock(device, checkpoint["training"]["seconds"] if checkpoint else None)
    with deterministic(config.machine.deterministic, device), make_display(progress) as display:
        parts = assemble(config, device, clock, progress)
        write_whole(paths.config, config.to_yaml().encode())  # from here on the folder is this run's
        with Interrupts() as interrupts:
            run = Run(parts, paths, clock, display, interrupts)
            if checkpoint is not None:
                run.load(checkpoint)
            run.begin()
            try:
                take_steps_or_stop(run)
                return run.finish()
            except NotFinite as fault:
                raise diverged(run, fault) from None
            finally:
                run.curves.close()


def take_steps_or_stop(run: Run) -> None:
    """The steps; if a signal stops them, a checkpoint."""
    try:
        take_steps(run)
    except Stop:
        run.checkpoint()
        raise Interrupted(run.paths.root, run.step, run.interrupts.signum or 0) from None


def take_steps(run: Run) -> None:
    """The method itself."""
    loader = run.parts.loader
    run.settle()
    while run.step < run.steps:
        if loader.exhausted:
            run.plan()  # extract features, stratify, draw, arrange: the next M minibatches
        for batch in run.clock.each("load", loader.planned()):
            run.update(batch)
            run.settle()  # every so often: a line of metrics, an evaluation, a checkpoint
            if run.step == run.steps:
                break


def outcome(paths: RunPaths, config: TrainConfig) -> RunResult | None:
    """The result of the folder's run, if it is this one and has ended; a ``RunError`` if it is another."""
    if paths.config.exists():
        differences = TrainConfig.load(paths.config).differences(config)
        if differences:
            raise RunError(
                f"{paths.root} holds the run of another configuration",
                "; ".join(differences),
                "Choose another folder with run_dir (--out), or start afresh here with force=True (--force)",
            )
    if not paths.result.exists():
        return None
    result = RunResult.load(paths.result)
    if result.status == "diverged":
        raise Diverged(result.message or "this run diverged", None, "Change the settings; or force=True (--force)")
    return result


def diverged(run: Run, fault: NotFinite) -> Diverged:
    """The error of a run that diverged, whose outcome is now on disk."""
    settings = run.parts.config.algorithm.settings
    tried = ", ".join(f"{name} ({settings[name]:g})" for name in ("lr", "penalty", "lr_d") if name in settings)
    kept = "there is no checkpoint" if run.saved is None else f"{run.paths.checkpoint} has the state after {run.saved}"
    message = f"training diverged in step {fault.step}; got {fault.what}. The last good state: {kept}. Lower {tried}"
    result = outcome_of(run, "diverged", message)
    write_whole(run.paths.result, result.to_json().encode())
    return Diverged(message)

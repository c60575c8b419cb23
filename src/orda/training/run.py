"""A run under way: its parts, how far it is, and what happens between two steps."""

from __future__ import annotations

import warnings
from dataclasses import asdict
from typing import Any

import torch
from torch import Tensor

from orda.discrepancies import MMD
from orda.errors import FeatureError, OrdaWarning, RunError
from orda.planning import Assessment, assess
from orda.records import Batch, Features, Plan
from orda.training.assemble import Parts
from orda.training.checkpoint import Checkpoint, networks_state, save_checkpoint
from orda.training.clock import Clock
from orda.training.curves import Curves
from orda.training.display import Display
from orda.training.evaluate import Evaluation, evaluate
from orda.training.interrupts import Interrupts
from orda.training.losses import WINDOW, LossWindow, check_weights
from orda.training.outcome import outcome_of
from orda.training.paths import Lines, RunPaths, write_whole
from orda.training.plans import plan_record, plan_seconds
from orda.training.result import RunResult


class Run:
    """The state of a run: ``parts.algorithm`` and ``parts.loader``, and the fields below."""

    def __init__(self, parts: Parts, paths: RunPaths, clock: Clock, display: Display, interrupts: Interrupts) -> None:
        self.parts, self.paths, self.clock = parts, paths, clock
        self.display, self.interrupts = display, interrupts
        self.metrics, self.plans = Lines(paths.metrics), Lines(paths.plans)
        self.step = 0  # steps done
        self.window = LossWindow()  # their losses since the last line of metrics
        self.last: Evaluation | None = None
        self.best: Evaluation | None = None
        self.selected: dict[str, Tensor] | None = None  # the networks at the best evaluation
        self.saved: int | None = None  # the step of the checkpoint on disk
        self.curves = Curves(None)

    @property
    def steps(self) -> int:
        """How many there are to be."""
        assert self.parts.config.steps is not None
        return self.parts.config.steps

    def begin(self) -> None:
        """Start, or go on, from the state as it is: the logs end there."""
        self.forget_later_lines()
        if self.parts.config.machine.tensorboard:
            self.curves = Curves(self.paths.tensorboard, self.metrics.read())
        self.display.begin(self.step, self.steps)

    # ---- what the loop is made of -----------------------------------------------------------------------------------

    def plan(self) -> None:
        """Extract features, plan the next M minibatches, and fix what the algorithm takes from all the data."""
        loader, algorithm = self.parts.loader, self.parts.algorithm
        self.window.look()  # a diverged run should say so, and not stumble over its features
        self.display.doing("planning")
        began = dict(self.clock.seconds)
        with self.interrupts.at_once():
            features = self._extract()
            with self.clock.part("plan"):
                plan = loader.make_plan(features)
                last = self.step + plan.horizon >= self.steps
                ahead = None if last else loader.plan_ahead(features, plan)
            assessment = self._assess(plan, features)
        loader.adopt(plan, ahead)
        algorithm.resolve(loader.sizes, features)
        if not loader.overlap:  # else it was not now that the plan was made
            for part, seconds in plan_seconds(plan).items():
                self.clock.move(seconds, "plan", part)
        spent = {part: total - began.get(part, 0.0) for part, total in self.clock.seconds.items()}
        self.plans.append(plan_record(plan, loader.plans_made - 1, self.step, spent, assessment))
        self.display.doing("training")

    def update(self, batch: Batch) -> None:
        """One step of training."""
        with self.clock.part("step", wait=False):
            losses = self.parts.algorithm.update(batch, self.step)
        self.step += 1
        self.window.add(self.step, losses)
        self.display.advance(self.step)

    def settle(self) -> None:
        """What is due after so many steps and not yet done; doing it twice changes nothing."""
        config = self.parts.config
        assert config.eval_every is not None
        last = self.step == self.steps
        if len(self.window) and (self.step % WINDOW == 0 or last):
            self._write_losses()
        due = self.step > 0 and (self.step % config.eval_every == 0 or last)
        if due and (self.last is None or self.last.step < self.step):
            self._evaluate()
        every = config.eval_every if config.machine.checkpoint_every is None else config.machine.checkpoint_every
        if every and self.step > 0 and self.step % every == 0 and self.saved != self.step and not last:
            self.checkpoint()
        self.interrupts.check()

    def finish(self) -> RunResult:
        """The outcome, on disk."""
        self._check_finite()
        result = outcome_of(self, "finished")
        keep = self.parts.config.machine.keep
        if keep != "nothing":
            content = self.content() if keep == "all" else {**self.content(), "training": None}
            with self.clock.part("checkpoint"):
                self._sync()
                save_checkpoint(self.paths.checkpoint, {**content, "result": result.to_json()})
        write_whole(self.paths.result, result.to_json().encode())
        if keep == "nothing":
            self.paths.checkpoint.unlink(missing_ok=True)
        return result

    # ---- state in, state out ----------------------------------------------------------------------------------------

    def checkpoint(self) -> None:
        """Write all that it takes to go on from here, unless something is not finite."""
        self._check_finite()
        with self.clock.part("checkpoint"):
            self._sync()
            content = self.content()
            save_checkpoint(self.paths.checkpoint, content)
        self.saved = self.step

    def content(self) -> Checkpoint:
        """The state of the run as tensors and plain values."""
        parts = self.parts
        selected = None
        if self.selected is not None and self.best is not None:
            selected = {"step": self.best.step, "networks": self.selected}
        return {
            "config": parts.config.to_dict(),
            "digest": parts.config.digest(),
            "data": parts.fingerprint,
            "classes": list(parts.data.classes),
            "image_size": parts.data.image_size,
            "step": self.step,
            "selected": selected,
            "training": {
                "algorithm": parts.algorithm.state_dict(),
                "loader": parts.loader.state_dict(),
                "window": self.window.state(),
                "last": None if self.last is None else asdict(self.last),
                "best": None if self.best is None else asdict(self.best),
                "seconds": self.clock.snapshot(),
                "threads": torch.get_num_threads(),
            },
            "result": None,
        }

    def load(self, checkpoint: Checkpoint) -> None:
        """Be where the run was when the checkpoint was written; ``begin`` drops the later lines of its logs."""
        state = checkpoint["training"]
        self._check_same(checkpoint)
        self.step = self.saved = int(checkpoint["step"])
        self.parts.algorithm.load_state_dict(state["algorithm"])
        self.parts.loader.load_state_dict(state["loader"])
        self.window.load(state["window"])
        self.last = None if state["last"] is None else Evaluation(**state["last"])
        self.best = None if state["best"] is None else Evaluation(**state["best"])
        if checkpoint["selected"] is not None:
            device = self.parts.device
            self.selected = {name: value.to(device) for name, value in checkpoint["selected"]["networks"].items()}

    def _check_same(self, checkpoint: Checkpoint) -> None:
        """The data must be those of the checkpoint; another number of threads may round differently."""
        if checkpoint["data"] != self.parts.fingerprint:
            raise RunError(
                "a run goes on with the data that it began with",
                f"other files or labels in {self.parts.config.data.root or self.parts.config.data.name}",
                "Put them back, or start afresh with force=True (--force)",
            )
        before, now = checkpoint["training"]["threads"], torch.get_num_threads()
        if before != now and self.parts.device.type == "cpu":
            warnings.warn(
                f"the run began with {before} threads and goes on with {now}: it may end with other last digits. "
                f"Set OMP_NUM_THREADS={before} for the same bits",
                OrdaWarning,
                stacklevel=2,
            )

    def forget_later_lines(self) -> None:
        """Cut off the lines of the logs that this run is going to write again."""
        told = self.step if self.window.first is None else self.window.first - 1
        evaluated = 0 if self.last is None else self.last.step
        self.metrics.keep(lambda line: bool(line["step"] <= (evaluated if line["kind"] == "eval" else told)))
        self.plans.keep(lambda line: bool(line["number"] < self.parts.loader.plans_made))

    # ---- parts of these ---------------------------------------------------------------------------------------------

    def _extract(self) -> Features | None:
        """Features, where the sampler, the algorithm or the diagnostics want them."""
        parts = self.parts
        wanted = parts.loader.sampler.needs_features or parts.algorithm.wants_features
        if not wanted and not parts.config.machine.assess:
            return None
        with self.clock.part("extract" if wanted else "assess"):
            try:
                return parts.loader.extract()
            except FeatureError:
                self._check_finite()  # of NaN weights it is not the features that should be reported
                raise

    def _assess(self, plan: Plan, features: Features | None) -> Assessment | None:
        """D0, bias and variance, where they are asked for; the ordered sampler has them in its diagnostics anyway."""
        if features is None or not self.parts.config.machine.assess:
            return None
        discrepancy = self.parts.algorithm.discrepancy or MMD(gammas="median")
        with self.clock.part("assess"):
            return assess(plan, features.source, features.target, discrepancy)

    def _evaluate(self) -> None:
        parts = self.parts
        self.window.look()
        self.display.doing("evaluating")
        with self.interrupts.at_once(), self.clock.part("evaluate"):
            self.last = evaluate(
                parts.algorithm,
                parts.domains.validation,
                parts.domains.evaluate,
                parts.images,
                step=self.step,
                batch=parts.loader.feature_batch,
            )
        selected = self.last.beats(self.best, parts.config.select or "first")
        if selected:
            self.best, self.selected = self.last, networks_state(parts.algorithm)
        self._tell(
            {
                "kind": "eval",
                "step": self.step,
                "source_validation": self.last.source_validation,
                "source_validations": self.last.source_validations,
                "target_accuracy": self.last.target_accuracy,
                "selected": selected,
                "seconds": self.clock.total,
            }
        )
        self.display.evaluation(self.last, selected)
        self.display.doing("training")

    def _write_losses(self) -> None:
        means = self.window.close()
        self._tell({"kind": "train", "step": self.step, "losses": means})
        self.display.losses(means)

    def _tell(self, line: dict[str, Any]) -> None:
        self.metrics.append(line)
        self.curves.add(line)

    def _check_finite(self) -> None:
        self.window.look()
        check_weights(self.parts.algorithm, self.step)

    def _sync(self) -> None:
        """What a checkpoint presupposes is on the disk before it."""
        self.metrics.sync()
        self.plans.sync()

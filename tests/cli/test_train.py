"""``orda train`` as a stranger would call it, with good input and bad."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from cli.conftest import DOMAINS
from cli.test_root import run
from references.datasets import ANIMALS
from scipy import stats

from orda.algorithms import Algorithm
from orda.cli.train_texts import folder_name
from orda.training import RunPaths, RunResult, TrainConfig

Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def copied(shades: Path, flags: list[str], tmp_path: Path) -> tuple[Path, list[str]]:
    """A copy of the images that may be changed, and the flags for it."""
    root = shutil.copytree(shades, tmp_path / "copied", ignore=shutil.ignore_patterns(".*"))
    return root, [str(root) if flag == str(shades) else flag for flag in flags]


def said(code: int, err: str) -> str:
    """The one line of an error."""
    assert code == 1
    assert err.startswith("orda: ")
    return err.removeprefix("orda: ").strip()


def test_a_run_is_a_folder_and_a_table(flags: list[str], capsys: Capture) -> None:
    code, out, err = run(capsys, "train", *flags, "--out", "my 'run' [b]")
    assert code == 0
    assert f"{DOMAINS[0]}->{DOMAINS[1]}: coral, ordered minibatches" in out
    assert "the run: my 'run' [b]\n" in out
    assert [line.split()[1] for line in err.splitlines() if line.startswith("step")] == ["6/12", "12/12"]
    paths = RunPaths(Path("my 'run' [b]"))
    result = RunResult.load(paths.result)
    last = 12, result.final_source_validation, result.final_target_accuracy
    best = result.selected_step, result.source_validation, result.target_accuracy
    for row, (step, *shares) in (("last", last), ("selected", best)):
        cells = next(line for line in out.splitlines() if row in line).split("│")[2:5]
        assert [cell.strip() for cell in cells] == [str(step), *(f"{share or 0:.1%}" for share in shares)]
    assert all(path.exists() for path in (paths.config, paths.metrics, paths.plans, paths.checkpoint))


def test_a_run_that_has_ended_is_printed_again(flags: list[str], capsys: Capture) -> None:
    first = run(capsys, "train", *flags, "--out", "r", "-q")
    before = {path: path.stat().st_mtime_ns for path in Path("r").rglob("*")}
    again = run(capsys, "train", *flags, "--out", "r")
    resumed = run(capsys, "train", "--resume", "r")
    assert first[1] == again[1] == resumed[1]
    assert "this run has ended before: nothing was done" in again[2]
    assert {path: path.stat().st_mtime_ns for path in Path("r").rglob("*")} == before
    forced = run(capsys, "train", *flags, "--out", "r", "--force", "--json", "-q")
    assert forced[0] == 0
    assert {path: path.stat().st_mtime_ns for path in Path("r").rglob("*")} != before
    assert json.loads(forced[1]) == json.loads(Path("r/result.json").read_text())


def test_its_own_folder_has_a_name_of_its_own(flags: list[str], capsys: Capture) -> None:
    for seed in ("0", "1"):
        assert run(capsys, "train", *flags, "-q", "--seed", seed, "--algorithm", "erm")[0] == 0
    names = sorted(path.name for path in Path("runs").iterdir())
    assert [name.rpartition("-")[0] for name in names] == [
        f"folder-ink_x_-paper_y_b_-erm-uniform-seed{seed}" for seed in (0, 1)
    ]
    config = TrainConfig.load(Path("runs", names[0], "config.yaml"))
    assert folder_name(config) == names[0]


def test_another_configuration_is_refused_until_forced(flags: list[str], capsys: Capture) -> None:
    run(capsys, "train", *flags, "--out", "r", "-q")
    weights = RunResult.load(RunPaths(Path("r")).result).weights_sha256
    other = [*flags, "--out", "r", "-q", "--seed", "1", "--algorithm", "erm"]
    code, out, err = run(capsys, "train", *other)
    assert out == ""
    message = said(code, err)
    assert message.startswith("r holds the run of another configuration; got ")
    for part in ("seed: 0, not 1", "algorithm.name: 'coral', not 'erm'", "(--out)", "(--force)"):
        assert part in message
    assert RunResult.load(RunPaths(Path("r")).result).weights_sha256 == weights
    assert run(capsys, "train", *other, "--force")[0] == 0
    assert RunResult.load(RunPaths(Path("r")).result).run["seed"] == 1


def test_ctrl_c_says_how_to_go_on_and_that_goes_on(
    flags: list[str], capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(capsys, "train", *flags, "--out", "undisturbed", "-q")
    update = Algorithm.update

    def interrupted(self: Algorithm, batch: Any, step: int) -> Any:
        if step == 7:
            os.kill(os.getpid(), signal.SIGINT)
        return update(self, batch, step)

    with monkeypatch.context() as patched:
        patched.setattr(Algorithm, "update", interrupted)
        code, out, err = run(capsys, "train", *flags, "--out", "my 'run' [b]", "-q")
    assert (code, out) == (130, "")
    told = "stopped after step 8; go on with: orda "
    assert err.startswith(told)
    code, out, err = run(capsys, *shlex.split(err.removeprefix(told)), "--json")
    assert code == 0
    assert "going on after step 8 of 12" in err
    assert json.loads(out)["weights_sha256"] == RunResult.load(Path("undisturbed/result.json")).weights_sha256


def test_a_configuration_goes_out_and_in(flags: list[str], capsys: Capture) -> None:
    code, printed, _ = run(capsys, "train", *flags, "--seed", "3", "--print-config")
    assert code == 0
    assert not Path("runs").exists()
    Path("c.yaml").write_text(printed)
    over = ["--config", "c.yaml", "--steps", "7", "--set", "holdout=0.25", "--set", "sampler.settings.optimiser=greedy"]
    code, out, _ = run(capsys, "train", *over, "--print-config")
    assert code == 0
    before, after = (TrainConfig.load(path) for path in (Path("c.yaml"), _written("d.yaml", out)))
    assert before.seed == after.seed == 3
    assert sorted(line.partition(":")[0] for line in before.differences(after)) == [
        "data.holdout",
        "sampler.settings.optimiser",
        "steps",
    ]


def _written(name: str, text: str) -> Path:
    Path(name).write_text(text)
    return Path(name)


def test_divergence_is_one_line_with_step_losses_and_remedy(flags: list[str], capsys: Capture) -> None:
    asked = [*flags, "--out", "r", "-q", "--lr", "1e18", "--set", "checkpoint_every=1"]
    first, second = (said(*run(capsys, "train", *asked)[::2]) for _ in range(2))
    assert second.startswith(first)
    assert "training diverged in step 2; got loss nan, task nan, discrepancy nan" in first
    assert "r/checkpoint.pt has the state after 1" in first
    assert "Lower lr (1e+18), penalty (1)" in first
    assert torch.load("r/checkpoint.pt", weights_only=True)["step"] == 1
    assert RunResult.load(Path("r/result.json")).status == "diverged"


def test_a_damaged_image_is_named_or_left_out(copied: tuple[Path, list[str]], capsys: Capture) -> None:
    root, flags = copied
    bad = root / DOMAINS[0] / ANIMALS[0] / "ink0.png"
    bad.write_bytes(b"no image")
    code, _, err = run(capsys, "train", *flags, "-q", "--out", "r")
    assert code == 1
    assert "1 of 84 are not" in err
    assert str(bad) in err
    assert "--skip-damaged" in err
    code, out, _ = run(capsys, "train", *flags, "-q", "--out", "r", "--skip-damaged")
    assert code == 0
    assert "1 damaged images were left out" in out


def test_classes_that_differ_are_named(copied: tuple[Path, list[str]], capsys: Capture) -> None:
    root, flags = copied
    shutil.rmtree(root / DOMAINS[1] / "bee")
    code, _, err = run(capsys, "train", *flags, "-q")
    assert code == 1
    assert f"{DOMAINS[1]} has no images of bee" in err


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (["--algorithm", "corl"], "algorithm.name 'corl' is unknown, did you mean 'coral'?"),
        (["--sampler", "orderd", "--steps", "0"], "did you mean 'ordered'?; steps must be at least 1, not 0"),
        (["--optimiser", "gredy"], "unknown optimiser; got 'gredy'. Did you mean 'greedy'?"),
        (["--model", "resnet8"], "model.name 'resnet8' is unknown, did you mean 'resnet18'?"),
        (["--source", "ston"], "unknown domain of folder; got 'ston'. Did you mean 'stone'?"),
        (["--target", DOMAINS[0]], "the target must not be a source"),
        (["--preset", "domainbed-2023"], "model.preset must be one of 'domainbed-2020', 'domainbed-2024'"),
        (["--penalty", "-1"], "penalty must be at least 0, not -1.0"),
        (["--weights", "no.pth"], "weights must be 'imagenet', 'random' or a file, not 'no.pth'"),
        (["--device", "cuda:99"], "the device must be one that torch can use; got 'cuda:99'"),
        (["-k", "4000"], "batch_size must not exceed the number of examples, got 4000"),
        (["--set", "scal=sum"], "unknown key 'scal', did you mean 'scale'?"),
        (["--set", "lr"], "'lr' is not KEY=VALUE"),
        (["--set", "name=x"], "'name' may be data.name or model.name"),
        (["--set", "lr=fast"], "lr must be a number, not 'fast'"),
        (["--config", "no.yaml"], "the configuration must be a readable file"),
        (["--resume", "no"], "got no, where there is no run"),
        (["--out", "file/run"], "the run's folder must be writable, file/run"),
        (["--root", "no"], "the data must be in a folder; got no. Check --root"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_errors_are_one_line(change: list[str], message: str, flags: list[str], capsys: Capture) -> None:
    Path("file").touch()
    code, out, err = run(capsys, "train", *flags, "-q", *change)
    assert message in said(code, err)
    assert (out, err.count("\n")) == ("", 1)
    assert not Path("runs").exists() or not list(Path("runs").rglob("config.yaml"))  # nothing was begun


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--data", "digts"], "data.name 'digts' is unknown, did you mean 'digits'?"),
        (["--data", "folder", "--source", "a", "--target", "b"], "folder needs the folder that holds it"),
        (["--data", "folder", "--root", "."], "data.sources (--source) must name what folder is to learn from"),
        (["--source", "rendered"], "sources need a target; got rendered alone"),
        (["--target", "rendered"], "data.target (--target) needs data.sources (--source)"),
        (["--source", "renderd", "--target", "handwritten"], "got 'renderd'. Did you mean 'rendered'?"),
        (["--size", "16"], "the digits are 8 × 8; got size=16"),
        (["--data", "spawrious", "--root", ".", "--source", "o2o_esy"], "Did you mean 'o2o_easy'?"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_wrong_data_are_one_line(args: list[str], message: str, capsys: Capture) -> None:
    code, out, err = run(capsys, "train", *args, "-q")
    assert message in said(code, err)
    assert (out, err.count("\n")) == ("", 1)


def test_two_at_once_in_one_folder(flags: list[str], capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second is told who the first is."""
    update, seen = Algorithm.update, []

    def second(self: Algorithm, batch: Any, step: int) -> Any:
        if step == 3:
            seen.append(run(capsys, "train", *flags, "--out", "r", "-q"))
        return update(self, batch, step)

    monkeypatch.setattr(Algorithm, "update", second)
    assert run(capsys, "train", *flags, "--out", "r", "-q")[0] == 0
    (code, _, err), *others = seen
    assert f"got r, where process {os.getpid()} of" in said(code, err)
    assert not others


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_on_the_digits_ordered_coral_beats_no_adaptation(capsys: Capture) -> None:
    """The defaults of ``orda train``, five seeds: the paired difference's 95 % interval lies above zero.

    A run takes less than a minute of one core, and so of two.
    """
    accuracy: dict[str, list[float]] = {"coral": [], "erm": []}
    for seed in range(5):
        for algorithm, found in accuracy.items():
            began = time.process_time()
            code, out, _ = run(capsys, "train", "--algorithm", algorithm, "--seed", str(seed), "-q", "--json")
            assert code == 0
            assert time.process_time() - began < 60
            result = json.loads(out)
            assert result["run"]["sampler"] == {"coral": "ordered", "erm": "uniform"}[algorithm]
            found.append(100 * result["target_accuracy"])
    difference = np.subtract(accuracy["coral"], accuracy["erm"])
    half = stats.t.ppf(0.975, 4) * difference.std(ddof=1) / 5**0.5
    low, high = difference.mean() - half, difference.mean() + half
    with capsys.disabled():
        print(f"\ntarget accuracy: {accuracy}")
        print(f"CORAL + ordered − ERM: {difference.mean():+.1f} points, 95 % interval {low:+.1f} to {high:+.1f}")
    assert low > 0

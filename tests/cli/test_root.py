from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import orda
from orda.cli import main
from orda.cli.root import SUBCOMMANDS


def run(capsys: pytest.CaptureFixture[str], *args: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stopped:
        main(list(args))
    out, err = capsys.readouterr()
    return int(stopped.value.code or 0), out, err


def test_version_imports_no_subcommand() -> None:
    script = [
        "import sys",
        "from orda.cli import main",
        "try: main(['--version'])",
        "except SystemExit: print('orda.cli.compare' in sys.modules)",
    ]
    code = "\n".join(script)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[:2] == [f"orda {orda.__version__}", "False"]


def test_help_lists_every_subcommand(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "--help")
    assert code == 0
    for name in SUBCOMMANDS:
        assert name in out


@pytest.mark.parametrize("name", sorted(SUBCOMMANDS))
def test_every_subcommand_has_help(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, name, "--help")
    assert code == 0
    assert len(out.split()) > 20


def test_a_wrong_command_offers_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, "compre")
    assert code == 2
    assert "'compare'" in err


def test_compare_prints_all_samplers(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    for name in ("s", "t"):
        np.save(tmp_path / f"{name}.npy", rng.normal(size=(90, 3)))
    sides = ["--source", str(tmp_path / "s.npy"), "--target", str(tmp_path / "t.npy")]
    code, out, _ = run(capsys, "compare", *sides, "-k", "4", "-M", "5", "--discrepancy", "mmd-linear")
    assert code == 0
    for name in ("uniform", "k-DPP", "anticlustering", "stratified", "greedy", "assignment", "D0 ="):
        assert name in out


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--discrepancy", "corral"], "orda: unknown discrepancy; got 'corral'. Did you mean 'coral'?"),
        (["--source", "no.npy"], "orda: --source and --target go together"),
        (["--source", "no.npy", "--target", "no.npy"], "orda: features must be an .npy file; got no.npy"),
        (["-k", "0"], "orda: batch_size must be at least 1, got 0"),
    ],
)
def test_errors_are_one_line(args: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, "compare", *args)
    assert code == 1
    assert err.startswith(message)
    assert err.count("\n") == 1

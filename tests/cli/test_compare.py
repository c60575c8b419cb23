"""``orda compare``, as a stranger would call it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from cli.test_root import run

import orda

NAMES = ["uniform", "k-means++", "k-DPP", "anticlustering", "stratified", "greedy", "assignment"]


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    rng = np.random.default_rng(0)
    folder = tmp_path / "my 'features'"
    folder.mkdir()
    for name, n, shift in (("s", 120, 0.0), ("t", 100, 0.5)):
        np.save(folder / f"{name}.npy", rng.normal(size=(n, 4)) + shift)
    return str(folder / "s.npy"), str(folder / "t.npy")


def rows(out: str) -> dict[str, list[str]]:
    """The numbers of every line of the table, by the first word of its sampler."""
    found = {}
    for line in out.splitlines():
        cells = [cell.strip() for cell in line.strip("│┃ ").split("│")]
        if len(cells) == 5:
            found[cells[0]] = cells[1:]
    return found


@pytest.mark.parametrize("discrepancy", ["mmd", "mmd-linear", "coral"])
def test_every_sampler_is_judged(discrepancy: str, files: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    source, target = files
    options = ["--discrepancy", discrepancy, "-k", "5", "-M", "10"]
    code, out, err = run(capsys, "compare", "--source", source, "--target", target, *options)
    assert (code, err) == (0, "")
    table = rows(out)
    for name in NAMES:
        assert any(name in row for row in table), name
    error = {name: float(numbers[0]) for name, numbers in table.items()}
    assert error["ordered, assignment"] < error["stratified (VaRDASS)"] < error["uniform"]
    for squared, bias, deviation, seconds in table.values():
        assert float(squared) == pytest.approx(float(bias) ** 2 + float(deviation) ** 2, rel=0.03)
        assert float(seconds) >= 0
    loss = {"mmd": orda.MMD(gammas="median"), "mmd-linear": orda.MMD("linear"), "coral": orda.CORAL()}[discrepancy]
    zs, zt = np.load(source), np.load(target)
    plan = orda.plan(zs, zt, sampler=orda.Ordered(loss), batch_size=5, horizon=10, seed=0)
    found = orda.assess(plan, zs, zt, loss)
    assert f"D0 = {found.d0:.4g}" in out
    assert table["ordered, assignment"][0] == f"{found.mean_squared_error:.3g}"


@pytest.mark.filterwarnings("always::orda.OrdaWarning")
def test_warnings_are_said_once(files: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    source, target = files
    code, _, err = run(capsys, "compare", "--source", source, "--target", target, "-k", "5", "-M", "50")
    assert code == 0
    assert err.count("strata of at least min_size examples") == 1
    assert err.count("\n") == 1


def test_bad_input_is_one_line(files: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, target = files
    (tmp_path / "text.npy").write_text("hello")
    (tmp_path / "empty.npy").touch()
    np.save(tmp_path / "objects.npy", np.array([{}], dtype=object), allow_pickle=True)
    np.save(tmp_path / "flat.npy", np.zeros(5))
    np.savez(tmp_path / "two.npz", a=np.zeros((3, 4)))
    bad = np.zeros((20, 4))
    bad[3] = np.nan
    np.save(tmp_path / "nan.npy", bad)
    for arguments, message in (
        (["--source", source], "--source and --target go together"),
        (["--source", str(tmp_path / "none.npy"), "--target", target], "none.npy"),
        (["--source", str(tmp_path / "text.npy"), "--target", target], "features must be an .npy file"),
        (["--source", str(tmp_path / "empty.npy"), "--target", target], "features must be an .npy file"),
        (["--source", str(tmp_path / "objects.npy"), "--target", target], "features must be an .npy file"),
        (["--source", str(tmp_path / "two.npz"), "--target", target], "features must be an .npy file"),
        (["--source", str(tmp_path / "flat.npy"), "--target", target], "source must be two-dimensional"),
        (["--source", str(tmp_path / "nan.npy"), "--target", target], "NaN or infinite values in 1 of 20 rows"),
        (["--discrepancy", "corel"], "Did you mean 'coral'?"),
        (["--source", source, "--target", target, "-k", "101"], "batch_size must not exceed"),
        (["--source", source, "--target", target, "-M", "0"], "horizon must be at least 1"),
    ):
        code, _, err = run(capsys, "compare", *arguments)
        assert code == 1, arguments
        assert err.startswith("orda: ")
        assert message in err
        assert err.count("\n") == 1

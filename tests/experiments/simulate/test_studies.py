"""Every study: its table has the promised columns and obeys the laws, its figure can be read by people and programs."""

from __future__ import annotations

import csv
import math
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from experiments.simulate.small import SMALL
from matplotlib.image import imread

from orda.experiments.simulate import STUDIES, StudyFolder, run
from orda.plots import STYLES

GROUPS = {
    "variance-vs-k": ("batch_size", "series"),
    "variance-vs-m": ("horizon", "series"),
    "min-size": ("min_size", "series"),
    "optimisers": ("problem", "series", "passes"),
    "drift": ("problem", "scale", "series"),
    "dimension": ("d", "discrepancy", "series"),
    "samplers": ("discrepancy", "series"),
    "bias": ("axis", "at", "discrepancy", "series", "estimate"),
}
MEASURED = ("statistic", "value", "low", "high", "repeats")
SPLIT = ("variance-vs-k", "variance-vs-m", "dimension", "samplers", "bias")  # whose tables hold bias, variance and mse
Values = dict[tuple[str, ...], dict[str, float]]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], StudyFolder]:
    """The folder of a study of ``SMALL``, computed once."""
    folders: dict[str, StudyFolder] = {}
    out = tmp_path_factory.mktemp("studies")

    def make(name: str) -> StudyFolder:
        if name not in folders:
            folders[name] = run(SMALL[name], out)
        return folders[name]

    return make


def rows(folder: StudyFolder) -> list[dict[str, str]]:
    with folder.data.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def values(folder: StudyFolder, name: str) -> Values:
    """Of every group its statistics."""
    found: Values = {}
    for row in rows(folder):
        found.setdefault(tuple(row[key] for key in GROUPS[name]), {})[row["statistic"]] = float(row["value"])
    return found


@pytest.mark.parametrize("name", STUDIES)
def test_tables_have_their_columns_and_finite_numbers_within_their_intervals(
    name: str, made: Callable[[str], StudyFolder]
) -> None:
    table = rows(made(name))
    assert tuple(table[0]) == GROUPS[name] + MEASURED
    keys = [tuple(row[key] for key in (*GROUPS[name], "statistic")) for row in table]
    assert len(set(keys)) == len(keys)
    for row in table:
        low, value, high = (float(row[key]) for key in ("low", "value", "high"))
        assert math.isfinite(low + value + high)
        assert low <= high
        assert int(row["repeats"]) == SMALL[name].repeats
        assert row["series"] in STYLES


@pytest.mark.parametrize("name", SPLIT)
def test_variance_and_squared_bias_are_the_mean_squared_error(name: str, made: Callable[[str], StudyFolder]) -> None:
    for found in values(made(name), name).values():
        assert found["variance"] + found["bias"] ** 2 == pytest.approx(found["mse"], rel=1e-9)
        assert 0 <= found["within"] <= found["variance"] * (1 + 1e-9)


@pytest.mark.parametrize("name", ["variance-vs-k", "variance-vs-m"])
def test_no_order_crosses_the_bound_of_its_pool(name: str, made: Callable[[str], StudyFolder]) -> None:
    seen = 0
    for group, found in values(made(name), name).items():
        if group[-1] not in ("uniform", "stratified"):
            seen += 1
            assert found["mse"] >= found["bound"] * (1 - 1e-9)
    assert seen > 3


def test_the_bound_is_zero_where_the_pool_is_all_the_data(made: Callable[[str], StudyFolder]) -> None:
    for name, whole in (("variance-vs-k", "10"), ("variance-vs-m", "20")):
        found = values(made(name), name)
        assert found[whole, "greedy"]["bound"] < 1e-20
        assert found["2", "greedy"]["bound"] > 1e-6


def test_greedy_is_the_sum_of_its_parts(made: Callable[[str], StudyFolder]) -> None:
    for (_, series), found in values(made("variance-vs-m"), "variance-vs-m").items():
        assert found["of the first tenth"] + found["of the others"] == pytest.approx(found["mse"])
        assert found["bound"] + found["above the bound"] == pytest.approx(found["mse"], abs=1e-15), series


def test_optimisers_never_end_above_their_start_and_never_below_the_bound(made: Callable[[str], StudyFolder]) -> None:
    for found in values(made("optimisers"), "optimisers").values():
        assert found["objective"] <= 1 + 1e-9
        assert found["objective"] >= min(1.0, found["bound"]) * (1 - 1e-6)
        assert found["seconds"] > 0


def test_drift_counts_in_parts_of_uniform_sampling(made: Callable[[str], StudyFolder]) -> None:
    for (_, _, series), found in values(made("drift"), "drift").items():
        assert found["variance"] + found["bias squared"] == pytest.approx(found["mse"])
        if series == "uniform":
            assert found["mse"] == pytest.approx(1.0)


def test_shares_of_bias_are_shares(made: Callable[[str], StudyFolder]) -> None:
    for found in values(made("dimension"), "dimension").values():
        assert 0 <= found["share of bias"] <= 1 + 1e-12
        assert found["share of bias"] == pytest.approx(found["bias"] ** 2 / found["mse"])


@pytest.mark.parametrize("name", STUDIES)
def test_the_png_opens_and_is_not_blank(name: str, made: Callable[[str], StudyFolder]) -> None:
    pixels = imread(made(name).png)
    assert pixels.shape[1] == 1440  # 7.2 inches of 200 dots
    dark = (pixels[::3, ::3, :3].min(-1) < 0.9).mean()
    assert 0.01 < dark < 0.5
    assert (np.ptp(pixels[::3, ::3, :3], axis=-1) > 0.25).mean() > 1e-4  # some of it is no grey


@pytest.mark.parametrize("name", STUDIES)
def test_the_svg_holds_its_words_as_text(name: str, made: Callable[[str], StudyFolder]) -> None:
    tree = ElementTree.fromstring(made(name).svg.read_text(encoding="utf-8"))
    text = " ".join("".join(node.itertext()) for node in tree.iter("{http://www.w3.org/2000/svg}text"))
    assert f"{SMALL[name].repeats} " in text
    assert "95 % bootstrap intervals" in " ".join(text.split())
    series = {row["series"] for row in rows(made(name))}
    shown = {label for label in series if STYLES[label].label in text}
    assert len(shown) >= 3, text


@pytest.mark.parametrize("name", STUDIES)
def test_nothing_lies_outside_the_page(name: str, made: Callable[[str], StudyFolder]) -> None:
    """A border of the page is white: whatever sticks out would be cut off there."""
    pixels = imread(made(name).png)[..., :3]
    for edge in (pixels[:3], pixels[-3:], pixels[:, :3], pixels[:, -3:]):
        assert edge.min() > 0.99


@pytest.mark.parametrize("name", STUDIES)
def test_a_quick_study_is_smaller_than_the_full_one(name: str) -> None:
    kind = STUDIES[name]
    quick, full = kind.quick(), kind()
    assert len(quick.cells()) < len(full.cells())
    assert len({cell.name for cell in full.cells()}) == len(full.cells())
    assert kind.summary.endswith(".")


@pytest.mark.slow
@pytest.mark.parametrize("name", STUDIES)
def test_the_quick_studies_run(name: str, tmp_path: Path) -> None:
    folder = run(STUDIES[name].quick(), tmp_path, jobs=2)
    assert tuple(rows(folder)[0]) == GROUPS[name] + MEASURED
    if name in SPLIT:
        for found in values(folder, name).values():
            assert found["variance"] + found["bias"] ** 2 == pytest.approx(found["mse"], rel=1e-9)

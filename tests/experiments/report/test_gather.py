"""What is read from a folder: chosen runs, styles that differ, records that are not finite or not there."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from experiments.report.conftest import TITLE
from experiments.report.recorded import STEPS

from orda.experiments.report import Chapter, gather
from orda.experiments.report.looks import row_styles
from orda.experiments.select import select
from orda.training import RunPaths, TrainConfig


def test_the_runs_are_those_that_the_tables_count(chapter: Chapter) -> None:
    assert chapter.results is not None
    chosen = {key: choice.run for key, choice in select(chapter.results.records).items() if choice.run is not None}
    assert {(run.row, run.task, run.repeat): run.draw for run in chapter.runs} == {
        key: record.place.draw for key, record in chosen.items()
    }
    assert chapter.title == TITLE
    assert chapter.rows == ["ERM", "CORAL", "CORAL + ORDERED"]


def test_records_are_read_line_by_line(chapter: Chapter) -> None:
    run = chapter.of("CORAL")[0]
    assert [line["step"] for line in run.evaluations] == list(STEPS)
    assert [set(line["losses"]) for line in run.losses] == [{"loss", "task", "discrepancy"}] * len(STEPS)
    assert [line["d0"] for line in run.assessments] == [0.01 * step for step in STEPS]


def test_lines_that_are_no_records_are_left_out(made: Path, tmp_path: Path) -> None:
    source = next(path.parent for path in sorted(made.glob("*/result.json")) if path.read_text() != "{")
    folder = tmp_path / "run"
    shutil.copytree(source, folder)
    with RunPaths(folder).metrics.open("a") as file:
        for line in ({"kind": "eval", "step": 9}, {"kind": "train", "step": 9}, {"kind": "train", "losses": {}}, {}):
            file.write(json.dumps(line) + "\n")
    with RunPaths(folder).plans.open("a") as file:
        file.write('{"step": 3, "assessment": null}\n{"step": 3, "assessment": {"d0": 1}}\n{"half a li')
    before, after = (gather(each)[0].runs[0] for each in (source, folder))
    assert before.evaluations == after.evaluations
    assert before.losses == after.losses
    assert before.assessments == after.assessments


def test_a_record_that_cannot_be_read_is_set_aside_by_name(made: Path, tmp_path: Path) -> None:
    folder = tmp_path / "runs"
    shutil.copytree(made, folder)
    victim = next(run.folder.name for run in gather(folder)[0].runs)
    (folder / victim / "config.yaml").write_text("sampler: [")
    found = gather(folder)[0]
    assert victim not in [run.folder.name for run in found.runs]
    assert len(found.faults) == 1
    assert found.faults[0].startswith(f"{victim}: ")


def test_every_row_has_a_style_of_its_own() -> None:
    named = {
        "uniform": {"algorithm.name": "coral", "sampler.name": "uniform"},
        "uniform too": {"algorithm.name": "mmd", "sampler.name": "uniform"},
        "ordered": {"algorithm.name": "coral", "sampler.name": "ordered"},
        "greedy": {"algorithm.name": "coral", "sampler.name": "ordered", "sampler.settings.optimiser": "greedy"},
        "plain": {"algorithm.name": "erm"},
        "dann": {"algorithm.name": "dann"},
        "stratified": {"algorithm.name": "mmd", "sampler.name": "stratified"},
    }
    styles = row_styles({row: TrainConfig().updated(values).resolved() for row, values in named.items()})
    assert len({(style.colour, style.line) for style in styles.values()}) == len(named)
    assert [styles[row].colour for row in ("uniform", "ordered", "greedy")] == ["#000000", "#0072B2", "#D55E00"]
    assert all(style.label == row for row, style in styles.items())

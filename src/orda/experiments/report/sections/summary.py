"""The beginning of a report: in words, what was compared, what won by how much, and what it cost."""

from __future__ import annotations

from collections.abc import Iterator
from math import fsum

from orda.experiments.report.gather import Chapter
from orda.experiments.report.html import bullets, cards, count, note, paragraph, section
from orda.experiments.report.sections.accuracy import interval, points
from orda.experiments.report.sections.estimates import assessed_rows, relative_errors
from orda.experiments.store import State
from orda.experiments.tables import Cell, Comparison, Results, accuracy_table, compare

Card = tuple[str, str, str]


def summary_section(chapter: Chapter, prefix: str) -> str:
    """Key figures, and the sentences behind them."""
    results = chapter.results
    if results is None:
        return section(f"{prefix}summary", "Summary", *_of_runs(chapter))
    cells = {line.name: line.cells[-1] for line in accuracy_table(results).lines}
    found = compare(results)
    sentences = [*_best(cells, results), *_adapted(chapter, results), *_against_uniform(results, found)]
    sentences += [*_estimates(chapter), *_costs(results)]
    return section(
        f"{prefix}summary",
        "Summary",
        paragraph(_scope(results)),
        cards([*_accuracy_cards(cells), *_difference_cards(results, found), *_error_cards(chapter), _seconds(results)]),
        bullets(sentences, "findings"),
        _missing(results),
    )


def _scope(results: Results) -> str:
    protocol = results.protocol
    asked = {record.place.draw for record in results.records}
    search = f"{count(len(asked), 'draw')} of hyperparameters" if len(asked) > 1 else "no search of hyperparameters"
    done = sum(record.entry.state is State.DONE for record in results.records)
    return (
        f"{count(len(results.rows), 'method')} on {count(len(results.tasks), 'task')} of {protocol.data}, "
        f"{count(len(results.repeats), 'repeat')} and {search}: {done:,} of {count(len(results.records), 'run')} done. "
        "Accuracies are of target images that training never saw, at the step and for the hyperparameters with the "
        "best source validation accuracy; no target label takes part in a choice."
    )


def _best(cells: dict[str, Cell], results: Results) -> Iterator[str]:
    """The best mean, where all means are over the same repeats."""
    known = {row: cell for row, cell in cells.items() if cell.mean is not None}
    if len(known) < 2 or len({tuple(cell.values) for cell in known.values()}) > 1:
        return
    best, *others = sorted(known, key=lambda row: -(known[row].mean or 0.0))
    over = "average accuracy" if len(results.tasks) > 1 else "accuracy"
    yield f"Best {over}: {best} with {_cell(known[best])} %, before {others[0]} with {_cell(known[others[0]])} %."


def _adapted(chapter: Chapter, results: Results) -> Iterator[str]:
    """What the last row of each other group gained over the row that does not adapt."""
    plain = [row.name for row in results.rows if results.configs[row.name].algorithm.name == "erm"]
    if not plain:
        return
    last = {row.group: row.name for row in results.rows if row.name not in plain}
    for item in compare(results, plain[:1]):
        if item.row in last.values():
            yield _sentence(item, "without adaptation")


def _against_uniform(results: Results, found: list[Comparison]) -> Iterator[str]:
    yield from (_sentence(item, "uniform minibatches") for item in _last_against_uniform(results, found))


def _last_against_uniform(results: Results, found: list[Comparison]) -> list[Comparison]:
    """Of each group that compares samplers, its last row against its uniform one."""
    kinds = {row.name: results.configs[row.name].sampler.name for row in results.rows}
    uniform = [item for item in found if kinds[item.against] == "uniform" and item.difference is not None]
    return list({item.group: item for item in uniform}.values())


def _sentence(item: Comparison, what: str) -> str:
    if item.difference is None:
        return f"{item.row} against {item.against} ({what}): no repeat has all tasks of both yet."
    said = f"{item.row} against {item.against} ({what}): {points(item.difference)} points{interval(item)}"
    return f"{said}, over {count(len(item.values), 'repeat')}. {verdict(item)}"


def verdict(item: Comparison) -> str:
    """What an interval allows to say."""
    if item.low is None or item.high is None:
        return "One repeat has no interval: nothing can be said about chance."
    if item.low > 0:
        return "The interval is above zero."
    if item.high < 0:
        return "The interval is below zero."
    return "The interval holds zero: these repeats do not tell the two apart."


def _estimates(chapter: Chapter) -> Iterator[str]:
    """How much nearer to D0 the last row's estimates are than the first's."""
    for first, last, ratio in error_ratios(chapter):
        less = f"{rounded(1 / ratio)} times smaller" if ratio < 1 else f"{rounded(ratio)} times larger"
        yield f"The mean squared error of D̂ against D0 is {less} in {last} than in {first} (relative to D0²)."


def error_ratios(chapter: Chapter) -> list[tuple[str, str, float]]:
    """(uniform row, last row, ratio of their mean squared errors) for every group that compares samplers."""
    if chapter.results is None:
        return []
    assessed = assessed_rows(chapter)
    found = []
    for rows in chapter.results.sampler_groups:
        names = [row.name for row in rows if row.name in assessed]
        kinds = {name: chapter.results.configs[name].sampler.name for name in names}
        uniform = [name for name in names if kinds[name] == "uniform"]
        if uniform and names[-1] != uniform[0]:
            mine, its = relative_errors(chapter.of(names[-1])), relative_errors(chapter.of(uniform[0]))
            if mine is not None and its is not None and its.mean_squared > 0 and mine.mean_squared > 0:
                found.append((uniform[0], names[-1], mine.mean_squared / its.mean_squared))
    return found


def _costs(results: Results) -> Iterator[str]:
    seconds = {row.name: _row_seconds(results, row.name) for row in results.rows}
    for rows in results.sampler_groups:
        uniform = [row.name for row in rows if results.configs[row.name].sampler.name == "uniform"]
        mine, its = seconds[rows[-1].name], seconds[uniform[0]] if uniform else []
        if mine and its and rows[-1].name != uniform[0]:
            a, b = fsum(mine) / len(mine), fsum(its) / len(its)
            yield f"A run of {rows[-1].name} took {a:.3g} s, one of {uniform[0]} {b:.3g} s: {a / b:.2f} times as long."


def _row_seconds(results: Results, row: str) -> list[float]:
    """Seconds of the row's runs that ended as they should."""
    scores = (record.entry.score for record in results.records if record.place.row == row)
    return [score.seconds for score in scores if score is not None and not score.diverged]


def _accuracy_cards(cells: dict[str, Cell]) -> Iterator[Card]:
    known = {row: cell for row, cell in cells.items() if cell.mean is not None}
    if known and len({tuple(cell.values) for cell in known.values()}) == 1:
        best = max(known, key=lambda row: known[row].mean or 0.0)
        yield "Best accuracy", f"{_cell(known[best])} %", best


def _difference_cards(results: Results, found: list[Comparison]) -> Iterator[Card]:
    for item in _last_against_uniform(results, found):
        assert item.difference is not None
        yield f"{item.row} − {item.against}", f"{points(item.difference)} points", interval(item).strip(" ()")


def _error_cards(chapter: Chapter) -> Iterator[Card]:
    for first, last, ratio in error_ratios(chapter):
        less = f"{rounded(1 / ratio)} × smaller" if ratio < 1 else f"{rounded(ratio)} × larger"
        yield "Squared error of the estimates", less, f"{last} against {first}"


def _seconds(results: Results) -> Card:
    scores = [record.entry.score for record in results.records if record.entry.score is not None]
    total = fsum(score.seconds for score in scores)
    return "Work", duration(total), f"in {count(len(scores), 'run')}, added up"


def rounded(value: float) -> str:
    """A ratio in two digits that count: 1.3, 28, 41,000."""
    return f"{float(f'{value:.2g}'):,.10g}"


def duration(seconds: float) -> str:
    """Seconds, minutes or hours, whichever is read most easily."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def _missing(results: Results) -> str:
    left = [record for record in results.records if record.entry.score is None]
    if not left:
        return ""
    return note(
        f"{count(len(left), 'run')} of {len(results.records):,} without a result: tables count only repeats that are "
        "complete; curves and pictures take what is there. See Runs below."
    )


def _of_runs(chapter: Chapter) -> Iterator[str]:
    """Runs that no sweep knows of."""
    runs = chapter.runs
    told = []
    for run in runs[:8]:
        accuracy = "no accuracy" if run.result.target_accuracy is None else f"{100 * run.result.target_accuracy:.1f} %"
        told.append(
            f"{run.row} on {run.task}: {accuracy} of the target images that training never saw, "
            f"{duration(float(run.result.seconds['total']))} of training."
        )
    yield paragraph(
        f"{count(len(runs), 'run')}. The model kept of a run is the one with the best accuracy on "
        "held-out source images; no target label takes part in that choice."
    )
    yield bullets(told, "findings")


def _cell(cell: Cell) -> str:
    assert cell.mean is not None
    return f"{100 * cell.mean:.1f}" + ("" if cell.error is None else f" ± {100 * cell.error:.1f}")

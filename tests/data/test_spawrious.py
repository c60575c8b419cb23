"""Spawrious: the six challenges, cell by cell."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from references.datasets import BREEDS, LOCATIONS, write_spawrious

from orda.data.decode import DecodeSettings
from orda.data.spawrious import CHALLENGES, CLASSES, DOMAINS, environment, list_spawrious, open_spawrious
from orda.errors import DataError, UnknownName

SMALL = DecodeSettings(4, 4)

TABLE = """
o2o_easy   | desert, jungle, dirt, snow    | dirt, snow, desert, jungle      | beach
o2o_medium | mountain, beach, dirt, jungle | jungle, dirt, beach, snow       | desert
o2o_hard   | jungle, mountain, snow, desert | mountain, snow, desert, jungle | beach
m2m_easy   | desert, mountain, dirt, jungle | dirt, jungle, mountain, desert | none
m2m_medium | beach, snow, mountain, desert | desert, mountain, beach, snow   | none
m2m_hard   | dirt, jungle, snow, beach     | snow, beach, dirt, jungle       | none
"""  # of the authors, in the order bulldog, dachshund, labrador, corgi
ROWS = [[cell.strip() for cell in row.split("|")] for row in TABLE.strip().splitlines()]
ORDER = ("bulldog", "dachshund", "labrador", "corgi")


def expected(row: list[str], part: str, full: int = 3168) -> Counter[tuple[int, str, str]]:
    """(folder, location, breed) -> images, written out from the description of the data set."""
    _, train, test, filler = row
    g, t = train.split(", "), test.split(", ")
    count: Counter[tuple[int, str, str]] = Counter()
    for i, breed in enumerate(ORDER):
        if filler != "none":
            if part == "test":
                count[0, t[i], breed] = count[1, t[i], breed] = full
            else:
                e = int(part[-1])
                main = {1: full * 97 // 100, 2: full * 87 // 100}[e]
                count[e - 1, g[i], breed] = main
                count[e - 1, filler, breed] = full - main
        else:
            other = [1, 0, 3, 2][i]
            if part == "env1":
                count[0, g[i], breed] = full
            elif part == "env2":
                count[0, g[other], breed] = full
            else:
                count[0, t[i], breed] = count[0, t[other], breed] = full
    return count


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
@pytest.mark.parametrize("part", ["env1", "env2", "test"])
def test_every_environment_is_the_tables(row: list[str], part: str) -> None:
    cells = environment(f"{row[0]}/{part}")
    count = Counter({(c.folder, c.location, c.breed): 3168 if c.take is None else c.take for c in cells})
    assert count == expected(row, part)
    assert sum(count.values()) == (25344 if part == "test" else 12672)


def test_the_stated_numbers_of_one_to_one() -> None:
    assert {c.take for c in environment("o2o_hard/env1")} == {3072, 96}
    assert {c.take for c in environment("o2o_hard/env2")} == {2756, 412}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_every_image_lies_where_its_pixels_say(tmp_path: Path, row: list[str]) -> None:
    write_spawrious(tmp_path, count=8)
    names = [f"{row[0]}/{part}" for part in ("env1", "env2", "test")]
    domains = open_spawrious(tmp_path, names, decode=SMALL, complete=False)
    for name, domain in domains.items():
        first = np.asarray(domain.images)[:, 0, 0].astype(int)
        found = Counter((int(p) // 100, LOCATIONS[int(p) % 100], BREEDS[b]) for p, b, _ in first)
        assert found == expected(row, name.split("/")[1], full=8)
        assert domain.classes == CLASSES == BREEDS
        np.testing.assert_array_equal(domain.labels, first[:, 1])
        for (p, b, i), file in zip(first, domain.names, strict=True):
            location, breed = LOCATIONS[p % 100], BREEDS[b]
            assert file == f"{p // 100}/{location}/{breed}/{location}_{breed}_{i}.png"


def test_a_part_of_a_cell_is_its_first_files_by_name(tmp_path: Path) -> None:
    write_spawrious(tmp_path, count=12)
    (listing,) = list_spawrious(tmp_path, ["o2o_easy/env2"], complete=False)
    filler = [name for name in listing.names if "/beach/bulldog/" in name]
    assert filler == [f"1/beach/bulldog/beach_bulldog_{i}.png" for i in (0, 1)]  # 12 − ⌊0.87 · 12⌋
    main = [name for name in listing.names if "/desert/bulldog/" in name]
    assert main == sorted(f"1/desert/bulldog/desert_bulldog_{i}.png" for i in range(12))[:10]


def test_cells_of_other_sizes(tmp_path: Path) -> None:
    home = write_spawrious(tmp_path, count=5)
    (home / "0" / "dirt" / "corgi" / "dirt_corgi_3.png").unlink()
    with pytest.raises(DataError, match=r"(?s)3,168.*0/dirt/corgi has 4 images.*0/jungle/labrador has 5"):
        list_spawrious(tmp_path, ["m2m_easy/env2"])
    (listing,) = list_spawrious(tmp_path, ["m2m_easy/env1"], complete=False)
    assert len(listing.names) == 20  # that cell is not asked for
    (listing,) = list_spawrious(home, ["m2m_easy/env2"], complete=False)
    assert len(listing.names) == 16  # all four cells are cut to 4
    for path in (home / "0" / "dirt" / "corgi").iterdir():
        path.unlink()
    with pytest.raises(DataError, match="0/dirt/corgi has no images"):
        list_spawrious(tmp_path, ["m2m_easy/env2", "m2m_easy/test"], complete=False)


def test_names_and_places(tmp_path: Path) -> None:
    assert len(DOMAINS) == 18
    assert len(CHALLENGES) == 6
    with pytest.raises(UnknownName, match="o2o_hard/test"):
        environment("o2o_hard/tset")
    with pytest.raises(DataError, match=r"0 and 1.*--download"):
        list_spawrious(tmp_path)

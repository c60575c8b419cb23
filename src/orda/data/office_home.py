"""Office-Home: 4 domains, 65 classes, 15,588 images; any domain to any other.

Copies of it spell their folders differently (``Real World``, ``Real_World``, ``real_world``, ``real``;
``Alarm_Clock``, ``alarm_clock``). Here a domain and a class have one name each, and a folder belongs to it whatever its
case and punctuation, so labels are the same for every copy: positions in ``CLASSES``, the order of the original names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from orda.data.build import Listing
from orda.data.cache import CacheSettings, build_domains
from orda.data.decode import DecodeSettings
from orda.data.domain import ArrayDomain
from orda.data.download import Archive
from orda.data.folder import Found, images_by_class, listing, subfolders
from orda.errors import DataError, UnknownName

COUNTS: Mapping[str, int] = MappingProxyType({"Art": 2427, "Clipart": 4365, "Product": 4439, "Real": 4357})
DOMAINS = tuple(COUNTS)
SPELLINGS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "Art": ("art", "a"),
        "Clipart": ("clipart", "clip", "c"),
        "Product": ("product", "products", "p"),
        "Real": ("realworld", "real", "rw", "r"),
    }
)
# fmt: off
CLASSES = (
    "Alarm_Clock", "Backpack", "Batteries", "Bed", "Bike", "Bottle", "Bucket", "Calculator", "Calendar", "Candles",
    "Chair", "Clipboards", "Computer", "Couch", "Curtains", "Desk_Lamp", "Drill", "Eraser", "Exit_Sign", "Fan",
    "File_Cabinet", "Flipflops", "Flowers", "Folder", "Fork", "Glasses", "Hammer", "Helmet", "Kettle", "Keyboard",
    "Knives", "Lamp_Shade", "Laptop", "Marker", "Monitor", "Mop", "Mouse", "Mug", "Notebook", "Oven", "Pan",
    "Paper_Clip", "Pen", "Pencil", "Postit_Notes", "Printer", "Push_Pin", "Radio", "Refrigerator", "Ruler",
    "Scissors", "Screwdriver", "Shelf", "Sink", "Sneakers", "Soda", "Speaker", "Spoon", "TV", "Table", "Telephone",
    "ToothBrush", "Toys", "Trash_Can", "Webcam",
)
# fmt: on
ARCHIVES = (
    Archive(
        "https://drive.usercontent.google.com/download?id=1uY0pj7oFsjMxRwaD3Sxy0jgel0fsYXLC&export=download&confirm=t",
        "OfficeHomeDataset_10072016.zip",
    ),
    Archive(  # the same images, made smaller
        "https://cornell.box.com/shared/static/xwsbubtcr8flqfuds5f6okqbr3z0w82t",
        "officehome_resized.tar.gz",
        md5="52d6039512434aa561d66de9c10828c3",
    ),
)


def plain(name: str) -> str:
    """Lower case, letters and digits only."""
    return "".join(letter for letter in name.casefold() if letter.isalnum())


CLASS_OF = {plain(name): name for name in CLASSES}
DOMAIN_OF = {spelling: name for name, spellings in SPELLINGS.items() for spelling in spellings}


def domain_name(spelling: str) -> str:
    """The one name of a domain that is spelled in any of the ways in use."""
    if plain(spelling) not in DOMAIN_OF:
        raise UnknownName("domain of Office-Home", spelling, DOMAINS)
    return DOMAIN_OF[plain(spelling)]


def open_office_home(
    root: str | Path,
    domains: Sequence[str] | None = None,
    *,
    decode: DecodeSettings | None = None,
    complete: bool = True,
    cache: CacheSettings | None = None,
) -> dict[str, ArrayDomain]:
    """The domains by their one name. ``complete`` refuses a copy whose counts are not those of the data set."""
    return build_domains(list_office_home(root, domains, complete), decode, cache)


def list_office_home(root: str | Path, domains: Sequence[str] | None = None, complete: bool = True) -> list[Listing]:
    """What :func:`open_office_home` will decode."""
    root = Path(root).expanduser()
    wanted = DOMAINS if domains is None else tuple(domain_name(name) for name in domains)
    folders = find_domains(root, wanted)
    found = {name: _by_class(folder) for name, folder in folders.items()}
    _check(found, root, complete)
    classes = CLASSES if complete else tuple(c for c in CLASSES if any(c in by_class for by_class in found.values()))
    return [listing(name, root, folders[name], by_class, classes) for name, by_class in found.items()]


def find_domains(root: Path, wanted: Sequence[str]) -> dict[str, Path]:
    """The folders of the wanted domains: in the root or, all together, in one folder of it."""
    for home in [root, *subfolders(root)] if root.is_dir() else []:
        spelled: dict[str, list[Path]] = {}
        for folder in subfolders(home):
            if plain(folder.name) in DOMAIN_OF:
                spelled.setdefault(DOMAIN_OF[plain(folder.name)], []).append(folder)
        twice = [str(folder) for name in wanted for folder in spelled.get(name, ()) if len(spelled[name]) > 1]
        if twice:
            raise DataError("a domain must have one folder", ", ".join(twice), "Move the others away")
        if all(name in spelled for name in wanted):
            return {name: spelled[name][0] for name in wanted}
    raise DataError(
        f"Office-Home must have a folder for each of {', '.join(wanted)} (any spelling)",
        f"not in {root} or one folder below",
        "Check --root, or fetch it: orda data prepare office-home --root DIR --download",
    )


def _by_class(folder: Path) -> Found:
    """Images by the one name of their class, whatever the folder's spelling; folders of no class are passed over."""
    found: Found = {}
    for spelling, files in images_by_class(folder).items():
        name = CLASS_OF.get(plain(spelling))
        if name is not None:
            found[name] = sorted([*found.get(name, []), *files])
    return found


def _check(found: Mapping[str, Found], root: Path, complete: bool) -> None:
    faults = []
    present = set().union(*found.values())
    expected = [c for c in CLASSES if complete or c in present]
    for name, by_class in found.items():
        missing = [c for c in expected if c not in by_class]
        count = sum(len(files) for files in by_class.values())
        if missing or not expected:
            faults.append(f"\n  {name} has no images of {', '.join(missing) or 'any class'}")
        elif complete and count != COUNTS[name]:
            faults.append(f"\n  {name} has {count:,} images, not {COUNTS[name]:,}")
    if faults:
        raise DataError(
            f"Office-Home in {root} is not complete", "".join(faults) + "\n", "Fetch it again, or pass complete=False"
        )

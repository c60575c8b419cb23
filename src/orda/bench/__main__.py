"""``python -m orda.bench``: the same as ``orda bench``, where the packages of the command line are missing."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from orda.bench import Bench, as_text, bench


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m orda.bench", description="Measure plans and training steps.")
    parser.add_argument("--device", default="auto", help="cpu, cuda, or auto: cuda where there is one")
    parser.add_argument("--quick", action="store_true", help="small sizes: half a minute on a CPU")
    parser.add_argument("--compile", action="store_true", help="compile the network that is trained")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all numbers there")
    options = parser.parse_args()
    what = Bench(device=options.device, quick=options.quick, compile=options.compile)
    found = bench(what, say=lambda text: print(text, flush=True))
    print(as_text(found))
    if options.json:
        options.json.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()

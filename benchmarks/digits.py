"""How far apart the embedded digits are: a plain classifier trained on one domain, tested on the others.

    python benchmarks/digits.py

Logistic regression on pixels; 80 % of a domain train, the rest of it is the held-out column.
"""

from __future__ import annotations

import time

import numpy as np
from sklearn.linear_model import LogisticRegression

from orda.data.digits import DOMAINS, open_digits


def main() -> None:
    start = time.perf_counter()
    domains = open_digits()
    print(f"made in {time.perf_counter() - start:.1f} s\n")
    pixels = {name: np.asarray(d.images).reshape(len(d), -1) / 255 for name, d in domains.items()}
    print("trained on | held out | " + " | ".join(DOMAINS))
    for source in DOMAINS:
        labels = domains[source].labels
        order = np.random.default_rng(0).permutation(len(labels))
        train, held = np.split(order, [len(order) * 8 // 10])
        model = LogisticRegression(max_iter=300).fit(pixels[source][train], labels[train])
        scores = [model.score(pixels[source][held], labels[held])]
        scores += [model.score(pixels[target], domains[target].labels) for target in DOMAINS]
        print(f"{source} | " + " | ".join(f"{100 * score:.1f}" for score in scores))


if __name__ == "__main__":
    main()

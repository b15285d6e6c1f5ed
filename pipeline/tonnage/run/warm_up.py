"""Every compiled kernel that a scan calls, compiled or loaded from numba's cache by one small call each."""

from __future__ import annotations

import numpy as np

from tonnage.annotate import heuristics
from tonnage.dedup import signatures
from tonnage.kernels.html_depth import may_be_deeper
from tonnage.kernels.json_lines import scan_json_lines
from tonnage.kernels.normalize import normalize
from tonnage.quality import score
from tonnage.tokenize import engine


def warm_up() -> None:
    """Compiles what is not in the cache: half a minute the first time, well below a second later."""
    text = np.frombuffer(b"<p>{}", np.uint8)
    may_be_deeper(text, 1)
    scan_json_lines(text, 1)
    normalize(text, np.array([0, len(text)]))
    heuristics.warm_up()
    signatures.warm_up()
    score.warm_up()
    engine.warm_up()

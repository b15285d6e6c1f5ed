"""Documents of a run, to look at: kept, dropped by a rule with the deciding numbers, of a cell, or rejects.

A look is a seeded sample over the whole run, the same each time; `pick` says which documents may be in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from tonnage.errors import UsageError
from tonnage.plan import EXACT, Plan, Shard
from tonnage.run.deciding import columns_of_shard
from tonnage.select import BUILT_IN, EXACT_DUPLICATE, columns_of_rule
from tonnage.steps.decide import read_columns
from tonnage.store.documents import read_row_groups, read_table
from tonnage.store.files import join
from tonnage.store.layout import columns_path, documents_path, rejects_path, selection_path

__all__ = ["BUILT_IN", "Shown", "show_documents", "show_rejects"]

"""Exports: one module a trainer's format, over the token shards of a run."""

from collections.abc import Callable, Mapping

from tonnage.export.common import ExportInput, Report
from tonnage.export.megatron import export_megatron
from tonnage.export.parquet import export_parquet

EXPORT_VERSION = 1
EXPORTS: Mapping[str, Callable[..., Report]] = {"megatron": export_megatron, "parquet": export_parquet}

__all__ = ["EXPORTS", "EXPORT_VERSION", "ExportInput", "Report"]

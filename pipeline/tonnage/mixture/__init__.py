"""The mixture: exact counts of sequences by phase and cell, and the order of training as a function of position."""

from tonnage.mixture.order import Place, Places, locate, locate_many, prefix_bound
from tonnage.mixture.plan import CellShare, CellSupply, MixturePlan, PhasePlan, table_rows
from tonnage.mixture.planning import plan_mixture
from tonnage.mixture.weights import MixtureRequest, PhaseRequest, Proportional

MIXTURE_VERSION = 1

__all__ = [
    "MIXTURE_VERSION",
    "CellShare",
    "CellSupply",
    "MixturePlan",
    "MixtureRequest",
    "PhasePlan",
    "PhaseRequest",
    "Place",
    "Places",
    "Proportional",
    "locate",
    "locate_many",
    "plan_mixture",
    "prefix_bound",
    "table_rows",
]

"""Experiment files: text in, frozen and validated objects out. No effects but reading the file."""

from contend.settings.model import Need
from contend.settings.names import did_you_mean, nearest
from contend.settings.options import layout_options
from contend.settings.plan_keys import SCRIPT, STATEMENTS
from contend.settings.values import Level
from contend.settings.workload import SCRIPT_SCHEMA
from contend.spec.cell import cell_spec, cells, combinations
from contend.spec.errors import SpecError
from contend.spec.load import load_experiment, recipe_text, recipes
from contend.spec.model import (
    Cell,
    CellSpec,
    CompareSpec,
    DataSpec,
    Experiment,
    Factor,
    Published,
    PublishedRow,
    WorkloadSpec,
    same_level,
)
from contend.spec.reference import key_tables
from contend.spec.schema import json_schema
from contend.spec.scripts import is_file
from contend.spec.stored import SPEC_FORMAT, from_dict, to_dict

__all__ = [
    "SCRIPT",
    "SCRIPT_SCHEMA",
    "SPEC_FORMAT",
    "STATEMENTS",
    "Cell",
    "CellSpec",
    "CompareSpec",
    "DataSpec",
    "Experiment",
    "Factor",
    "Level",
    "Need",
    "Published",
    "PublishedRow",
    "SpecError",
    "WorkloadSpec",
    "cell_spec",
    "cells",
    "combinations",
    "did_you_mean",
    "from_dict",
    "is_file",
    "json_schema",
    "key_tables",
    "layout_options",
    "load_experiment",
    "nearest",
    "recipe_text",
    "recipes",
    "same_level",
    "to_dict",
]

"""Experiment files: text in, frozen and validated objects out. No effects but reading the file."""

from contend.spec.cell import cell_spec
from contend.spec.effects import may_write
from contend.spec.errors import SpecError, did_you_mean, nearest
from contend.spec.load import load_experiment, recipe_text, recipes
from contend.spec.metric_names import MetricNames, without_metric
from contend.spec.model import (
    SCRIPT_SCHEMA,
    Cell,
    CellSpec,
    CompareSpec,
    DataSpec,
    Experiment,
    Factor,
    Level,
    LoadSpec,
    Published,
    PublishedRow,
    ServerSpec,
    WorkloadSpec,
    same_level,
)
from contend.spec.reference import key_tables
from contend.spec.schema import json_schema
from contend.spec.scripts import is_file
from contend.spec.stored import SPEC_FORMAT, from_dict, to_dict
from contend.spec.values import Refused
from contend.spec.workloads import SCRIPT, STATEMENTS

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
    "LoadSpec",
    "MetricNames",
    "Published",
    "PublishedRow",
    "Refused",
    "ServerSpec",
    "SpecError",
    "WorkloadSpec",
    "cell_spec",
    "did_you_mean",
    "from_dict",
    "is_file",
    "json_schema",
    "key_tables",
    "load_experiment",
    "may_write",
    "nearest",
    "recipe_text",
    "recipes",
    "same_level",
    "to_dict",
    "without_metric",
]

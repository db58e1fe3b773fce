"""Verifies selective scans of state-space models against certified truth, and names what is wrong.

    report = holdfast.check(u, delta, A, B, C, method="zoh", out=y)
    print(report)

Arrays of NumPy, PyTorch, JAX or CuPy, on any device; a framework that is not there is not needed. The guide's page on Python
has more, and the documentation of the repository says what the verdicts mean.
"""

from __future__ import annotations

import atexit as _atexit
import os as _os
import sys as _sys

from . import _holdfast, bench
from ._capture import Capture, capture, watch
from ._dense import check_dense
from ._mamba3 import check_mamba3
from ._recorded import check, record, scan
from ._report import Case, Diagnosis, Edit, Report, Worst
from ._testing import Problem, assert_correct, problems, regimes
from ._truth import Discretized, Gradients, Method, discretize, gradients, methods

__version__: str = _holdfast.__version__

__all__ = [
    "Capture",
    "Case",
    "Diagnosis",
    "Edit",
    "Discretized",
    "Gradients",
    "Method",
    "Problem",
    "Report",
    "Worst",
    "assert_correct",
    "bench",
    "capture",
    "check",
    "check_dense",
    "check_mamba3",
    "discretize",
    "gradients",
    "methods",
    "problems",
    "record",
    "regimes",
    "scan",
    "watch",
]

# A worker is this interpreter again, with nothing in its way but this package: where it is found does not depend on the folder,
# nor on variables of the environment.
_START = "import sys; sys.path.insert(0, sys.argv.pop(1)); from holdfast.__main__ import main; main()"
_FOLDER = _os.path.dirname(_os.path.dirname(_os.path.abspath(__file__)))
if _sys.executable:
    _holdfast.worker_is(_sys.executable, ["-I", "-c", _START, _FOLDER, "worker"])
_atexit.register(_holdfast.end_workers)
if hasattr(_os, "register_at_fork"):
    _os.register_at_fork(after_in_child=_holdfast.forked)

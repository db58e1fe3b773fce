"""The command line: `holdfast`, and `python -m holdfast`."""

from __future__ import annotations

import sys

from . import _holdfast


def main() -> None:
    """Carries out this process's command line, and ends the process with its exit status."""
    sys.exit(_holdfast.program(["holdfast", *sys.argv[1:]]))


if __name__ == "__main__":
    main()

"""What the library says to those at a command line, in the words of Python: its messages name options and files."""

from __future__ import annotations

import re

_IN_ERRORS = (
    (r"with --out, or", "or"),
    (r"--(\w+) '([^']*)'", r'\1="\2"'),
    (r"--(backend) (\w+)", r'\1="\2"'),
    (r"--(channels) (\d+)", r"\1=\2"),
    (r"spec\.md §3 lists the shapes", "help(holdfast.check) lists the shapes"),
    (r"leave out the metadata `layout`", 'layout="bdl"'),
    (r"(?:state )?the metadata `layout` = `(\w+)`", r'layout="\1"'),
    (r"layout `(\w+)` has", r'layout="\1" has'),
    (r"(the )?metadata `(\w+)`", r"\1argument `\2`"),
)

# A report may be one of the command line's: the commands in it stay as they are.
_IN_REPORTS = (
    (r"--verbose explains them all; or see the table below, or --json", "the report's explain() has them all (an AssertionError has it as `report`)"),
    (r"--diagnosis(\n\s*| )(\w+)", r'\1diagnosis="\2"'),
    (r"\( diagnosis=", "(diagnosis="),
    (r"--arithmetic\s+'([^']*)'(\s+)accepts", r'arithmetic="\1"\2accepts'),
)


def of_error(text: str) -> str:
    """An error's text for those who call from Python."""
    for said, meant in _IN_ERRORS:
        text = re.sub(said, meant, text)
    return text


def of_report(text: str) -> str:
    """A report's, or a diagnosis's."""
    for said, meant in _IN_REPORTS:
        text = re.sub(said, meant, text)
    return text

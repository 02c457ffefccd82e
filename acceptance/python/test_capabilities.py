"""Every capability of CAPABILITIES.md is named by the docstring of a test, and no other name is used."""

import ast
import re
from pathlib import Path

FOLDER = Path(__file__).parent
NAME = re.compile(r"\b[AB]\d+\b")


def names_in_docstrings():
    for path in FOLDER.rglob("test_*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                yield from NAME.findall(ast.get_docstring(node) or "")


def test_capabilities_and_tests_name_each_other():
    listed = re.findall(r"^\| ([AB]\d+) \|", (FOLDER.parent / "CAPABILITIES.md").read_text(), re.MULTILINE)
    assert len(listed) == len(set(listed)) > 0
    assert set(names_in_docstrings()) == set(listed)

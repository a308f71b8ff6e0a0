"""The rules of `tools/check_house.py` hold for this tree, and it counts what a reader meets."""

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def check(tool):
    return tool("check_house")


@pytest.fixture(scope="module")
def modules(check):
    return check.house(ROOT)


@pytest.mark.parametrize("rule", ["cycles", "imported", "private"])
def test_nothing_is_found(check, modules, rule):
    assert check.RULES[rule][0](modules) == []


def test_every_module_is_counted(check, modules):
    files = [*(ROOT / "src").rglob("*.py"), *(ROOT / "lab" / "src").rglob("*.py")]
    assert {module.path for module in modules.values()} == set(files)
    lines = sum(path.read_text(encoding="utf-8").count("\n") for path in files)
    assert sum(module.cost.lines for module in modules.values()) == lines
    report = "\n".join(check.report(list(modules.values()), 3))
    assert all(f"\n{module.room} " in report for module in modules.values())


def test_the_walk_of_a_fit_enters_private_modules_and_counts_their_statements(tool):
    walk = tool("walk")
    codes = walk.walk(walk.calls()["IOKR.fit"])
    files = {Path(code.co_filename).relative_to(walk.ROOT).parts[0] for code in codes}
    assert {"_array", "_validation", "estimators", "kernels", "solvers"} <= files
    found = walk.total(codes)
    assert len(codes) < found.statements < found.lines

"""The scripts of tools/, as modules."""

import importlib
import sys
from pathlib import Path

import pytest

TOOLS = Path(__file__).parents[2] / "tools"


@pytest.fixture(scope="session")
def tool():
    """tool(name): the module of tools/name.py."""
    sys.path.append(str(TOOLS))
    yield importlib.import_module
    sys.path.remove(str(TOOLS))

"""What every test shares: `reference` and `samples` can be imported from anywhere below this folder."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

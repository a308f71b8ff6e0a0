"""`tools/numeric.py` asks for core types that the processor has, one change at a time."""

import pytest

BASE = {"pni", "sse4_2", "avx"}
AVX2 = BASE | {"avx2", "fma"}
AVX512 = AVX2 | {"avx512f", "avx512cd", "avx512bw", "avx512dq", "avx512vl"}


@pytest.fixture
def numeric(tool):
    return tool("numeric")


def test_flags_are_read_from_the_first_processor(numeric):
    assert numeric.flags("processor : 0\nflags\t: pni avx\n\nprocessor : 1\nflags\t: other\n") >= {"pni", "avx"}
    assert numeric.flags("") == set()


@pytest.mark.parametrize(
    ("able", "cores"),
    [
        (set(), []),
        (BASE, ["Prescott", "Nehalem", "Sandybridge"]),
        (AVX2, ["Prescott", "Nehalem", "Sandybridge", "Haswell", "Zen"]),
        (AVX512, ["Prescott", "Nehalem", "Sandybridge", "Haswell", "Zen", "SkylakeX"]),
    ],
)
def test_allowed_cores(numeric, able, cores):
    assert numeric.allowed_cores(able) == cores


@pytest.mark.parametrize(
    ("able", "native", "second"),
    [
        (AVX512, "SkylakeX", "Haswell"),
        (AVX512, "Cooperlake", "SkylakeX"),
        (AVX2, "Haswell", "Sandybridge"),
        (AVX2, "Zen", "Sandybridge"),
        ({"pni"}, "Prescott", None),
    ],
)
def test_the_second_core_has_other_kernels(numeric, able, native, second):
    assert numeric.second_core(numeric.allowed_cores(able), native) == second


def test_a_core_that_the_processor_lacks_is_skipped_in_one_line(numeric, monkeypatch, capsys):
    monkeypatch.setattr(numeric, "flags", lambda text: {"pni"})
    assert list(numeric.core_runs("SkylakeX")) == []
    assert capsys.readouterr().out == "SkylakeX: skipped, the processor cannot run it\n"


def test_each_run_changes_one_thing(numeric, monkeypatch):
    monkeypatch.setattr(numeric, "core_in_use", lambda core=None: core)
    monkeypatch.setattr(numeric, "flags", lambda text: AVX2)
    monkeypatch.setattr(numeric, "python_runs", lambda: iter([numeric.Run("Python 3.99", python="python3.99")]))
    runs = list(numeric.all_runs())
    assert [run.title for run in runs[-3:]] == ["without Numba", "two threads", "Python 3.99"]
    for run in runs:
        changes = [bool(run.environment) and not run.options, bool(run.options), run.python == "python3.99"]
        assert sum(changes) == 1, run


def test_without_numba_it_cannot_be_imported(numeric):
    import subprocess
    import sys

    program = "import without_numba\ntry:\n    import numba\nexcept ImportError:\n    print('none')"
    environment = {"PYTHONPATH": numeric._path_with_tools()}
    run = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert run.stdout == "none\n"

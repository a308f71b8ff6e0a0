"""The command line as users meet it: what it prints where, what it writes, and its exit codes.

Tests of `iokr_lab.cli.bench`, `iokr.cli.commands`, `iokr.cli.demo`, `iokr.cli.doctor`, `iokr.cli.group` and
`iokr.cli.shared`.
"""

import json
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module

import pytest
from typer.main import get_command
from typer.testing import CliRunner

import iokr
from iokr.apps.report import Report, Spread, Table
from iokr.cli import app
from iokr_lab import EXPERIMENTS, Experiment


def invoke(*arguments):
    return CliRunner().invoke(app, [str(a) for a in arguments])


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An empty working folder, and no data."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("IOKR_DATA", str(tmp_path / "data"))
    return tmp_path


def runs(monkeypatch, function):
    """The demo and every experiment call `function`."""
    monkeypatch.setattr(import_module("iokr.apps.demo"), "demonstrate", function)
    monkeypatch.setattr(Experiment, "run", lambda self, **options: function(**options))


@pytest.fixture
def quick(monkeypatch):
    """The demo and every experiment answer at once, with a table of two rows."""

    def run(*, seed=0, repeat=None, progress=None, **more):
        progress(0, 1, "working")
        rows = [{"method": "a", "ours": Spread.of([1.0, 2.0])}, {"method": "b", "ours": Spread.of([float(seed)])}]
        return Report("Title", "Summary.", (Table("Rows", rows),), ("A note.",), {"seed": seed, "repeat": repeat})

    runs(monkeypatch, run)


# ------------------------------------------------------------------------------------------------------------ general


def test_without_arguments_shows_help():
    result = invoke()
    assert result.exit_code == 0
    assert all(command in result.stdout for command in ("demo", "reproduce", "bench", "doctor"))


@pytest.mark.parametrize(
    "arguments", [["--help"], ["-h"], ["demo", "-h"], ["reproduce", "--help"], ["bench", "-h"], ["doctor", "-h"]]
)
def test_help(arguments):
    result = invoke(*arguments)
    assert result.exit_code == 0 and "Usage" in result.stdout
    assert "╭" not in result.stdout  # plain lines where nobody looks at a terminal


def test_version():
    result = invoke("--version")
    assert (result.exit_code, result.stdout) == (0, f"iokr {iokr.__version__}\n")


@pytest.mark.parametrize(
    "arguments",
    [["nonsense"], ["demo", "--nonsense"], ["demo", "--seed", "x"], ["bench", "--format", "pdf"]],
)
def test_wrong_usage_exits_with_2(arguments, here):
    result = invoke(*arguments)
    assert result.exit_code == 2
    assert "Traceback" not in result.output


ONCE = [
    ("--seed", ["demo", "--seed", "1", "--seed", "2"]),
    ("--seed", ["reproduce", "digits", "--seed=1", "--short", "--seed=1"]),
    ("--output", ["bench", "links", "-o", "a", "--output", "b"]),
    ("--format", ["doctor", "--format", "tsv", "--format", "json"]),
    ("--edges", ["links", "cv", "-e", "e.tsv", "-e", "f.tsv", "-i", "a.tsv"]),
    ("--scale", ["links", "cv", "-e", "e.tsv", "-i", "a.tsv", "--scale", "--no-scale"]),
]


@pytest.mark.parametrize(("option", "arguments"), ONCE)
def test_an_option_of_one_value_is_given_once(option, arguments, here):
    result = invoke(*arguments)
    assert result.exit_code == 2
    assert f" {option}: " in result.stderr and "given twice, but it takes one value" in " ".join(result.stderr.split())
    assert list(here.iterdir()) == []


def options_of(command, names=()):
    """(names of a command, option) for every command below."""
    for name, below in getattr(command, "commands", {}).items():
        yield from options_of(below, (*names, name))
    if not getattr(command, "commands", None):
        yield from ((names, option) for option in command.params if option.param_type_name == "option")


@pytest.mark.parametrize(
    ("names", "option"), [pytest.param(n, o, id=f"{' '.join(n)} {o.name}") for n, o in options_of(get_command(app))]
)
def test_every_option_of_every_command_is_given_once_or_meant_to_be_repeated(names, option, here):
    values = [] if option.is_flag else ["1"] * option.nargs
    again = [option.opts[0], *values]
    result = invoke(*names, *again, *again, *again)
    said = "given 3 times, but it takes one value" in " ".join(result.stderr.split())
    assert said != (option.multiple or option.is_eager), result.stderr


def test_what_a_terminal_would_obey_is_escaped(here, monkeypatch):
    def odd(*, progress, **options):
        progress(0, 1, "case \x1b[2J")
        warnings.warn("id \x9b31m", UserWarning, stacklevel=2)
        return Report("Title", "Summary.", (Table("T\x9b", [{"id\x07": "a\u202eb", "n": 1}], note="\x85"),))

    runs(monkeypatch, odd)
    result = invoke("demo", "-v")
    assert not set(result.output) & set("\x1b\x9b\x07\x85\u202e")
    assert "case \\u001b[2J" in result.stderr and "UserWarning: id \\u009b31m" in result.stderr
    assert result.stdout.startswith("T\\u009b\nid\\u0007  n\na\\u202eb  1\n\\u0085")
    assert "a\u202eb" in invoke("demo", "--force", "--format", "tsv").stdout, "data are as they are"

    def broken(**options):
        raise ValueError("row \x9b31m")

    runs(monkeypatch, broken)
    assert invoke("demo", "--force", "-q").stderr == "iokr: row \\u009b31m\n"
    assert "\x9b" not in invoke("demo", "--force", "-v").stderr
    assert "\x9b" not in invoke("\x9b31m").stderr + invoke("demo", "--\x9b31m").stderr


def test_an_error_is_one_line_and_exit_1(here, monkeypatch):
    def broken(**options):
        raise ValueError("the file x.tsv,\nline 3, has no number")

    runs(monkeypatch, broken)
    result = invoke("demo")
    assert result.exit_code == 1
    assert result.stderr == "iokr: the file x.tsv, line 3, has no number\n"
    assert result.stdout == ""


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ("`folds` must be at least 2, got 1.", "--folds must be at least 2, got 1."),
        ('fill them in with `missing="mean"`.', "fill them in with --missing mean."),
        ("is the table transposed? `transpose=True`.", "is the table transposed? --transpose."),
        ("or `scale=False`, and `partners_of`.", "or --no-scale, and --for."),
        ("`X` and `alpha=1.0` stay as they are.", "`X` and `alpha=1.0` stay as they are."),
    ],
)
def test_messages_of_the_library_name_the_options_of_the_command(here, monkeypatch, message, shown):
    def broken(*args, **options):
        raise ValueError(message)

    monkeypatch.setattr("iokr.apps.links.reading.read_network", broken)
    command = "cv" if "folds" in message else "predict"
    result = invoke("links", command, "-i", "n.tsv", "-e", "e.tsv", "-q")
    assert (result.exit_code, result.stderr) == (1, f"iokr: {shown}\n")


def test_an_unexpected_error_is_named_and_verbose_shows_where(here, monkeypatch):
    def broken(**options):
        raise KeyError("inside")

    runs(monkeypatch, broken)
    plain, verbose = invoke("demo"), invoke("demo", "-v")
    assert plain.exit_code == verbose.exit_code == 1
    assert plain.stderr == "iokr: unexpected KeyError: 'inside' (-v shows where)\n"
    assert "Traceback" in verbose.stderr and "in broken" in verbose.stderr


def test_warnings_are_a_line_each_and_once(here, monkeypatch):
    def odd(**options):
        for _ in range(2):
            warnings.warn("alpha is\nsmall", RuntimeWarning, stacklevel=2)
        return Report("Title", "Summary.")

    runs(monkeypatch, odd)
    assert invoke("demo", "-q").stderr == "iokr: warning: alpha is small\n"


def test_errors_of_the_system_name_the_file(here, monkeypatch):
    def broken(**options):
        raise PermissionError(13, "Permission denied", "x.tsv")

    runs(monkeypatch, broken)
    assert invoke("demo").stderr == "iokr: x.tsv: Permission denied.\n"


def test_an_interrupt_says_so_and_exits_with_130(here, monkeypatch):
    def stopped(**options):
        raise KeyboardInterrupt

    runs(monkeypatch, stopped)
    result = invoke("demo")
    assert (result.exit_code, result.stderr) == (130, "iokr: interrupted.\n")
    assert not (here / "iokr-demo").exists()


# --------------------------------------------------------------------------------------------------------------- demo


def test_help_of_the_demo_is_about_the_network():
    assert "Reconstruct a network" in invoke("demo", "-h").stdout


@pytest.mark.parametrize("group", [(), ("links",)])
def test_the_list_of_commands_says_whole_sentences(group):
    """What is longer than a line would end in dots."""
    assert "..." not in invoke(*group, "-h").stdout.partition("Commands:")[2]


@pytest.mark.parametrize(
    ("typed", "found"),
    [("iokr de", ["demo"]), ("iokr links ", ["cv", "train", "predict"]), ("iokr links predict --lab", ["--labeled"])],
)
def test_shells_complete(typed, found):
    """What bash asks for, once `iokr --install-completion` has been run."""
    words = {"_IOKR_COMPLETE": "complete_bash", "COMP_WORDS": typed, "COMP_CWORD": str(typed.count(" "))}
    result = CliRunner().invoke(app, [], prog_name="iokr", env=words)
    assert result.exit_code == 0 and result.stdout.split() == found


def test_demo_prints_tables_and_writes_the_run_folder(here, quick):
    result = invoke("demo", "--seed", "4")
    assert result.exit_code == 0
    assert result.stdout == "Rows\nmethod             ours\na       1.5000 ± 0.7071\nb                4.0000\n"
    assert (
        "working" in result.stderr
        and "wrote table.tsv, metrics.json, run.json and the page iokr-demo/report.html" in result.stderr
    )
    names = sorted(path.name for path in (here / "iokr-demo").iterdir())
    assert names == ["metrics.json", "report.html", "run.json", "table.tsv"]
    info = json.loads((here / "iokr-demo" / "run.json").read_text())
    assert info["seed"] == 4 and info["command"].startswith("iokr")


def test_nothing_is_overwritten_without_force(here, quick):
    assert invoke("demo").exit_code == 0
    page = here / "iokr-demo" / "report.html"
    page.write_text("mine")
    again = invoke("demo")
    assert again.exit_code == 1
    assert "--force" in again.stderr and again.stdout == "" and "working" not in again.stderr
    assert page.read_text() == "mine"
    assert invoke("demo", "--force").exit_code == 0
    assert "Summary." in page.read_text()


def test_a_full_disk_does_not_lose_the_tables(here, quick, monkeypatch):
    def full(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    result = invoke("demo", "-q")
    assert result.exit_code == 1 and result.stdout.startswith("Rows\n")
    assert result.stderr == "iokr: iokr-demo/table.tsv: No space left on device.\n"
    assert list(here.iterdir()) == []


def test_a_second_run_into_a_folder_is_refused_before_the_work(here, monkeypatch):
    refused = []

    def slow(**options):
        with ThreadPoolExecutor(1) as other:
            refused.append(other.submit(invoke, "demo", "-q").result())
        return Report("Title", "Summary.")

    runs(monkeypatch, slow)
    assert invoke("demo", "-q").exit_code == 0 and len(refused) == 1
    assert refused[0].exit_code == 1 and refused[0].stderr.startswith("iokr: another run is writing to iokr-demo;")
    assert [path.name for path in here.iterdir()] == ["iokr-demo"]


def test_quiet_leaves_standard_error_empty(here, quick):
    result = invoke("demo", "-q")
    assert result.exit_code == 0 and result.stderr == "" and "Rows" in result.stdout


def test_verbose_adds_the_notes(here, quick):
    assert "A note." in invoke("demo", "-v").stderr
    assert "A note." not in invoke("demo", "--force").stderr


@pytest.mark.parametrize("format", ["tsv", "csv", "json"])
def test_format_of_standard_output_and_of_the_file(here, quick, format):
    result = invoke("demo", "-o", "out", "--format", format)
    assert result.exit_code == 0
    file = (here / "out" / f"table.{format}").read_text()
    if format == "json":
        rows = json.loads(result.stdout)
        assert rows[0]["ours"] == 1.5
        assert [{"table": "Rows", **row} for row in json.loads(file)] == rows
    else:  # all tables follow each other on standard output, so a column names them; a file has one
        mark = "\t" if format == "tsv" else ","
        header = result.stdout.splitlines()[0].split(mark)
        assert header == ["table", "method", "ours", "ours (sd)"]
        assert [line.split(mark, 1)[1] for line in result.stdout.splitlines()] == file.splitlines()


def test_missing_report_packages_are_named_before_any_work(here, quick, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    result = invoke("demo")
    assert result.exit_code == 1
    assert "pip install 'iokr[report]'" in result.stderr and "working" not in result.stderr


# ---------------------------------------------------------------------------------------------------------- reproduce


def test_reproduce_lists_experiments_and_what_data_is_missing(here):
    result = invoke("reproduce")
    assert result.exit_code == 0
    for experiment in EXPERIMENTS:
        assert experiment.name in result.stdout and experiment.paper in result.stdout
    assert "IOKR_DATA" in result.stderr
    rows = json.loads(invoke("reproduce", "--format", "json", "-q").stdout)
    assert [row["data found"] for row in rows] == [not experiment.data for experiment in EXPERIMENTS]


def test_reproduce_writes_a_folder_of_its_name(here, quick):
    assert invoke("reproduce", "usps", "--repeat", "2").exit_code == 0
    assert json.loads((here / "iokr-usps" / "run.json").read_text())["repeat"] == 2


def test_reproduce_of_an_unknown_name_is_wrong_usage(here):
    result = invoke("reproduce", "nonsense")
    assert result.exit_code == 2
    assert "there is usps" in result.stderr


def test_reproduce_without_data_says_so_in_one_line(here):
    result = invoke("reproduce", "usps")
    assert result.exit_code == 1
    assert result.stderr.count("\n") == 1 and "IOKR_DATA" in result.stderr
    assert not (here / "iokr-usps").exists()


# -------------------------------------------------------------------------------------------------------------- bench


@pytest.fixture
def benchmarks(monkeypatch):
    """One benchmark that answers at once."""
    import iokr_lab.bench

    def run(name, *, repeat, seed, progress, quick, sections):
        progress(0, 1, "measuring")
        row = {"contender": name, "repeat": repeat, "seed": seed, "quick": quick, "sections": sections}
        return Report("Bench", "Summary.", (Table("Times", [row]),), (), {"threads": 2})

    monkeypatch.setattr(iokr_lab.bench, "available", lambda: [("race", "Who is first?")])
    monkeypatch.setattr(iokr_lab.bench, "run", run)


def test_bench_lists(here, benchmarks):
    result = invoke("bench")
    assert result.exit_code == 0 and result.stdout == "Benchmarks\nname  question\nrace  Who is first?\n"


def test_bench_prints_and_writes_only_when_asked(here, benchmarks):
    result = invoke("bench", "race", "--repeat", "3", "--seed", "7", "--quick", "--format", "json")
    (row,) = json.loads(result.stdout)
    assert row == {"table": "Times", "contender": "race", "repeat": 3, "seed": 7, "quick": True, "sections": None}
    parts = invoke("bench", "race", "--section", "a", "--section", "b c", "--format", "json")
    assert json.loads(parts.stdout)[0]["sections"] == ["a", "b c"]
    assert list(here.iterdir()) == []
    assert invoke("bench", "race", "-o", "out").exit_code == 0
    assert json.loads((here / "out" / "run.json").read_text())["threads"] == 2


def test_bench_of_an_unknown_name_is_wrong_usage(here, benchmarks):
    result = invoke("bench", "nonsense")
    assert result.exit_code == 2 and "available: race" in result.stderr


# ------------------------------------------------------------------------------------------------------------- doctor


def test_doctor_tells_versions_threads_memory_and_data(here):
    result = invoke("doctor", "--format", "json")
    assert result.exit_code == 0
    found = {(row["table"], row["item"]): row["found"] for row in json.loads(result.stdout)}
    assert found["Versions", "python"].startswith(".".join(map(str, sys.version_info[:3])))
    assert "thread" in " ".join(text for (table, _), text in found.items() if table == "Linear algebra")
    assert found["Memory", "available to a fit"].endswith("B")
    assert str(here / "data") in found["Data", "folder"] and "does not exist" in found["Data", "folder"]
    assert [what for table, what in found if table == "Data"] == ["folder"]  # `iokr reproduce` lists what is missing


def test_doctor_counts_the_files_of_a_data_set(here):
    (here / "data" / "usps").mkdir(parents=True)
    (here / "data" / "usps" / "usps.npz").write_bytes(b"x" * 2000)
    assert "1 file, 2 kB" in invoke("doctor").stdout


def test_doctor_survives_a_torch_that_cannot_be_loaded(here, monkeypatch):
    def broken():
        raise OSError("libcudart.so: cannot open shared object file")

    monkeypatch.setattr("iokr.cli.doctor._torch", broken)
    result = invoke("doctor")
    assert result.exit_code == 0 and "cannot be loaded" in result.stdout

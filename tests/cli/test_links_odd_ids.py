"""Ids that other programs would change come back letter by letter, in every file and on the page.

Tests of `iokr.cli.links` as a whole, `iokr.apps.readers.text_tables` and `iokr.apps.readers.typed_tables`.
"""

import csv
import io
import json
import unicodedata
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from browser import CHROMIUM, MISSING, Browser
from iokr.apps.readers import read_network, read_nodes
from iokr.cli import app
from iokr.datasets import make_communities

openpyxl = pytest.importorskip("openpyxl")

IDS = [
    *(
        "two words",
        "two  spaces",
        "Ünïcödé",
        "日本語",
        "😀",
        'quo"te',
        '"quoted"',
        "it's",
        "com,ma",
        "semi;colon",
        "a|b",
    ),
    *("=1+2", '=HYPERLINK("http://x","y")', "-minus", "+plus", "@at", "#hash", "#1", "007", "7", "7.0", "1e5", "1,5"),
    *("NA", "nan", "None", "null", "N/A", "?", "TRUE", "inf", "2020-01-01", "MARCH1", "abc", "ABC", "Abc", "id"),
    *(unicodedata.normalize("NFC", "é"), unicodedata.normalize("NFD", "é"), "ﬁ", "İ", "ß"),
    *(
        "<script>alert(1)</script>",
        "<b>",
        "&amp;",
        "&",
        "]]>",
        "{{x}}",
        "%s",
        "../x",
        "back\\slash",
        "\\",
        "'",
        '"',
        "`",
    ),
    *("K_a", "a`b`c", "\u200bzero width", "\u2060", "\u00ad", "\u202ertl", "a\u2028b", "a\x85b", "x\x9b31m"),
    *("__proto__", "constructor", "l" * 200, "–"),
]
FEW = ("--alphas", "0.1,1", "--method", "iokr", "--labeled", "all")


def invoke(*arguments):
    return CliRunner().invoke(app, ["links", *(str(a) for a in arguments)])


def ran(*arguments):
    result = invoke(*arguments)
    assert result.exit_code == 0, result.output
    return result


def rows(path):
    with Path(path).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def write(path, table):
    """As spreadsheets and pandas write it: text between quotes, or cells of their own."""
    if path.suffix == ".xlsx":
        book = openpyxl.Workbook()
        for i, row in enumerate(table, start=1):
            for j, value in enumerate(row, start=1):
                cell = book.active.cell(i, j, value)
                cell.data_type = "s" if isinstance(value, str) else cell.data_type  # "=1+2" is text here
        book.save(path)
        return path
    with path.open("w", encoding="utf-8", newline="") as file:
        mark = {".tsv": "\t", ".csv": ","}[path.suffix]
        csv.writer(file, delimiter=mark, quoting=csv.QUOTE_NONNUMERIC).writerows(table)
    return path


@pytest.fixture(scope="module", params=[".tsv", ".csv", ".xlsx"])
def files(request, tmp_path_factory):
    """(nodes, edges) with an odd id for every node."""
    folder = tmp_path_factory.mktemp("odd")
    network = make_communities(len(IDS), 3, n_relevant=6, n_irrelevant=1, noise=0.1, seed=2)
    X = np.round(network.X, 4).tolist()
    columns = ["id", *(f"x{j}" for j in range(len(X[0])))]
    nodes = write(folder / f"nodes{request.param}", [columns, *([name, *x] for name, x in zip(IDS, X, strict=True))])
    links = [[IDS[i], IDS[j]] for i, j in network.edges]
    return nodes, write(folder / f"edges{request.param}", [["source", "target"], *links])


@pytest.fixture(scope="module")
def out(files, tmp_path_factory):
    folder = tmp_path_factory.mktemp("run") / "out"
    ran("predict", "-i", files[0], "-e", files[1], *FEW, "--top", 9999, "-o", folder)
    return folder


def test_ids_are_different_and_everywhere_what_they_were(out):
    assert len(set(IDS)) == len(IDS)
    everyone = set(IDS)
    found = rows(out / "edges.tsv")
    assert {row[end] for row in found for end in ("source", "target")} == everyone
    frame = pd.read_csv(out / "edges.tsv", sep="\t", dtype=str, keep_default_na=False)
    assert set(frame.source) | set(frame.target) == everyone and len(frame) == len(found)
    assert set(nx.read_graphml(out / "network.graphml").nodes) == everyone
    nodes = json.loads((out / "network.cyjs").read_text())["elements"]["nodes"]
    assert {node["data"]["id"] for node in nodes} == {node["data"]["name"] for node in nodes} == everyone
    assert rows(out / "rejected.tsv") == []
    tables = json.loads((out / "metrics.json").read_text())["tables"]
    [first] = [table for table in tables if table["title"].startswith("The first")]
    assert [row["source"] for row in first["rows"]] == [row["source"] for row in found[:20]]
    assert [row["source"] for row in rows(out / "table.tsv")] == [row["source"] for row in found[:20]]


@pytest.mark.sweep
def test_what_was_written_is_read_again(out, tmp_path):
    """The list is a list of links, and the network a network, of the same nodes."""
    with io.StringIO() as text:
        csv.writer(text, delimiter="\t", quoting=csv.QUOTE_ALL, lineterminator="\n").writerows([["id", "x"]])
        csv.writer(text, delimiter="\t", quoting=csv.QUOTE_ALL, lineterminator="\n").writerows(
            [[name, i] for i, name in enumerate(IDS)]
        )
        (tmp_path / "nodes.tsv").write_text(text.getvalue(), encoding="utf-8")
    assert read_nodes(tmp_path / "nodes.tsv").ids.tolist() == IDS
    columns = {"source": "source", "target": "target", "weight": "none"}
    network = read_network(out / "edges.tsv", nodes=tmp_path / "nodes.tsv", columns=columns)
    assert network.n_links == len(rows(out / "edges.tsv")) and network.rejections == ()
    for name in ("network.graphml", "network.cyjs"):
        whole = read_network(out / name, nodes=tmp_path / "nodes.tsv", columns={"weight": "none"})
        assert whole.n_links == len(IDS) * (len(IDS) - 1) // 2 and whole.rejections == ()


def test_a_kept_model_knows_the_same_names(files, out, tmp_path):
    ran("train", "-i", files[0], "-e", files[1], *FEW, "-o", tmp_path / "model")
    ran("predict", "--model", tmp_path / "model", "--top", 9999, "-o", tmp_path / "kept")
    assert (tmp_path / "kept" / "edges.tsv").read_bytes() == (out / "edges.tsv").read_bytes()
    given = ("predict", "--model", tmp_path / "model", "--top", 9999, "--force", "-o", tmp_path / "some")
    for name in (
        "-minus",
        "=1+2",
        '"quoted"',
        "#hash",
        "two  spaces",
        "NA",
        unicodedata.normalize("NFD", "é"),
        "\u2060",
    ):
        ran(*given, "--for", name)
        found = rows(tmp_path / "some" / "edges.tsv")
        assert found and all(name in (row["source"], row["target"]) for row in found)
    half = len(IDS) // 2
    lists = [
        write(tmp_path / f"{part}{files[0].suffix}", [["id"], *([name] for name in names)])
        for part, names in (("a", IDS[:half]), ("b", IDS[half:]))
    ]
    ran(*given, "--between", *lists)
    found = rows(tmp_path / "some" / "edges.tsv")
    assert {row[end] for row in found for end in ("source", "target")} == set(IDS)
    assert all(len({row["source"], row["target"]} & set(IDS[:half])) == 1 for row in found)


def test_folds_of_odd_nodes(files, tmp_path):
    ran("cv", "-i", files[0], "-e", files[1], *FEW, "--folds", 2, "-o", tmp_path / "cv")


def test_rows_that_do_not_fit_are_listed_with_their_ids(files, tmp_path):
    other = [
        ["source", "target"],
        ["two  spaces", 'no "one"'],
        ['"quoted"', '"quoted"'],
        ["abc", "ABC"],
        ["abc", "aBC"],
    ]
    edges = write(tmp_path / f"edges{files[1].suffix}", other)
    ran("predict", "-i", files[0], "-e", edges, *FEW, "-o", tmp_path / "out", "--top", 5)
    listed = rows(tmp_path / "out" / "rejected.tsv")
    told = [(row["source"], row["target"], row["reason"]) for row in listed]
    assert told == [
        ("two  spaces", 'no "one"', "unknown node"),
        ('"quoted"', '"quoted"', "self-loop"),
        ("abc", "aBC", "unknown node"),
    ]
    assert listed[2]["detail"].startswith("aBC; ") and listed[2]["detail"].endswith(" is a node")


def test_the_page_has_every_name(out, tmp_path):
    if CHROMIUM is None:
        pytest.skip(MISSING)
    browser = Browser(tmp_path / "browser")
    try:
        browser.open(out / "report.html")
        assert browser.errors == [] and browser.requests == [(out / "report.html").as_uri()]
        assert set(browser.read("iokr.networks[0].data.names")) == set(IDS)
        found = [(row["source"], row["target"]) for row in rows(out / "edges.tsv")]
        assert browser.read("iokr.tables[0].columns[1].values") == [pair[0] for pair in found]
        select = "(name => { iokr.tables[0].onname(name); return document.querySelector('.panel h3').innerText; })(%s)"
        escaped = {"\u2060": "\\u2060", "\u202ertl": "\\u202ertl", "\u200bzero width": "\\u200bzero width"}
        for name in IDS:
            shown = browser.read(select % json.dumps(name))
            if name in escaped:
                assert shown == escaped[name], "what is not seen is told"
            elif name.isprintable():
                assert shown == name
        text = browser.read("iokr.tables[0].written('tsv')")
        saved = list(csv.DictReader(io.StringIO(text, newline=""), delimiter="\t"))
        assert [(row["source"], row["target"]) for row in saved] == found
        browser.read("(s => { s.value = 'two  spaces'; s.dispatchEvent(new Event('input')); })(iokr.tables[0].search)")
        assert browser.read("iokr.tables[0].shown.length") >= sum("two  spaces" in pair for pair in found) > 0
    finally:
        browser.close()


def test_without_script_names_are_what_they_are(out):
    """In the table that stands in the page nothing is typeset."""
    import html
    import re

    page = (out / "report.html").read_text(encoding="utf-8")
    cells = [html.unescape(cell) for cell in re.findall(r'<td data-label="source" class="">(.*?)</td>', page)]
    expected = [row["source"] for row in rows(out / "edges.tsv")[:100]]
    assert len(cells) == 100
    assert all(cell == name for cell, name in zip(cells, expected, strict=True) if name.isprintable())


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('"tab\there"\t1\t2', r"'tab\\there' contains a tab, a line end or a control character"),
        ('"new\nline"\t1\t2', r"contains a tab, a line end or a control character"),
        ("bell\x07\t1\t2", r"'bell\\x07' contains a tab, a line end or a control character"),
        ('"open\t1\t2', r"line 5: unexpected end of data; a quote inside a cell is doubled"),
        ('"a" b\t1\t2', r"line 5: .* expected after .*; a quote inside a cell is doubled"),
    ],
)
def test_what_cannot_be_an_id_is_refused_in_words(tmp_path, line, words):
    path = tmp_path / "nodes.tsv"
    path.write_text(f"id\tx\ty\na\t1\t2\nb\t2\t1\nc\t3\t0\n{line}\nd\t4\t4\n", encoding="utf-8")
    with pytest.raises(ValueError, match=words):
        read_nodes(path)


def test_a_line_that_begins_with_a_mark_is_a_comment_unless_it_is_quoted(tmp_path):
    path = tmp_path / "nodes.tsv"
    path.write_text('# nodes\nid\tx\n#gone\t1\n"#kept"\t2\nb\t3\n', encoding="utf-8")
    nodes = read_nodes(path)
    assert nodes.ids.tolist() == ["#kept", "b"] and nodes.comments == 2


@pytest.mark.parametrize(
    ("named", "words"),
    [
        (("A", "B"), "they differ in case or in the encoding"),
        (
            (unicodedata.normalize("NFD", "é"), unicodedata.normalize("NFD", "ö")),
            "they differ in case or in the encoding",
        ),
        (("ﬁ", "ﬂ"), "they differ in case or in the encoding"),
    ],
)
def test_names_that_look_the_same_are_told_apart(tmp_path, named, words):
    nodes = {"A": "ab", "ﬁ": ("fi", "fl")}.get(named[0], "éö")
    (tmp_path / "nodes.tsv").write_text("id\tx\n" + "".join(f"{name}\t{i}\n" for i, name in enumerate(nodes)))
    (tmp_path / "edges.tsv").write_text("source\ttarget\n" + "\t".join(named) + "\n")
    with pytest.raises(ValueError, match=words):
        read_network(tmp_path / "edges.tsv", nodes=tmp_path / "nodes.tsv")


def test_a_header_whose_words_are_nodes(tmp_path):
    """One of the two is a node: still a header. Both are: a link, and that is said."""
    (tmp_path / "edges.tsv").write_text("source\ttarget\na\tb\n")
    for nodes, links in ((("a", "b", "target", "Source"), 1), (("a", "b", "source", "target"), 2)):
        text = "".join(f"{name}\t{i}\n" for i, name in enumerate(nodes))
        (tmp_path / "nodes.tsv").write_text("id\tx\n" + text)
        network = read_network(tmp_path / "edges.tsv", nodes=tmp_path / "nodes.tsv")
        assert network.n_links == links and network.rejections == ()
        assert any("is read as a link" in note for note in network.notes) == (links == 2)


def test_truth_is_a_word_among_words_and_a_number_among_numbers(tmp_path):
    book = openpyxl.Workbook()
    for row in (["id", "flag", "x"], ["a", True, 1.0], [True, False, 2.0], ["b", None, 3.0]):
        book.active.append(row)
    book.save(tmp_path / "nodes.xlsx")
    nodes = read_nodes(tmp_path / "nodes.xlsx", missing="zero")
    assert nodes.ids.tolist() == ["a", "TRUE", "b"] and nodes.X[:, 0].tolist() == [1.0, 0.0, 0.0]

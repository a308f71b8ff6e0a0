"""Files as programs write them are read, or rejected with an error that says how to convert them.

A row for each file. pandas, Polars, NetworkX and NumPy write theirs here; those of R 4, LibreOffice and AnnData were
written by these and are kept in `files`; Excel's, Cytoscape's, STRING's and BioGRID's follow their documentation.

Tests of `iokr.apps.readers.edge_files`, `iokr.apps.readers.file_table`, `iokr.apps.readers.formats`,
`iokr.apps.readers.layouts`, `iokr.apps.readers.text_tables`, `iokr.apps.readers.typed_tables` and
`iokr.apps.readers.views`.
"""

import gzip
import io
import json
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from iokr.apps.readers import read_network, read_nodes
from iokr.apps.readers.edge_files import read_edges
from iokr.apps.readers.layouts import Layout

KEPT = Path(__file__).parent / "files"
IDS = ["YAL001C", "TP53", "9606.ENSP1", "Ä-1"]
X = np.array([[0.5, 10.0], [1.25, 0.001], [-3.0, 1000.0], [2.0, 7.0]])
PAIRS = [["YAL001C", "TP53"], ["TP53", "9606.ENSP1"], ["9606.ENSP1", "Ä-1"]]
WEIGHTS = [900.0, 150.0, 400.0]


def frame():
    return pd.DataFrame(X, columns=["u", "v"], index=pd.Index(IDS, name="id"))


def edge_frame():
    return pd.DataFrame(PAIRS, columns=["source", "target"]).assign(weight=WEIGHTS)


def polars():
    pl = pytest.importorskip("polars")
    return pl.DataFrame({"id": IDS, "u": X[:, 0], "v": X[:, 1]})


def graph(weighted=True):
    nx = pytest.importorskip("networkx")
    G = nx.Graph()
    for (a, b), w in zip(PAIRS, WEIGHTS, strict=True):
        G.add_edge(a, b, **({"weight": w} if weighted else {}))
    return nx, G


def text(content, encoding="utf-8"):
    return lambda path: path.write_bytes(content.encode(encoding))


def rows(separator, decimal=".", head="id,u,v", quoted=False):
    """The table as a spreadsheet writes it."""
    mark = '"{}"' if quoted else "{}"
    lines = [
        [mark.format(name), *(repr(value).replace(".", decimal) for value in row)]
        for name, row in zip(IDS, X.tolist(), strict=True)
    ]
    return "\r\n".join([head.replace(",", separator), *(separator.join(line) for line in lines)]) + "\r\n"


def links(separator=" ", head="", more=""):
    lines = [f"{a}{separator}{b}{separator}{w:g}{more}" for (a, b), w in zip(PAIRS, WEIGHTS, strict=True)]
    return "\n".join([head, *lines] if head else lines) + "\n"


def kept(name):
    return lambda path: path.write_bytes((KEPT / name).read_bytes())


def excel(path):
    pytest.importorskip("openpyxl")
    frame().to_excel(path)


def excel_sheets(path):
    pytest.importorskip("openpyxl")
    with pd.ExcelWriter(path) as writer:
        pd.DataFrame().to_excel(writer, sheet_name="empty", index=False)
        frame().to_excel(writer, sheet_name="features")
        edge_frame().to_excel(writer, sheet_name="links", index=False)


STRING = "protein1 protein2 combined_score"
DETAILED = "protein1 protein2 neighborhood fusion combined_score"
CYJS = {
    "elements": {
        "nodes": [{"data": {"id": str(70 + i), "name": name}} for i, name in enumerate(IDS)],
        "edges": [
            {"data": {"id": "1", "source": str(70 + i), "target": str(71 + i), "weight": WEIGHTS[i]}} for i in range(3)
        ],
    }
}
CYTOSCAPE_GRAPHML = (
    '<?xml version="1.0" encoding="UTF-8"?>\n<graphml xmlns="http://graphml.graphdrawing.org/xmlns">'
    '<key id="name" for="node" attr.name="name" attr.type="string"/><graph edgedefault="directed">'
    + "".join(f'<node id="{70 + i}"><data key="name">{name}</data></node>' for i, name in enumerate(IDS))
    + "".join(f'<edge source="{70 + i}" target="{71 + i}"/>' for i in range(3))
    + "</graph></graphml>"
)
STRING_TSV = "#node1\tnode2\tnode1_string_id\tnode2_string_id\tcombined_score\n" + "".join(
    f"{a}\t{b}\t9606.{a}\t9606.{b}\t{w}\n" for (a, b), w in zip(PAIRS, WEIGHTS, strict=True)
)
BIOGRID = (
    "#BioGRID Interaction ID\tEntrez Gene Interactor A\tOfficial Symbol Interactor A\t"
    "Official Symbol Interactor B\tScore\n" + "".join(f"{i}\t{i}\t{a}\t{b}\t-\n" for i, (a, b) in enumerate(PAIRS))
)

NODES = {
    "pandas.csv": (lambda path: frame().to_csv(path), {}),
    "pandas.tsv": (lambda path: frame().to_csv(path, sep="\t"), {}),
    "pandas_no_name.csv": (lambda path: frame().rename_axis(None).to_csv(path), {}),
    "pandas_german.csv": (lambda path: frame().to_csv(path, sep=";", decimal=","), {}),
    "pandas.csv.gz": (lambda path: frame().to_csv(path), {}),
    "pandas_numbered.csv": (lambda path: frame().reset_index().to_csv(path), {"id": ("id",), "columns": ("u", "v")}),
    "pandas_last.csv": (
        lambda path: frame().reset_index()[["u", "v", "id"]].to_csv(path, index=False),
        {"id": ("id",)},
    ),
    "pandas.parquet": (lambda path: frame().to_parquet(path), {}),
    "pandas_column.parquet": (lambda path: frame().reset_index().to_parquet(path), {}),
    "pandas.feather": (lambda path: frame().reset_index().to_feather(path), {}),
    "pandas.xlsx": (excel, {}),
    "pandas_transposed.csv": (lambda path: frame().T.to_csv(path), {"transpose": True}),
    "pandas_more.csv": (lambda path: frame().assign(note="x", w=1.0).to_csv(path), {"columns": ("u", "v")}),
    "pandas_wild.csv": (lambda path: frame().assign(zz=1.0).to_csv(path), {"columns": ("[uv]*", "u", "v")[1:]}),
    "polars.csv": (lambda path: polars().write_csv(path), {}),
    "polars.tsv": (lambda path: polars().write_csv(path, separator="\t"), {}),
    "polars.parquet": (lambda path: polars().write_parquet(path), {}),
    "polars.arrow": (lambda path: polars().write_ipc(path, compat_level=polars_oldest()), {}),
    "polars_german.csv": (lambda path: polars().write_csv(path, separator=";", decimal_comma=True), {}),
    "numpy.npz": (lambda path: np.savez(path, ids=IDS, X=X), {}),
    "r_write_table.txt": (kept("r_write_table.txt"), {}),
    "r_tabs.tsv": (kept("r_tabs.tsv"), {}),
    "r_write_csv.csv": (kept("r_write_csv.csv"), {}),
    "r_write_csv2.csv": (kept("r_write_csv2.csv"), {}),
    "r_no_row_names.tsv": (kept("r_no_row_names.tsv"), {}),
    "r_dec.txt": (kept("r_dec.txt"), {}),
    "r_nodes.csv.gz": (kept("r_nodes.csv.gz"), {}),
    "r_transposed.csv": (kept("r_transposed.csv"), {"transpose": True}),
    "r_factor.csv": (kept("r_factor.csv"), {"columns": ("u", "v")}),
    "libreoffice.xlsx": (kept("libreoffice.xlsx"), {}),
    "libreoffice_de.csv": (kept("libreoffice_de.csv"), {}),
    "anndata.h5ad": (kept("anndata.h5ad"), {}),
    "anndata_sparse.h5ad": (kept("anndata_sparse.h5ad"), {}),
    "excel_us.csv": (text(rows(",")), {}),
    "excel_utf8.csv": (text("\ufeff" + rows(",")), {}),
    "excel_german.csv": (text(rows(";", ",")), {}),
    "excel_sep.csv": (text("sep=;\r\n" + rows(";", ",")), {}),
    "excel_quoted.csv": (text(rows(",", quoted=True)), {}),
    "excel_unicode.txt": (text("\ufeff" + rows("\t"), "utf-16-le"), {}),
    "excel_text.txt": (text(rows("\t")), {}),
    "excel_text_german.txt": (text(rows("\t", ",")), {}),
    "packed.gz": (lambda path: path.write_bytes(gzip.compress(rows(",").encode())), {}),
    "nothing_said": (text(rows("\t")), None),
    "spaces.txt": (text(rows("  ")), {}),
}
EDGES = {
    "pandas.csv": (lambda path: edge_frame().to_csv(path), {}),
    "pandas_plain.csv": (lambda path: edge_frame().to_csv(path, index=False), {}),
    "pandas.parquet": (lambda path: edge_frame().to_parquet(path), {}),
    "pandas_more.csv": (lambda path: edge_frame().assign(kind="x").to_csv(path, index=False), {}),
    "networkx.edgelist": (lambda path: graph()[0].write_edgelist(graph()[1], path), {}),
    "networkx_empty.edgelist": (lambda path: graph()[0].write_edgelist(graph(False)[1], path), {}),
    "networkx_commas.csv": (lambda path: graph()[0].write_edgelist(graph()[1], path, delimiter=","), {}),
    "networkx_no_data.edgelist": (lambda path: graph()[0].write_edgelist(graph()[1], path, data=False), {}),
    "networkx_weighted.edgelist": (lambda path: graph()[0].write_weighted_edgelist(graph()[1], path), {}),
    "networkx.edgelist.gz": (lambda path: graph()[0].write_edgelist(graph()[1], path), {}),
    "networkx.adjlist": (lambda path: graph()[0].write_adjlist(graph()[1], path), {}),
    "networkx.graphml": (lambda path: graph()[0].write_graphml_xml(graph()[1], path), {}),
    "networkx.gml": (lambda path: graph()[0].write_gml(graph()[1], path), {}),
    "networkx.json": (
        lambda path: path.write_text(json.dumps(graph()[0].node_link_data(graph()[1], edges="edges"))),
        {},
    ),
    "networkx.cyjs": (lambda path: path.write_text(json.dumps(graph()[0].cytoscape_data(graph()[1]))), {}),
    "cytoscape.cyjs": (text(json.dumps(CYJS)), {}),
    "cytoscape.graphml": (text(CYTOSCAPE_GRAPHML), {}),
    "cytoscape.sif": (text("YAL001C pp TP53\nTP53 pp 9606.ENSP1\n9606.ENSP1 pd Ä-1\nlonely\n"), {}),
    "cytoscape_tabs.sif": (text("YAL001C\tpp\tTP53\nTP53\tpp\t9606.ENSP1\n9606.ENSP1\tpp\tÄ-1\n"), {}),
    "r_edges.txt": (kept("r_edges.txt"), {}),
    "r_edges.csv": (kept("r_edges.csv"), {}),
    "r_edges2.csv": (kept("r_edges2.csv"), {}),
    "r_edges_plain.txt": (kept("r_edges_plain.txt"), {}),
    "string.protein.links.v12.0.txt": (text(links(head=STRING)), {}),
    "string.txt.gz": (lambda path: path.write_bytes(gzip.compress(links(head=STRING).encode())), {}),
    "string_detailed.txt": (
        text("\n".join([DETAILED, *(f"{a} {b} 0 0 {w:g}" for (a, b), w in zip(PAIRS, WEIGHTS, strict=True))])),
        {},
    ),
    "string_interactions.tsv": (text(STRING_TSV), {}),
    "biogrid.tab3.tsv": (text(BIOGRID), {}),
    "odd_names.csv": (
        text(edge_frame().assign(x="y").to_csv(index=False).replace("source,target", "left,right")),
        {"source": "left", "target": "right", "weight": "weight"},
    ),
    "excel_german.csv": (text(links(";", head="source;target;weight").replace("900", "900,0")), {}),
}
REJECTED_NODES = {
    "libreoffice.ods": (kept("libreoffice.ods"), r"in LibreOffice, save it as \.xlsx or \.csv"),
    "r_nodes.rds": (kept("r_nodes.rds"), r"in R, write\.csv"),
    "old.xls": (text("x"), r"in Excel, save it as \.xlsx"),
    "frame.pkl": (lambda path: frame().to_pickle(path), r"to_parquet.*may execute any code"),
    "nodes.zip": (text("PK"), "unpack it"),
    "nodes.csv.bz2": (text("BZ"), "unpack it"),
    "excel_windows.csv": (text(rows(","), "cp1252"), "not UTF-8 text.*CSV UTF-8"),
    "thousands.tsv": (text("id\tu\na\t1,234\nb\t5,678\n"), "`decimal=.comma.`.*`decimal=.point.`"),
    "both_marks.tsv": (text("id\tu\na\t1,5\nb\t5.25\n"), "`decimal=.comma.`.*`decimal=.point.`"),
    "factor.csv": (kept("r_factor.csv"), "`one_hot` encodes categories"),
    "numbered.csv": (lambda path: frame().reset_index().to_csv(path), "`id` the column of ids"),
}
REJECTED_EDGES = {
    "networkx.gexf": (lambda path: graph()[0].write_gexf(graph()[1], path), "export GraphML"),
    "networkx.net": (lambda path: graph()[0].write_pajek(graph()[1], path), "write_edgelist"),
    "cytoscape.cys": (text("PK"), r"export the network as \.sif, \.cyjs or GraphML"),
    "mitab.tsv": (text("#ID A\tID B\tAlt A\tAlt B\tMethod\na\tb\tx\ty\tz\n"), "`source`, `target` and `weight`"),
    "labelled.tsv": (text("a\tb\tbinds\nb\tc\tcuts\nc\td\tbinds\n"), "select the columns with `source`"),
    "entities.graphml": (text('<!DOCTYPE x [<!ENTITY a "b">]><graphml/>'), "define entities are not supported"),
}


def polars_oldest():
    pl = pytest.importorskip("polars")
    return pl.CompatLevel.oldest()


def test_at_least_sixty_files():
    assert len(NODES) + len(EDGES) + len(REJECTED_NODES) + len(REJECTED_EDGES) >= 60


def needs(name):
    for suffix, package in ((".parquet", "pyarrow"), (".feather", "pyarrow"), (".xlsx", "openpyxl"), (".h5ad", "h5py")):
        if name.endswith(suffix):
            pytest.importorskip(package)


@pytest.mark.parametrize("name", NODES)
def test_nodes(tmp_path, name, monkeypatch):
    write, said = NODES[name]
    needs(name)
    path = tmp_path / name
    write(path)
    if said is None:  # text without a name to go by: on standard input
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(path.read_bytes())))
        path, said = "-", {}
    nodes = read_nodes(path, layout=Layout(**said))
    assert nodes.ids.tolist() == IDS
    np.testing.assert_allclose(nodes.X, X, rtol=1e-6)
    assert nodes.columns == (("x1", "x2") if name.endswith(".npz") else ("u", "v"))


@pytest.mark.parametrize("name", EDGES)
def test_edges(tmp_path, name):
    write, said = EDGES[name]
    needs(name)
    write(tmp_path / name)
    table = read_edges(tmp_path / name, known=IDS, **said)
    assert sorted(map(sorted, table.text.tolist())) == sorted(map(sorted, PAIRS))
    if table.values.shape[1]:
        told = {tuple(sorted(pair)): float(w) for pair, w in zip(table.text.tolist(), table.values[:, 0], strict=True)}
        assert told == {tuple(sorted(pair)): w for pair, w in zip(PAIRS, WEIGHTS, strict=True)}
    else:
        assert any(word in name for word in ("empty", "no_data", "adjlist", "sif", "cytoscape.graphml", "biogrid"))


@pytest.mark.parametrize("name", REJECTED_NODES)
def test_other_tables_are_rejected_with_a_conversion(tmp_path, name):
    write, hint = REJECTED_NODES[name]
    write(tmp_path / name)
    with pytest.raises(ValueError, match=hint):
        read_nodes(tmp_path / name)


@pytest.mark.parametrize("name", REJECTED_EDGES)
def test_other_edge_lists_are_rejected_with_a_conversion(tmp_path, name):
    write, hint = REJECTED_EDGES[name]
    write(tmp_path / name)
    with pytest.raises(ValueError, match=hint):
        read_edges(tmp_path / name)


def test_transposed_tables_are_recognised_by_the_links(tmp_path):
    kept("r_transposed.csv")(tmp_path / "nodes.csv")
    kept("r_edges.csv")(tmp_path / "edges.csv")
    with pytest.raises(ValueError, match="`transpose=True`"):
        read_network(tmp_path / "edges.csv", nodes=tmp_path / "nodes.csv")
    found = read_network(tmp_path / "edges.csv", nodes=tmp_path / "nodes.csv", layout=Layout(transpose=True))
    assert found.n_links == 3 and any("read the columns from, to, weight" in note for note in found.notes)


def test_notes_say_how_a_file_was_read(tmp_path):
    kept("r_dec.txt")(tmp_path / "nodes.txt")
    notes = read_nodes(tmp_path / "nodes.txt").notes
    assert any("semicolons" in note for note in notes) and any("decimal commas" in note for note in notes)


def test_categories_become_columns_of_zeros_and_ones(tmp_path):
    kept("r_factor.csv")(tmp_path / "nodes.csv")
    nodes = read_nodes(tmp_path / "nodes.csv", layout=Layout(one_hot=("kind",)), missing="zero")
    assert nodes.columns == ("u", "v", "kind=kinase", "kind=tf")
    np.testing.assert_array_equal(nodes.X[:, 2:], [[1, 0], [0, 1], [1, 0], [0, 0]])
    assert [r.source for r in nodes.rejections] == ["Ä-1"], "a category that is missing is a missing feature"
    every = read_nodes(tmp_path / "nodes.csv", layout=Layout(one_hot=("*",)), missing="zero")
    np.testing.assert_array_equal(every.X, nodes.X)


@pytest.mark.parametrize(("decimal", "value"), [("comma", 1.234), ("point", 1234.0)])
def test_decimal_states_what_a_comma_means(tmp_path, decimal, value):
    (tmp_path / "n.tsv").write_text("id\tu\na\t1,234\nb\t0\n")
    assert read_nodes(tmp_path / "n.tsv", layout=Layout(decimal=decimal)).X[0, 0] == value


def test_sheets_and_layers_have_names(tmp_path):
    pytest.importorskip("openpyxl")
    excel_sheets(tmp_path / "book.xlsx")
    nodes = read_nodes(tmp_path / "book.xlsx")
    assert nodes.ids.tolist() == IDS and any("read the sheet 'features'" in note for note in nodes.notes)
    assert read_edges(f"{tmp_path / 'book.xlsx'}:links").text.tolist() == PAIRS
    with pytest.raises(ValueError, match="has no sheet 'other'; it has empty, features, links"):
        read_nodes(f"{tmp_path / 'book.xlsx'}:other")
    pytest.importorskip("h5py")
    np.testing.assert_allclose(read_nodes(f"{KEPT / 'anndata_sparse.h5ad'}:raw").X, 2 * X)
    assert read_nodes(f"{KEPT / 'anndata_sparse.h5ad'}:X_pca").X.shape == (4, 1)
    with pytest.raises(ValueError, match="has no none; it has X, raw, X_pca"):
        read_nodes(f"{KEPT / 'anndata_sparse.h5ad'}:none")


def test_missing_columns_are_named(tmp_path):
    read = partial(read_nodes, tmp_path / "n.csv")
    frame().to_csv(tmp_path / "n.csv")
    with pytest.raises(ValueError, match=r"n\.csv has no column 'w'; it has 'id', 'u', 'v'"):
        read(layout=Layout(columns=("w",)))
    assert read(layout=Layout(columns=("3",))).columns == ("v",), "by number"
    assert read(layout=Layout(columns=("?",))).columns == ("u", "v"), "by a pattern"

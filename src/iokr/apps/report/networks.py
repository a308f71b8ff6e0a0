"""Networks as files: GraphML and Cytoscape JSON, written by NetworkX."""

from __future__ import annotations

import io
import json
import re
from typing import TYPE_CHECKING

from iokr.apps.report.tables import plain

if TYPE_CHECKING:
    import networkx as nx

__all__ = ["to_cytoscape", "to_graphml"]

_NOT_XML = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def to_graphml(graph: nx.Graph) -> str:
    """A graph as GraphML, which NetworkX, Cytoscape, Gephi and yEd read.

    Examples
    --------
    >>> import networkx as nx
    >>> from iokr.apps.report import to_graphml
    >>> "<edge" in to_graphml(nx.Graph([("a", "b", {"score": 0.5})]))
    True
    """
    import networkx

    for text in _texts(graph):
        if _NOT_XML.search(text):
            raise ValueError(f"The text {text!a:.60} in `graph` has a character that GraphML cannot hold; remove it.")
    file = io.BytesIO()
    networkx.write_graphml_xml(graph, file, infer_numeric_types=True)
    return file.getvalue().decode()


def to_cytoscape(graph: nx.Graph) -> str:
    """A graph as Cytoscape JSON (.cyjs), which Cytoscape, cytoscape.js and NetworkX read.

    Examples
    --------
    >>> import json
    >>> import networkx as nx
    >>> from iokr.apps.report import to_cytoscape
    >>> content = json.loads(to_cytoscape(nx.Graph([("a", "b", {"score": 0.5})])))
    >>> content["elements"]["edges"][0]["data"]
    {'score': 0.5, 'source': 'a', 'target': 'b'}
    """
    import networkx

    content = plain(networkx.cytoscape_data(graph))  # NaN and infinities are null: JSON does not have them
    return json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _texts(graph: nx.Graph) -> list[str]:
    """All texts of a graph: ids, names of values, and values."""
    texts = list(graph.nodes)
    for *_, values in (*graph.nodes(data=True), *graph.edges(data=True)):
        texts += [*values, *(value for value in values.values() if isinstance(value, str))]
    return texts

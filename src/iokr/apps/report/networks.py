"""Networks as files: GraphML and Cytoscape JSON, written by NetworkX."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from iokr.apps.report.figures import require_report_packages
from iokr.apps.report.tables import number_of, plain

__all__ = ["Network", "to_cytoscape", "to_graphml"]

_NOT_XML = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


@dataclass(frozen=True)
class Network:
    """An undirected network whose nodes and links carry values.

    Parameters
    ----------
    nodes : mapping of id to mapping of name to value
    links : sequence of (id, id, mapping of name to value)

    Examples
    --------
    >>> from iokr.apps.report import Network
    >>> Network({"a": {}, "b": {"known": True}}, [("a", "b", {"score": 0.5})]).links[0][2]
    {'score': 0.5}
    """

    nodes: Mapping[str, Mapping[str, Any]]
    links: Sequence[tuple[str, str, Mapping[str, Any]]] = field(default_factory=tuple)


def to_graphml(network: Network) -> str:
    """The network as GraphML, which NetworkX, Cytoscape, Gephi and yEd read.

    Examples
    --------
    >>> from iokr.apps.report import Network, to_graphml
    >>> "<edge" in to_graphml(Network({"a": {}, "b": {}}, [("a", "b", {"score": 0.5})]))
    True
    """
    graph = _graph(network)
    for text in _texts(network):
        if _NOT_XML.search(text):
            raise ValueError(f"The text {text!a:.60} in `network` has a character that GraphML cannot hold; remove it.")
    import networkx

    file = io.BytesIO()
    networkx.write_graphml_xml(graph, file, infer_numeric_types=True)
    return file.getvalue().decode()


def to_cytoscape(network: Network) -> str:
    """The network as Cytoscape JSON (.cyjs), which Cytoscape, cytoscape.js and NetworkX read.

    Examples
    --------
    >>> import json
    >>> from iokr.apps.report import Network, to_cytoscape
    >>> content = json.loads(to_cytoscape(Network({"a": {}, "b": {}}, [("a", "b", {"score": 0.5})])))
    >>> content["elements"]["edges"][0]["data"]
    {'score': 0.5, 'source': 'a', 'target': 'b'}
    """
    graph = _graph(network)
    import networkx

    content = plain(networkx.cytoscape_data(graph))  # NaN and infinities are null: JSON does not have them
    return json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _graph(network: Network) -> Any:
    """The network as a graph of NetworkX, with values of Python's types."""
    require_report_packages("networkx")
    import networkx

    graph = networkx.Graph()
    graph.add_nodes_from((node, _values(values)) for node, values in network.nodes.items())
    graph.add_edges_from((source, target, _values(values)) for source, target, values in network.links)
    return graph


def _values(values: Mapping[str, Any]) -> dict[str, Any]:
    found = {name: number_of(value) for name, value in values.items()}
    for name, value in found.items():
        if not isinstance(value, (str, bool, int, float)):
            raise TypeError(f"The value {value!r:.60} of `{name}` must be text, a number or a truth value.")
    return found


def _texts(network: Network) -> list[str]:
    """All texts of a network: ids, names of values, and values."""
    texts = list(network.nodes)
    for values in (*network.nodes.values(), *(values for *_, values in network.links)):
        texts += [*values, *(value for value in values.values() if isinstance(value, str))]
    return texts

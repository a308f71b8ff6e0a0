"""Molecules as graphs: read, written, and refused."""

import networkx as nx
import numpy as np
import pytest

from iokr.chem import BadMolecule, graph_smiles, molecule_graph
from iokr.kernels import WeisfeilerLehman

pytest.importorskip("rdkit", reason="needs the extra chem")


@pytest.mark.parametrize("smiles", ["CC=O", "c1ccccc1O", "C#N", "C1CC1", "C.O", "CCO"])
def test_there_and_back(smiles):
    from rdkit import Chem

    graph = molecule_graph(smiles)
    assert graph_smiles(graph) == Chem.CanonSmiles(smiles)
    order = np.random.default_rng(0).permutation(len(graph[1]))
    moved = graph[0][np.ix_(order, order)], [graph[1][i] for i in order], graph[2][np.ix_(order, order)]
    assert graph_smiles(moved) == graph_smiles(graph)


def test_without_bond_orders_all_are_single():
    adjacency, labels, _ = molecule_graph("C=O")
    assert graph_smiles((adjacency, labels)) == "CO"
    G = nx.Graph([(0, 1)])
    nx.set_node_attributes(G, {0: "C", 1: "O"}, "label")
    nx.set_edge_attributes(G, {(0, 1): "="}, "label")
    assert graph_smiles(G) == "C=O"


def test_impossible_valences_are_accepted_but_have_no_smiles():
    graph = molecule_graph("C(C)(C)(C)(C)C")
    assert graph[0].sum() == 10
    with pytest.raises(BadMolecule, match=r"There is no molecule with these atoms and bonds: .*valence"):
        graph_smiles(graph)


def test_bonds_tell_molecules_apart():
    acid, alcohol = molecule_graph("CC=O"), molecule_graph("CCO")
    kernel = WeisfeilerLehman(1)
    assert kernel([acid], [alcohol])[0, 0] < kernel([acid])[0, 0]
    assert kernel([acid[:2]], [alcohol[:2]])[0, 0] == kernel([acid[:2]])[0, 0]


def test_bad_input():
    with pytest.raises(BadMolecule, match="`smiles` must be a molecule"):
        molecule_graph("C(")
    with pytest.raises(BadMolecule, match="`smiles` must be a molecule"):
        molecule_graph("\ud800")
    with pytest.raises(BadMolecule, match="`smiles` must be a molecule"):
        molecule_graph("")
    with pytest.raises(TypeError, match="must be a string"):
        molecule_graph(3)
    with pytest.raises(BadMolecule, match="'Xx' is not an element"):
        graph_smiles((np.zeros((1, 1)), ["Xx"]))
    with pytest.raises(BadMolecule, match=r"'\?' is not a bond"):
        graph_smiles((np.array([[0, 1], [1, 0]]), "CC", [["", "?"], ["?", ""]]))

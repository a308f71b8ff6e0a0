"""Published experiments run again, with our numbers and theirs: `iokr reproduce`.

An experiment is an entry of `EXPERIMENTS` and a module with a `STUDY` (see `iokr_lab.study`); the module is imported
when it runs, so that the list is cheap.
"""

from iokr_lab.experiment import Experiment

__version__ = "0.1.0"

__all__ = ["EXPERIMENTS", "Experiment", "find"]

EXPERIMENTS = (
    Experiment(
        name="usps",
        title="The lower half of a digit from its upper half",
        paper="Kadri, Ghavamzadeh, Preux 2012 (K12), Table 2",
        module="images.usps",
        data=("usps",),
    ),
    Experiment(
        name="ocr",
        title="Handwritten words, read letter by letter, with operators that know the outputs",
        paper="Kadri, Ghavamzadeh, Preux 2012 (K12), Table 3",
        module="words.ocr",
        data=("ocr_letters",),
    ),
    Experiment(
        name="nci",
        title="Molecules against 59 cancer cell lines, tasks coupled and not",
        paper="Brouard, Szafranski, d'Alché-Buc 2016 (B16), Figures 6 and 7",
        module="tasks.nci",
        data=("nci_cancer",),
    ),
    Experiment(
        name="graphs",
        title="Graphs without candidates: blocks that divide, and molecules from fingerprints and strings",
        paper="Brogat-Motte, Flamary, Brouard, Rousu, d'Alché-Buc 2022, the graphs of their public example; QM9",
        module="graphs.graphs",
        data=("qm9",),
    ),
    Experiment(
        name="pairs",
        title="Links as unordered pairs: between the tensor product kernel and local models",
        paper="Hue, Vert 2010 (HV10), Table 1 and Figure 2",
        module="pairs.pairs",
        data=("yeast_ppi", "yeast_metabolic"),
    ),
    Experiment(
        name="duality",
        title="Test error and sparsity of ε-ridge, ε-SVR and Huber on yeast labels",
        paper="Laforgue, Lambert, Brogat-Motte, d'Alché-Buc 2020, yeast",
        module="losses.duality",
        data=("duality2020_results", "multilabel"),
    ),
    Experiment(
        name="robust",
        title="Outputs with a fraction of outliers: ridge against Huber and the ε losses",
        paper="the robustness that Laforgue et al. 2020 claim, on data made here",
        module="losses.robust",
    ),
    Experiment(
        name="nips",
        title="Who wrote NIPS papers with whom, from the words of their papers",
        paper="Brouard, Szafranski, d'Alché-Buc 2016 (B16), Table 3 and Figure 5; Brouard et al. 2011 (B11), Table 1",
        module="links.nips",
        data=("nips_coauthorship",),
    ),
    Experiment(
        name="yeast-ppi",
        title="Interactions of yeast proteins from their expression, ridge and baselines",
        paper="Brouard, d'Alché-Buc, Szafranski 2011 (B11), Tables 2 and 3",
        module="links.yeast_ppi",
        data=("yeast_ppi",),
    ),
    Experiment(
        name="yeast-go",
        title="Interactions of yeast proteins from their annotations, ridge and baselines",
        paper="Brouard, Szafranski, d'Alché-Buc 2016 (B16), Tables 4 to 7, on another network",
        module="links.yeast_go",
        data=("yeast_go", "yeast_ppi"),
    ),
    Experiment(
        name="synthetic-networks",
        title="Random networks reconstructed from 5, 10 and 20 % of their nodes",
        paper="Brouard, Szafranski, d'Alché-Buc 2016 (B16), Tables 8, 9, Figures 3, 4, 8; B11, Figure 1",
        module="synthetic_networks.synthetic_networks",
    ),
    Experiment(
        name="label-ranking",
        title="Orders of labels from features, by kernels on rankings and exact decoding",
        paper="the sets of Korba, Garcia, d'Alché-Buc 2018, Table 1",
        module="rankings.label_ranking",
        data=("label_ranking",),
    ),
    Experiment(
        name="ocr-full",
        title="Handwritten words from their letters, the neighbours of these and a dictionary, all ten folds",
        paper="the ten folds of Taskar, Guestrin, Koller 2003",
        module="words.ocr_full",
        data=("ocr_letters",),
    ),
    Experiment(
        name="multilabel",
        title="Label sets on official splits: output kernels and forests, one-vs-rest, ridge and random forests",
        paper="the official splits of bibtex, corel5k, emotions, scene, yeast and birds (Mulan)",
        module="label_sets.multilabel",
        data=("multilabel",),
    ),
    Experiment(
        name="sketch",
        title="Error against rank and time of landmarks, sketches and random frequencies",
        paper="no published table: tags of bibtex and fingerprints of MassBank, compared with the exact fit",
        module="label_sets.sketch",
        data=("multilabel", "massbank_msms"),
    ),
    Experiment(
        name="inflection",
        title="Inflected forms of words from 100 and 1000 examples, string to string",
        paper="the CoNLL–SIGMORPHON 2017 shared task 1, three languages",
        module="words.inflection",
        data=("inflection",),
    ),
    Experiment(
        name="coverage",
        title="How often conformal sets hold the truth, and how large they are",
        paper="the theorems on conformal sets, measured on labels, curves, spectra and numbers",
        module="coverage.coverage",
        data=("functional", "msms_fp490", "multilabel"),
    ),
    Experiment(
        name="metabolites",
        title="Molecules of MassBank's spectra among those of the same formula, compared with library search",
        paper="after d'Alché-Buc 2022 (A22), Table 1, on other spectra",
        module="spectra.metabolites",
        data=("massbank_msms",),
    ),
    Experiment(
        name="metabolites-losses",
        title="Ridge, Huber and ε-ridge on MassBank's spectra at two penalties",
        paper="d'Alché-Buc 2022 (A22), Table 1, on other spectra",
        module="spectra.losses",
        data=("massbank_msms",),
    ),
    Experiment(
        name="msms-fp490",
        title="Molecules of 490 spectra, with and without a candidate's own spectra",
        paper="the set of Su and Rousu, small enough for seconds",
        module="spectra.fp490",
        data=("msms_fp490",),
    ),
    Experiment(
        name="widths",
        title="A width for every feature or one for all, by the evidence or by leave-one-out",
        paper="small regressions of the R packages MASS and alr3, on new rows",
        module="selection.widths",
        data=("quantile",),
    ),
    Experiment(
        name="defaults",
        title="Estimators without arguments compared with tuned conventional models, on numbers, labels and label sets",
        paper="no published table: real tables of UCI, R packages, scikit-learn and statsmodels; Mulan's label sets",
        module="selection.defaults",
        data=("uci_20splits", "quantile", "usps", "multilabel"),
    ),
    Experiment(
        name="choices",
        title="What the searches over parameters choose on networks, compared with loops over single models",
        paper="the grids of B11, Sec. 6.2, and of HV10, Table 1",
        module="selection.choices",
        data=("yeast_ppi", "yeast_metabolic"),
    ),
    Experiment(
        name="lip",
        title="Lip acceleration from muscle activity with outliers, Huber losses on curves",
        paper="Laforgue, Lambert, Brogat-Motte, d'Alché-Buc 2020, functional experiment",
        module="curves.lip",
        data=("lip_emg", "duality2020_results"),
    ),
    Experiment(
        name="curves",
        title="Curves from curves: integral kernels and bases compared with components, neighbours and linear models",
        paper="weather, gait and growth of Ramsay and Silverman; nerve tracts of Goldsmith et al.",
        module="curves.curves",
        data=("functional",),
    ),
    Experiment(
        name="quantiles",
        title="Quantiles of 20 small regressions at many levels: crossings, loss, cover of intervals",
        paper="the sets of Sangnier et al. 2016 and Brault et al. 2019; the toy of d'Alché-Buc 2022 (A22), Figure 1",
        module="quantiles.quantiles",
        data=("quantile",),
    ),
    Experiment(
        name="reduced-rank",
        title="Fewer components of the fitted values: accuracy and time of ranking against the rank",
        paper="d'Alché-Buc 2022 (A22), Table 2, measured on bibtex and spectra",
        module="ranks.reduced_rank",
        data=("multilabel", "msms_fp490"),
    ),
    Experiment(
        name="surrogate",
        title="Closed form, network and forest on the same coordinates of an output kernel, over the training rows",
        paper="after the DSOKR papers (El Ahmad et al. 2024), on USPS halves and bibtex",
        module="surrogates.surrogate",
        data=("usps", "multilabel"),
    ),
    Experiment(
        name="digits",
        title="The lower half of a digit from its upper half, on scikit-learn's digits",
        paper="after K12, Table 2, on data that needs no file",
        module="images.digits",
    ),
)


def find(name: str) -> Experiment:
    """The experiment called `name`.

    Examples
    --------
    >>> from iokr_lab import find
    >>> find("usps").paper
    'Kadri, Ghavamzadeh, Preux 2012 (K12), Table 2'
    """
    for experiment in EXPERIMENTS:
        if experiment.name == name:
            return experiment
    names = ", ".join(experiment.name for experiment in EXPERIMENTS)
    raise ValueError(f"there is no experiment {name!r}; there is {names}.")

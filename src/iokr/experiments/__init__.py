"""Published tables run again, with our figures beside theirs: `iokr reproduce`.

An experiment is one file here and one line in `EXPERIMENTS`. Its file has a function `run(*, seed, repeat, progress)`
that returns a `Report`; it is imported when it runs, so the list costs nothing.
"""

from iokr.experiments.base import Experiment, Progress, silent

__all__ = ["DEMO", "EXPERIMENTS", "Experiment", "Progress", "find", "silent"]

EXPERIMENTS = (
    Experiment(
        name="usps",
        title="The lower half of a digit from its upper half",
        paper="Kadri, Ghavamzadeh, Preux 2012 (K12), Table 2",
        data=("usps",),
        threads=1,
    ),
    Experiment(
        name="duality",
        title="Test error and sparsity of ε-ridge, ε-SVR and Huber on yeast labels",
        paper="Laforgue, Lambert, Brogat-Motte, d'Alché-Buc 2020, yeast",
        data=("duality2020_results", "multilabel"),
        threads=1,
    ),
    Experiment(
        name="robust",
        title="Outputs with a share of outliers: ridge against Huber and the ε losses",
        paper="the robustness that Laforgue et al. 2020 claim, on data made here",
        threads=1,
    ),
)

DEMO = Experiment(name="digits", title="The lower half of a digit from its upper half", paper="", threads=1)


def find(name: str) -> Experiment:
    """The experiment called `name`.

    Examples
    --------
    >>> from iokr.experiments import find
    >>> find("usps").paper
    'Kadri, Ghavamzadeh, Preux 2012 (K12), Table 2'
    """
    for experiment in EXPERIMENTS:
        if experiment.name == name:
            return experiment
    names = ", ".join(experiment.name for experiment in EXPERIMENTS)
    raise ValueError(f"there is no experiment {name!r}; there is {names}.")

"""Curves of growth, gait, weather, nerve tracts and lips: functional data."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iokr.datasets.home import find_data
from iokr_lab.data.archives import check_rows, read_arrays

__all__ = ["Curves", "Growth", "Lip", "load_dti", "load_gait", "load_growth", "load_lip", "load_weather"]


@dataclass(frozen=True)
class Growth:
    """Heights of the Berkeley growth study, in cm."""

    age: NDArray[np.float64]  # (31,) years, from 1 to 18
    heights: NDArray[np.float64]  # (93, 31), boys first
    boy: NDArray[np.bool_]  # (93,)


@dataclass(frozen=True)
class Curves:
    """Input and output curves in rows, on points of [0, 1]; NaN for missing values."""

    X: NDArray[np.float64]  # (n, S)
    X_points: NDArray[np.float64]  # (S,)
    Y: NDArray[np.float64]  # (n, T)
    Y_points: NDArray[np.float64]  # (T,)


@dataclass(frozen=True)
class Lip:
    """Muscle activity and lip acceleration during a syllable, and the errors of Laforgue et al. (2020)."""

    emg: NDArray[np.float64]  # (32, 641)
    lip: NDArray[np.float64]  # (32, 641)
    t: NDArray[np.float64]  # (641,), 0 to 0.64 s
    errors: NDArray[np.float64]  # (5, 50): m in 4, 5, 6, 7, 15 by κ in linspace(.05, 2, 50)


def load_growth() -> Growth:
    """The growth curves of `data_home()`/functional/growth_gait.npz."""
    path = find_data("functional/growth_gait.npz")
    names = ("growth_age", "growth_boys", "growth_girls")
    age, boys, girls = read_arrays(path, "a growth", names).values()
    if boys.ndim != 2 or girls.ndim != 2 or boys.shape[1:] != age.shape or girls.shape[1:] != age.shape:
        raise ValueError(
            f"{path} must have heights (n, {len(age)}) at {len(age)} ages, got {boys.shape} and {girls.shape}."
        )
    heights = np.concatenate([boys, girls]).astype(float)
    boy = np.arange(len(heights)) < len(boys)
    return Growth(age.astype(float), heights, boy)


def load_gait() -> Curves:
    """Hip angle to knee angle over one stride, 39 children, of `data_home()`/functional/growth_gait.npz."""
    path = find_data("functional/growth_gait.npz")
    hip, knee = read_arrays(path, "a gait", ("gait_hip", "gait_knee")).values()
    return _curves(path, hip, knee, periodic=True)


def load_weather() -> Curves:
    """Temperature to log10 precipitation over a year, 35 stations, of `data_home()`/functional/canadian_weather.npz."""
    path = find_data("functional/canadian_weather.npz")
    temperature, precipitation = read_arrays(path, "a weather", ("temp", "log10_precip")).values()
    return _curves(path, temperature, precipitation, periodic=True)


def load_dti() -> Curves:
    """Profiles of two nerve tracts at the first visit, of `data_home()`/functional/dti.npz."""
    path = find_data("functional/dti.npz")
    cca, rcst, visit = read_arrays(path, "a DTI", ("cca", "rcst", "visit")).values()
    check_rows(path, len(visit), {"cca": cca, "rcst": rcst})
    known = (visit == 1) & ~np.isnan(cca).any(axis=1) & ~np.isnan(rcst).all(axis=1)
    return _curves(path, cca[known], rcst[known], periodic=False)


def load_lip() -> Lip:
    """Lip curves of `data_home()`/lip_emg/lip_emg.npz, and the authors' errors of duality2020_results/results.npz."""
    path = find_data("lip_emg/lip_emg.npz")
    emg, lip, t = read_arrays(path, "a lip", ("emg", "lip", "t")).values()
    results = find_data("duality2020_results/results.npz")
    errors = read_arrays(results, "a result", ("Lip_err",))["Lip_err"]
    if emg.shape != lip.shape or emg.shape[1:] != t.shape or errors.shape != (5, 50):
        raise ValueError(f"{path} must have curves (n, {len(t)}), got {emg.shape} and {lip.shape}.")
    return Lip(emg.astype(float), lip.astype(float), t.astype(float), errors.astype(float))


def _curves(path: Any, X: NDArray[Any], Y: NDArray[Any], *, periodic: bool) -> Curves:
    if X.ndim != 2 or Y.ndim != 2 or len(X) != len(Y):
        raise ValueError(f"{path} must have as many input as output curves, got {X.shape} and {Y.shape}.")

    def points(size: int) -> NDArray[np.float64]:
        if periodic:
            return (np.arange(size) + 0.5) / size
        return np.linspace(0.0, 1.0, size)

    return Curves(X.astype(float), points(X.shape[1]), Y.astype(float), points(Y.shape[1]))

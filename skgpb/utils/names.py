"""The likely parameter for a name that a constructor does not have."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from inspect import get_annotations

#: The decorator that turns the fields of a class into parameters.
DATACLASS = "@dataclass(eq=False, repr=False, kw_only=True)"
#: Names in other libraries, and the names that may be meant here; calls are for classes with
#: ``run``.
SYNONYMS = {
    "acquisition": ["rule", "TargetsOptimizer(rule=...)"],
    "acquisition_function": ["rule", "TargetsOptimizer(rule=...)"],
    "acq_func": ["rule", "TargetsOptimizer(rule=...)"],
    "arms": ["pool"],
    "budget": ["run(objective, budget=...)"],
    "candidates": ["arms", "pool"],
    "choices": ["arms", "pool"],
    "covariance_function": ["kernel"],
    "delta": ["failure_probability", "guarantee"],
    "diameter": ["variation"],
    "dimensions": ["bounds"],
    "domain": ["bounds"],
    "init_points": ["n_initial"],
    "kappa": ["beta"],
    "maximize": ["direction"],
    "minimize": ["direction"],
    "mode": ["direction"],
    "n_calls": ["run(objective, budget=...)"],
    "n_iter": ["run(objective, budget=...)"],
    "n_jobs": ["run(objective, n_jobs=...)"],
    "n_startup_trials": ["n_initial"],
    "n_trials": ["run(objective, budget=...)"],
    "noise": ["alpha"],
    "noise_level": ["alpha"],
    "noise_variance": ["alpha"],
    "pbounds": ["bounds"],
    "points": ["arms", "pool"],
    "pool": ["arms"],
    "price": ["cost"],
    "rng": ["random_state"],
    "search_space": ["bounds"],
    "seed": ["random_state"],
    "space": ["bounds"],
}


def check_parameter_names(cls: type, given: Iterable[str], known: list[str]) -> None:
    """Raise TypeError, with the nearest name, if a class has no parameter with a given name."""
    for name in given:
        if name in known:
            continue
        likely = [
            each
            for each in SYNONYMS.get(name, [])
            if each in known or ("(" in each and hasattr(cls, "run"))
        ] or get_close_matches(name, known, 1)
        hint = f"did you mean {likely[0]!r}?" if likely else f"it has {', '.join(known)}"
        if (owner := _declaring_class(cls, name)) is not None:
            hint = f"{owner.__name__} declares it, but lacks {DATACLASS}"
        raise TypeError(f"{cls.__name__} has no parameter {name!r}; {hint}")


def _declaring_class(cls: type, name: str) -> type | None:
    """Return the class that declares a field without being a dataclass; None if there is none."""
    for each in cls.__mro__:
        if "__dataclass_fields__" in vars(each):
            return None
        if name in get_annotations(each):
            return each
    return None

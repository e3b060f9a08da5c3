"""Public names that are on their way out: the old one works, and warns, for two minor releases."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar
from warnings import warn

Named = TypeVar("Named", bound=Callable[..., Any])

#: What is deprecated: its name, and the release in which it is to be gone.
DEPRECATED: dict[str, str] = {}


def release_after(since: str) -> str:
    """Return the release in which a name is gone that is deprecated since another.

    Examples
    --------
    >>> release_after("0.3")
    '0.5'
    """
    major, minor = since.split(".")[:2]
    return f"{major}.{int(minor) + 2}"


def deprecated(instead: str, since: str) -> Callable[[Named], Named]:
    """Mark a function, method or class as deprecated: calling it warns.

    Parameters
    ----------
    instead : str
        What to use, in a few words.
    since : str
        The release that says so first, as "0.3"; two minor releases later it is gone.

    Returns
    -------
    mark : callable
        Decorator; its docstring says so as well.

    Examples
    --------
    >>> import warnings
    >>> @deprecated("use total", since="0.3")
    ... def add_up(values):
    ...     return sum(values)
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     _ = add_up([1, 2])
    >>> print(caught[0].message)
    add_up is deprecated since 0.3 and will be gone in 0.5: use total
    """
    gone = release_after(since)

    def mark(named: Named) -> Named:
        DEPRECATED[f"{named.__module__}.{named.__qualname__}"] = gone
        message = f"{named.__name__} is deprecated since {since} and will be gone in {gone}: "
        message += instead
        note = f".. deprecated:: {since}\n    {instead[0].upper()}{instead[1:]}.\n"
        if isinstance(named, type):
            # On the class itself, so that it stays one; a subclass warns as well.
            cls: Any = named
            cls.__init__ = _warning(cls.__init__, message)
            cls.__doc__ = f"{cls.__doc__ or ''}\n\n{note}"
            return cls
        warns: Any = _warning(named, message)
        warns.__doc__ = f"{named.__doc__ or ''}\n\n{note}"
        return warns

    return mark


def renamed_parameter(old: str, new: str, since: str) -> Callable[[Named], Named]:
    """Let a function, or ``__init__``, take a parameter under the name that it had, and warn.

    Parameters
    ----------
    old, new : str
        The names; only the new one is in the signature.
    since : str
        As for :func:`deprecated`.

    Returns
    -------
    mark : callable
        Decorator.

    Examples
    --------
    >>> import warnings
    >>> @renamed_parameter("n", "budget", since="0.3")
    ... def play(budget=10):
    ...     return budget
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     play(n=5)
    5
    >>> print(caught[0].message)
    n of play is called budget since 0.3; the old name will be gone in 0.5
    """
    gone = release_after(since)

    def mark(named: Named) -> Named:
        name = named.__qualname__.rpartition(".<locals>.")[2].removesuffix(".__init__")
        DEPRECATED[f"{named.__module__}.{named.__qualname__}({old})"] = gone

        @wraps(named)
        def translated(*args: Any, **kwargs: Any) -> Any:
            if old in kwargs:
                if new in kwargs:
                    raise TypeError(f"{name} got both {new} and {old}, which is its old name")
                kwargs[new] = kwargs.pop(old)
                message = f"{old} of {name} is called {new} since {since}"
                warn(f"{message}; the old name will be gone in {gone}", FutureWarning, stacklevel=2)
            return named(*args, **kwargs)

        either: Any = translated
        return either

    return mark


def _warning(named: Callable[..., Any], message: str) -> Callable[..., Any]:
    """Warn before each call."""

    @wraps(named)
    def warns(*args: Any, **kwargs: Any) -> Any:
        warn(message, FutureWarning, stacklevel=2)
        return named(*args, **kwargs)

    return warns

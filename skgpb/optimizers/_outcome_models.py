"""Models of the outcomes that have limits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from skgpb.domains.arms import ArmSet
from skgpb.optimizers._feedback import Feedback
from skgpb.optimizers._limits import OutcomeConstraints, checked_limits
from skgpb.optimizers._norm_bound import CONSISTENT
from skgpb.optimizers._posterior_cache import ExpectedAnswers
from skgpb.optimizers._record import Record
from skgpb.surrogate.model import Model, ModelOptions


class OutcomeModels:
    """A model of each outcome, like that of f, which follows what was measured.

    Parameters
    ----------
    feedback : Feedback
        It makes their kernels.
    queries : ArmSet
        It says what a query observes.
    model : Model
        That of f, before it has learned anything.
    """

    def __init__(self, feedback: Feedback, queries: ArmSet, model: Model) -> None:
        self._feedback, self._queries = feedback, queries
        self._make = partial(
            Model,
            n_columns=feedback.n_columns,
            prior=model.prior,
            usual_noise=model.usual_noise,
            origin=model.process.origin,
            seed=model.seed,
        )
        # By name: the model, how many events it has seen, and what it expects of pending queries.
        self._known: dict[str, tuple[Model, int, ExpectedAnswers]] = {}

    def model_of(self, name: str, record: Record, options: ModelOptions) -> Model:
        """Return the model of an outcome, once it has seen all of a record.

        Parameters
        ----------
        name : str
            Name of the outcome.
        record : Record
            The record of the run.
        options : ModelOptions
            How f is learned.
        """
        # It is put back at the end: after an interruption it begins anew.
        known = self._known.pop(name) if name in self._known else None
        model, n_seen, expected = known or (self._new(options), 0, ExpectedAnswers())
        for i, (kind, *rest) in enumerate(record.events[n_seen:], n_seen):
            if kind == "outcomes" and rest[1].get(name) is not None:
                stratum = record.stratum_of_last(i)
                model = model.with_effects() if stratum else model
                expected.forget()
                model.observe(self._queries.block_of(rest[0]), rest[1][name], stratum=stratum)
                if model.is_due:
                    model = model.learned()
        self._known[name] = model, len(record.events), expected
        return model

    def _new(self, options: ModelOptions) -> Model:
        """Return a model that has learned nothing."""
        own = replace(
            options,
            noise=None,
            optimizer=None if options.optimizer == CONSISTENT else options.optimizer,
            # Where a limit lies is found from few answers, and a second of all it takes is short.
            relearn="growing" if options.relearn == "doubling" else options.relearn,
            normalize_y=True,
        )
        return self._make(self._feedback.over_rows(), options=own)

    def constraints(
        self, limits: Any, record: Record, options: ModelOptions, pending: Sequence[Any]
    ) -> OutcomeConstraints | None:
        """Return what is known of limits once pending queries are answered as expected.

        It is None without limits, or answers.
        """
        if not limits or not record.n_known:
            return None
        blocks = [self._queries.block_of(query) for query in pending]
        known = []
        for name, ends in checked_limits(limits).items():
            if not (model := self.model_of(name, record, options)).n_answers:
                continue
            noises = np.full(len(pending), model.alpha + model.model_noise)
            *_, expected = self._known[name]
            known.append((*ends, expected.of(model.process, [*pending], blocks, noises)))
        return OutcomeConstraints(known) if known else None

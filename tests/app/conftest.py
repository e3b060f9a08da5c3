"""Templates are compiled once for all apps of a test run, and not for each."""

from __future__ import annotations

from importlib.util import find_spec

import pytest


@pytest.fixture(scope="session", autouse=True)
def _templates_are_compiled_once():
    if find_spec("flask") is None:
        yield
        return
    from flask import Flask
    from jinja2 import BytecodeCache

    class Compiled(BytecodeCache):
        kept: dict[str, bytes] = {}

        def load_bytecode(self, bucket):
            if bucket.key in self.kept:
                bucket.bytecode_from_string(self.kept[bucket.key])

        def dump_bytecode(self, bucket):
            self.kept[bucket.key] = bucket.bytecode_to_string()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Flask, "jinja_options", {"bytecode_cache": Compiled()})
        yield

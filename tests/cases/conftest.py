"""What the cases put calls into order with."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from toolexec.testing import Gate, Journal


@pytest.fixture
def gate(tmp_path: Path) -> Iterator[Gate]:
    with Gate(tmp_path / "gate") as made:
        yield made


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    return Journal(tmp_path / "journal")

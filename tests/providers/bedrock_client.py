"""boto3's client of a server on the loopback."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Iterator
from typing import Any

# Without stubs.
boto3: Any = importlib.import_module("boto3")
config: Any = importlib.import_module("botocore.config")


@contextlib.contextmanager
def client_of(url: str) -> Iterator[Any]:
    client = boto3.client(
        "bedrock-runtime",
        region_name="us-east-1",
        aws_access_key_id="x",
        aws_secret_access_key="x",
        endpoint_url=url,
        config=config.Config(retries={"total_max_attempts": 1}),
    )
    with contextlib.closing(client):
        yield client

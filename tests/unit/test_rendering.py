"""What a model gets to read of Returns: reveal, redact, and the limit of a result's size."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

import toolexec as tx
from toolexec._rendering import cut_text


def fail(text: str) -> str:
    raise ValueError(text)


def give_up(text: str) -> str:
    raise tx.ToolError(text)


def say(text: str) -> str:
    return text


def show(text: str) -> list[Any]:
    return [tx.Text(text), tx.Image(b"picture"), tx.Text("behind it")]


def sent(tool: Callable[..., Any], text: str, **options: Any) -> str:
    """What the model is sent for one call."""
    ctx = tx.Context(tools=[tx.as_tool(tool, name="tool")], strategy="sequential", **options)
    ctx.receive([{"id": "c1", "name": "tool", "arguments": {"text": text}}])
    ctx.wait()
    content: str = ctx.messages("openai")[0]["content"]
    return content


def test_a_models_error_text_has_type_and_message_and_no_backtrace() -> None:
    assert {"error": True, "type": "ValueError", "message": "secret"} == json.loads(sent(fail, "secret"))


def test_reveal_type_keeps_the_message_from_the_model_alone() -> None:
    ctx = tx.Context(tools=[tx.as_tool(fail)], strategy="sequential", reveal="type")
    ctx.receive([{"id": "c1", "name": "fail", "arguments": {"text": "secret"}}])
    (ret,) = ctx.wait()
    told = json.loads(ctx.messages("openai")[0]["content"])

    assert {"error": True, "type": "ValueError", "message": "the tool failed"} == told
    assert "secret" == ret.value["message"]


def test_the_text_of_a_tool_error_is_for_the_model_whatever_is_revealed() -> None:
    told = json.loads(sent(give_up, "try a shorter name", reveal="type"))

    assert "try a shorter name" == told["message"]


def test_what_does_not_fit_is_told_whatever_is_revealed() -> None:
    ctx = tx.Context(tools=[tx.as_tool(fail)], strategy="sequential", reveal="type")
    ctx.receive([{"id": "c1", "name": "fail", "arguments": {"txt": "secret"}}])
    ctx.wait()

    assert "txt" in ctx.messages("openai")[0]["content"]


def test_redact_sees_what_is_sent_of_a_failure_and_nothing_of_a_result() -> None:
    def redact(text: str) -> str:
        return text.replace("secret", "***")

    assert "***" in sent(fail, "my secret", redact=redact)
    assert "my secret" == sent(say, "my secret", redact=redact)


@pytest.mark.parametrize(
    "redact",
    [lambda text: 1 / 0, lambda text: None, lambda text: " "],
    ids=["it raises", "it gives no text", "it leaves nothing"],
)
def test_a_redact_that_fails_withholds_the_error(redact: Any) -> None:
    told = sent(fail, "secret", redact=redact)

    assert "secret" not in told
    assert "withheld" in told


def test_a_redact_that_is_async_is_refused_and_one_that_gives_a_coroutine_withholds() -> None:
    async def redact(text: str) -> str:
        return text

    with pytest.raises(tx.DeclarationError, match="async"):
        tx.Context(redact=redact)  # type: ignore[arg-type]  # what a user may write
    assert "(this error is withheld)" in sent(fail, "secret", redact=lambda text: redact(text))  # noqa: PLW0108 - hides it


@pytest.mark.parametrize("size", [1_000, 101, 100_000])
def test_a_result_that_is_too_large_is_cut_to_the_limit_and_says_how_much(size: int) -> None:
    told = sent(say, "x" * size, max_result_bytes=100)
    kept = told.split("\n[cut")[0]

    assert 100 >= len(told.encode())
    assert told == f"{kept}\n[cut: the result has {size} bytes, of which the last {size - len(kept)} are left out]"
    assert set(kept) == {"x"}


def test_a_result_of_just_the_limit_is_whole() -> None:
    assert "x" * 100 == sent(say, "x" * 100, max_result_bytes=100)


def test_the_return_keeps_all_of_a_result_that_was_cut() -> None:
    ctx = tx.Context(tools=[tx.as_tool(say)], strategy="sequential", max_result_bytes=100)
    ctx.receive([{"id": "c1", "name": "say", "arguments": {"text": "x" * 5_000}}])
    (ret,) = ctx.wait()

    assert "x" * 5_000 == ret.value


def test_the_texts_of_a_result_with_pictures_share_the_limit() -> None:
    ctx = tx.Context(tools=[tx.as_tool(show)], strategy="sequential", max_result_bytes=200)
    ctx.receive([{"id": "c1", "name": "show", "arguments": {"text": "x" * 5_000}}])
    ctx.wait()
    blocks = ctx.messages("anthropic")[0]["content"][0]["content"]

    assert ["text", "image", "text"] == [block["type"] for block in blocks]
    assert "cut" in blocks[2]["text"]
    assert "behind it" not in blocks[2]["text"]
    assert 200 >= len((blocks[0]["text"] + blocks[2]["text"]).encode())


def test_pictures_and_files_have_the_limit_too_and_the_return_keeps_them() -> None:
    notes, other = tx.File(b"f" * 50, "text/plain", "notes"), tx.File(b"g", name="g")
    parts = [tx.Image(b"p" * 150), tx.Image(b"q" * 150), notes, other]
    ctx = tx.Context(tools=[tx.as_tool(lambda: parts, name="draw")], strategy="sequential", max_result_bytes=200)
    ctx.receive([{"id": "c1", "name": "draw"}])
    (ret,) = ctx.wait()
    blocks = ctx.messages("anthropic")[0]["content"][0]["content"]
    texts = [block.get("text") for block in blocks]

    assert parts == ret.value
    assert ["image", "text"] == [block["type"] for block in blocks[:2]]
    assert "[cut: an image, image/png, 150 bytes, is left out]" == texts[1]
    assert "left out" not in texts[2], "there is room for it"
    assert "[cut: the file 'g', application/octet-stream, 1 bytes, is left out]" == texts[3]


@pytest.mark.parametrize(
    ("text", "limit", "kept"),
    [
        ("abc", 2, "ab"),
        ("aé", 2, "a"),
        ("aé", 3, "aé"),
        ("a\N{GRINNING FACE}b", 4, "a"),
        ("ae\N{COMBINING ACUTE ACCENT}b", 2, "a"),
        ("a\N{MAN}\N{ZERO WIDTH JOINER}\N{WOMAN}", 5, "a"),
        ("a\N{MAN}\N{ZERO WIDTH JOINER}\N{WOMAN}", 8, "a"),
        ("a\N{HEAVY BLACK HEART}\N{VARIATION SELECTOR-16}", 4, "a"),
        ("a\N{THUMBS UP SIGN}\N{EMOJI MODIFIER FITZPATRICK TYPE-4}", 5, "a"),
        ("a\N{DEVANAGARI LETTER KA}\N{DEVANAGARI VOWEL SIGN AA}", 4, "a"),
        ("\U0001f1e9\U0001f1ea\U0001f1eb\U0001f1f7", 12, "\U0001f1e9\U0001f1ea"),
        ("\U0001f1e9\U0001f1ea\U0001f1eb\U0001f1f7", 8, "\U0001f1e9\U0001f1ea"),
        ("a\U0001f1e9\U0001f1ea", 5, "a"),
        ("abc", 0, ""),
        ("abc", -5, ""),
    ],
)
def test_what_a_reader_sees_as_one_character_is_not_split(text: str, limit: int, kept: str) -> None:
    assert kept == cut_text(text, limit)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"reveal": "all"}, "'message' or 'type'"),
        ({"redact": "***"}, "a function from text to text"),
        ({"max_result_bytes": 99}, "100 or more"),
        ({"max_result_bytes": True}, "a whole number of bytes"),
        ({"max_result_bytes": 1e3}, "a whole number of bytes"),
    ],
)
def test_options_that_cannot_be_are_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(tx.DeclarationError, match=words):
        tx.Context(**options)

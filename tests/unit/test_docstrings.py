"""What is read out of docstrings: the summary, and each parameter's text, in three styles and in none."""

# Docstrings are what is tested here, odd ones too:
# ruff: noqa: D205, D417

from __future__ import annotations

from typing import Annotated, Any

import pytest

import toolexec as tx
from toolexec._docstrings import summary_of, texts_of


def google(a, b, c, d, e):  # type: ignore[no-untyped-def]  # only its docstring counts
    """Do a thing,
    on two lines.

    More words: with a colon.

    Args:
        a (int): The first: with a colon, and
            a second line.
        b: One of
            - left
            - right
        c (str, optional): See ``Args:`` below.
        *d: The rest.

    Example:
        Args:
            e: this is no text of e
    Returns:
        Nothing.
    """


def numpy(a, b, c):  # type: ignore[no-untyped-def]  # only its docstring counts
    """Do a thing.

    Parameters
    ----------
    a : int
        The first.

        - left
        - right
    b, c : str, optional
        Both of them.

    Returns:
    -------
    int
    """


def rest(a, b):  # type: ignore[no-untyped-def]  # only its docstring counts
    """Do a thing.
    :param a: The first: with a colon.
    :param int b: The second,
        on two lines.
    :returns: Nothing.
    """


def no_blank_line(a):  # type: ignore[no-untyped-def]  # only its docstring counts
    """Do a thing.

    Args:
        a: The first.
    """


def test_G12_google() -> None:
    assert "Do a thing, on two lines." == summary_of(google)
    assert {
        "a": "The first: with a colon, and\na second line.",
        "b": "One of\n- left\n- right",
        "c": "See ``Args:`` below.",
        "d": "The rest.",
    } == texts_of(google, "abcde")


def test_G12_numpy() -> None:
    assert "Do a thing." == summary_of(numpy)
    assert {"a": "The first.\n\n- left\n- right", "b": "Both of them.", "c": "Both of them."} == texts_of(numpy, "abc")


def test_G12_rest() -> None:
    assert "Do a thing." == summary_of(rest)
    assert {"a": "The first: with a colon.", "b": "The second,\non two lines."} == texts_of(rest, "ab")


def test_G12_a_block_right_below_the_summary_is_no_part_of_it() -> None:
    assert ("Do a thing.", {"a": "The first."}) == (summary_of(no_blank_line), texts_of(no_blank_line, "a"))


@pytest.mark.parametrize(
    "doc",
    [
        None,
        "",
        "Only prose about a and b.",
        "Args:",
        "Args:\n    a without a colon\n",
        "Parameters\n---\na :",
        ":param a",
        "Args:\n  - a\n\tb",
    ],
)
def test_G12_a_docstring_costs_no_parameter_whatever_it_is(doc: str | None) -> None:
    def tool(a: int, b: int) -> None: ...

    tool.__doc__ = doc
    schema = tx.tool(tool).params

    assert ["a", "b"] == list(schema["properties"]) == schema["required"]


def test_a_parameters_text_is_its_annotations_else_the_docstrings_else_its_name() -> None:
    @tx.tool
    def tool(a: Annotated[int, "annotated"], b: int, c: int, call: tx.CurrentCall, **more: Any) -> None:
        """Do a thing.

        Args:
            a: said here too
            b: documented
            call: not the model's
        """

    texts = {name: shown["description"] for name, shown in tool.params["properties"].items()}

    assert {"a": "annotated", "b": "documented", "c": "c"} == texts


def test_the_class_form_reads_the_docstring_of_its_call() -> None:
    class Reads(tx.Tool):
        """Read a file.

        Args:
            path: not here
        """

        name = "reads"

        def call(self, path: str) -> str:
            """Do it.

            Args:
                path: Where the file is.
            """
            return path

    (function,) = tx.Context(tools=[Reads]).functions.values()

    assert "Read a file." == function.description
    assert "Where the file is." == function.params["properties"]["path"]["description"]


def test_the_docstring_of_a_base_class_is_not_its_childs() -> None:
    class Child(tx.Tool):
        name = "child"

        def call(self) -> None: ...

    assert "child" == tx.Context(tools=[Child]).functions["child"].description

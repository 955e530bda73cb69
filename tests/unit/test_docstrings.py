"""What docstrings say, in the styles that people write them in and in what comes of these by hand."""

from __future__ import annotations

import functools
import subprocess
import sys
from pathlib import Path
from typing import Annotated, Any

import pytest
from pydantic import Field

import toolexec as tx
from toolexec._docstrings import doc_of, summary_of, texts_of

NAMES = ("query", "limit", "opts")

GOOGLE = """Search the index.

    It is a long story.

    Args:
        query: What to look for.
        limit: How many,
            at most.
        **opts: The rest.

    Returns:
        limit: no parameter.
    """

GOOGLE_TYPED = """Search the index.

    Args:
        query (str): What to look for.
        limit (int, optional): How many,
            at most.
        opts (dict of str: (int, None)): The rest.
    """

NUMPY = """Search the index.

    Parameters
    ----------
    query : str
        What to look for.
    limit : int, optional
        How many,
        at most.

    Other Parameters
    ----------------
    **opts
        The rest.

    Returns
    -------
    limit : int
        No parameter.
    """

REST = """Search the index.

    :param query: What to look for.
    :type query: str
    :param int limit: How many,
        at most.
    :param \\\\**opts: The rest.
    :returns: nothing
    :raises limit: no parameter
    """

TEXTS = {"query": "What to look for.", "limit": "How many,\nat most.", "opts": "The rest."}

STYLES = pytest.mark.parametrize(
    "docstring", [GOOGLE, GOOGLE_TYPED, NUMPY, REST], ids=["google", "typed", "numpy", "rest"]
)


@STYLES
def test_G12_every_style_is_read(docstring: str) -> None:
    assert TEXTS == texts_of(docstring, NAMES)


@STYLES
def test_G12_the_summary_has_no_arguments_in_it(docstring: str) -> None:
    assert "Search the index." == summary_of(docstring)


@pytest.mark.parametrize(
    "docstring",
    [
        "Add up\n    the numbers.\n    Args:\n        a: One.\n    ",
        "Add up\nthe numbers.\n:param a: One.",
        "Add up\nthe numbers.\nParameters\n----------\na\n    One.",
        "Add up\nthe numbers.\nReturns:\n    The sum.",
        "\n    Add up\n    the numbers.\n\n    More.\n",
        "Add up the numbers.\n===================\n",
        "Add up\r\nthe numbers.\r\n\r\nMore.",
    ],
)
def test_G12_the_summary_ends_where_a_section_begins(docstring: str) -> None:
    assert "Add up the numbers." == summary_of(docstring)


@pytest.mark.parametrize("docstring", ["", "   \n ", "Args:\n    a: One.", ":param a: One.", None, 3])
def test_G12_without_a_summary_there_is_none(docstring: object) -> None:
    assert "" == summary_of(docstring)


@pytest.mark.parametrize(
    "docstring",
    [
        """Paint.

        Args:
            mode: One of:

                - fast: quick and dirty
                - good: slow

                The default is fast.
            other: Not this.
        """,
        """Paint.

        Parameters
        ----------
        mode : str
            One of:

            - fast: quick and dirty
            - good: slow

            The default is fast.
        other : str
            Not this.
        """,
        """Paint.

        :param mode: One of:

            - fast: quick and dirty
            - good: slow

            The default is fast.
        :param other: Not this.
        """,
    ],
    ids=["google", "numpy", "rest"],
)
def test_G12_an_entry_with_a_list_is_kept_whole(docstring: str) -> None:
    found = texts_of(docstring, ["mode", "other"])

    # Not compared: whether a blank line stands before the list; it says nothing.
    mode = ["One of:", "- fast: quick and dirty", "- good: slow", "", "The default is fast."]
    assert mode == [line for place, line in enumerate(found["mode"].splitlines()) if line or place > 1]
    assert "Not this." == found["other"]


def test_G12_a_list_that_is_not_indented_belongs_to_its_entry() -> None:
    docstring = """Paint.

    Args:
        mode: One of:
        - fast: quick and dirty
        - good: slow
        other: Not this.
    """

    assert {"mode": "One of:\n- fast: quick and dirty\n- good: slow", "other": "Not this."} == texts_of(
        docstring, ["mode", "other"]
    )


@pytest.mark.parametrize(
    "docstring",
    [
        "Get.\n\nArgs:\n    at: Where, e.g.: https://example.org:80",
        "Get.\n\nArgs:\n    at (Literal['a:b']): Where, e.g.: https://example.org:80",
        "Get.\n\nParameters\n----------\nat : str\n    Where, e.g.: https://example.org:80",
        "Get.\n\n:param at: Where, e.g.: https://example.org:80",
        "Get.\n\n:param dict[str, int] at: Where, e.g.: https://example.org:80",
    ],
)
def test_G12_a_colon_in_the_text_stays(docstring: str) -> None:
    assert {"at": "Where, e.g.: https://example.org:80"} == texts_of(docstring, ["at"])


@pytest.mark.parametrize(
    "example",
    [
        "```\nArgs:\n    a: Wrong.\n    b: Wrong.\n```",
        "~~~~python\nArgs:\n    a: Wrong.\n    b: Wrong.\n~~~~",
        ">>> print(f.__doc__)\nArgs:\n    a: Wrong.\n    b: Wrong.",
        "Example:\n    Args:\n        a: Wrong.\n        b: Wrong.",
        "Example::\n\n    Args:\n        a: Wrong.\n        b: Wrong.\n\n    :param b: Wrong.",
        "Examples\n--------\nArgs:\n    a: Wrong.\n    b: Wrong.\n\nNotes\n-----\nNone.",
    ],
)
@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize(
    "block", ["Args:\n    a: Right.", "Parameters\n----------\na : int\n    Right.", ":param a: Right."]
)
def test_G12_arguments_in_an_example_are_not_the_functions(example: str, block: str, first: bool) -> None:
    parts = ["Format a docstring.", example, block] if first else ["Format a docstring.", block, example]

    assert {"a": "Right."} == texts_of("\n\n".join(parts), ["a", "b"])


def test_G12_an_example_inside_an_entry_belongs_to_it() -> None:
    docstring = """Format.

    Args:
        template: Such as::

                Args:
                    b: Wrong.

        b: Right.
    """

    assert {"template": "Such as::\nArgs:\n    b: Wrong.", "b": "Right."} == texts_of(docstring, ["template", "b"])


ODD = {
    "a line that is no entry": "F.\n\nArgs:\n    These are the arguments.\n    a: One.\n    b: Two.",
    "no blank line": "F.\nArgs:\n    a: One.\n    b: Two.",
    "not indented": "F.\n\nArgs:\na: One.\nb: Two.",
    "no summary": "Args:\n    a: One.\n    b: Two.",
    "two blocks": "F.\n\nArgs:\n    a: One.\n\nSome text.\n\nKeyword Args:\n    b: Two.",
    "lower case": "F.\n\nargs:\n    a: One.\n    b: Two.",
    "text on the next line": "F.\n\nArgs:\n    a:\n        One.\n    b (int):\n        Two.",
    "ragged": "F.\n\nArgs:\n      a: One.\n    b: Two.",
    "names in backticks": "F.\n\nArgs:\n    `a`: One.\n    *b: Two.",
    "a broken section": "F.\n\nArgs:\n    a: One.\n    b: Two.\n\nRaises:\n    when it is too late",
    "an open fence": "F.\n\n```\nnever closed\n\nArgs:\n    a: One.\n    b: Two.",
    "short underline": "F.\n\nParameters\n-----\na : int\n    One.\nb\n    Two.",
    "long underline": "F.\n\nArguments\n================\na : int\n    One.\nb\n    Two.",
    "a field that is none": "F.\n\n:param a: One.\n:) a smile\n\n:param b: Two.",
    "a role at the margin": "F.\n:class:`X` does it.\n\n:param a: One.\n:param b: Two.",
    "text after the fields": "F.\n\n:param a: One.\n:param b: Two.\n\nThat is all.",
    "other words for it": "F.\n\n:arg a: One.\n:keyword str | None b: Two.",
}


@pytest.mark.parametrize("docstring", ODD.values(), ids=ODD)
def test_G12_an_oddity_takes_no_text_away(docstring: str) -> None:
    found = texts_of(docstring, ["a", "b"])

    assert {"a", "b"} == found.keys()
    assert found["a"].startswith("One.")
    assert "Two." == found["b"]


def test_G12_numpys_shared_entry_is_for_each_of_its_names() -> None:
    docstring = "F.\n\nParameters\n----------\na, b : int\n    A place."

    assert {"a": "A place.", "b": "A place."} == texts_of(docstring, ["a", "b"])


def test_G12_a_line_that_goes_on_at_the_margin_belongs_to_the_field() -> None:
    assert {"a": "One, and\ntwo."} == texts_of("F.\n\n:param a: One, and\ntwo.", ["a"])


def test_G12_what_is_told_of_others_is_left_out() -> None:
    assert {"query": "What to look for."} == texts_of(GOOGLE, ["query"])
    assert {} == texts_of(GOOGLE, [])


@pytest.mark.parametrize(
    "docstring",
    [
        None,
        3,
        "",
        "Args:",
        "Args:\n",
        "Args:\n\n\nArgs:\n    :",
        "Parameters\n----------",
        "Parameters\n----------\n:",
        ":param:",
        ":param a:",
        ":param :",
        "::\n:::",
        "Args:\n    a:",
        "Args:\n    a (: no end",
        "\x00\ufeff Args:\n\t\ta\u2028: x",
        "Args:\n" + "    a (((((" * 2000,
    ],
)
def test_G12_nothing_to_read_is_no_error(docstring: object) -> None:
    assert {} == texts_of(docstring, ["a"])
    assert isinstance(summary_of(docstring), str)


def test_G12_a_parser_that_fails_takes_no_parameter_away(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: object) -> object:
        raise ValueError("an oddity")

    monkeypatch.setattr("docstring_parser.parse", fail)

    @tx.tool
    def f(a: int, b: int) -> None:  # noqa: D417 - that is the point
        """F.

        Args:
            a: One.
        """

    assert {"a": "a", "b": "b"} == descriptions(f)


# Whose docstring it is


def descriptions(tool: tx.Function) -> dict[str, Any]:
    return {name: shown.get("description") for name, shown in tool.params["properties"].items()}


class Adder:
    """The class."""

    def __call__(self, a: int) -> None:
        """The call."""


def plain(a: int) -> None:
    """The function."""


def test_a_partial_has_the_docstring_of_its_function_and_an_object_that_of_its_call() -> None:
    assert "The function." == doc_of(functools.partial(functools.partial(plain, 1)))
    assert "The call." == doc_of(Adder())
    assert "The call." == doc_of(Adder().__call__)
    assert "The function." == doc_of(functools.wraps(plain)(lambda: None))


@pytest.mark.parametrize("docstring", [GOOGLE, NUMPY, REST])
def test_every_form_made_from_a_signature_tells_the_texts(docstring: str) -> None:
    def f(query: str, limit: Annotated[int, "Own."] = 1, *, page: int = 0) -> None: ...

    f.__doc__ = docstring

    class Form(tx.Tool):
        name = "docstring-form"

        def call(self, query: str, limit: Annotated[int, "Own."] = 1, *, page: int = 0) -> None: ...

    Form.call.__doc__ = docstring
    inline = tx.Function("inline")
    inline.define(f)
    expected = {"query": "What to look for.", "limit": "Own.", "page": "page"}

    for tool in (tx.tool(f), tx.as_tool(f), inline, *tx.Context([Form]).functions.values()):
        assert expected == descriptions(tool)
    assert expected == descriptions(tx.factory(Form, tool=Form))


def test_an_annotation_wins_over_the_docstring_and_a_field_too() -> None:
    @tx.tool
    def f(
        a: Annotated[int, Field(description="Field.")], b: int = Field(1, description="Default."), c: int = 0
    ) -> None:
        """F.

        Args:
            a: Docstring.
            b: Docstring.
            c: Docstring.
        """

    assert {"a": "Field.", "b": "Default.", "c": "Docstring."} == descriptions(f)


def test_a_blank_annotation_is_no_text() -> None:
    @tx.tool
    def f(a: Annotated[int, " "], b: Annotated[int, ""]) -> None:  # noqa: D417 - that is the point
        """F.

        Args:
            a: Docstring.
        """

    assert {"a": "Docstring.", "b": "b"} == descriptions(f)


def test_what_the_engine_fills_and_what_takes_any_name_gets_no_text() -> None:
    @tx.tool
    def f(call: tx.CurrentCall, a: int, **kw: int) -> None:
        """F.

        Args:
            call: The call.
            a: A.
            kw: More.
        """

    assert {"a": "A."} == descriptions(f)
    assert {"type": "integer"} == f.params["additionalProperties"]


def test_the_texts_do_not_change_what_a_call_is_given() -> None:
    @tx.tool
    def f(a: int, b: int = 2) -> list[int]:  # noqa: D417 - that is the point
        """F.

        Args:
            a: One.
        """
        return [a, b]

    assert [1, 2] == tx.run(f, {"a": "1"}, "sequential").unwrap()


@pytest.mark.parametrize(
    ("args", "use", "loaded"),
    [("Args:", "", False), ("Args:", "f.description", False), ("Args:", "f.params", True), ("", "f.params", False)],
    ids=["declared", "summary", "schema", "no arguments"],
)
def test_a_docstring_is_parsed_at_the_first_use_of_the_schema(
    args: str, use: str, loaded: bool, tmp_path: Path
) -> None:
    code = f"""if True:
        import sys
        import toolexec as tx
        @tx.tool
        def f(a: int) -> None:
            '''F.

            {args}
                a: One.
            '''
        {use}
        print("docstring_parser" in sys.modules)
    """
    done = subprocess.run([sys.executable, "-P", "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)

    assert f"{loaded}" == done.stdout.strip(), done.stderr

"""Importing tools builds no schema: what that needs is loaded when a Context takes them."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

LOADED = """
    import sys
    import many_tools, toolexec as tx
    heavy = [name for name in ("pydantic", "pydantic_core", "docstring_parser", "trio") if name in sys.modules]
    definitions = [tool._definition for tool in many_tools.TOOLS if isinstance(tool, tx.Function)]
    built = [own for own in definitions if "parameters" in own.__dict__]
    print(len(many_tools.TOOLS), heavy, len(built))
    print(len(tx.Context(tools=many_tools.TOOLS).functions), "pydantic" in sys.modules)
"""

MODULE = '''
    from __future__ import annotations
    from dataclasses import dataclass
    from typing import Annotated
    import toolexec as tx

    TOOLS = []
    for number in range(500):
        @tx.tool(name=f"function_{number}")
        def function(path: Annotated[str, "Where"], count: int = 1, later: "Later | None" = None) -> str:
            """Do it.

            Args:
                count: How often.
            """

        class Class(tx.Tool):
            name = f"class_{number}"
            description = "Do it"
            parameters = [tx.parameter("mode", str, "How", enum=["a", "b"], default="a")]

            def call(self, path: Annotated[str, "Where"], mode, later: "Later | None" = None) -> str: ...

        TOOLS += [function, Class]

    @dataclass
    class Later:
        n: int = 0
'''


def test_importing_a_thousand_tools_builds_no_schema_and_loads_no_pydantic(tmp_path: Path) -> None:
    (tmp_path / "many_tools.py").write_text(textwrap.dedent(MODULE))
    script = tmp_path / "main.py"
    script.write_text(textwrap.dedent(LOADED))
    done = subprocess.run(
        [sys.executable, "-W", "error", str(script)], capture_output=True, text=True, timeout=50, check=False
    )

    assert ["1000 [] 0", "1000 True"] == done.stdout.splitlines(), done.stderr

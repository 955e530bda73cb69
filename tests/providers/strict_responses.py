"""What OpenAI's Responses endpoint refuses.

The rules are those of https://platform.openai.com/docs/api-reference/responses/create (input, tools), of
https://platform.openai.com/docs/guides/function-calling and https://platform.openai.com/docs/guides/reasoning;
each names its own.
"""

from __future__ import annotations

from typing import Any

from providers.strict_rules import check_name, check_schema, no_other_keys, require

_CALL = {"type", "id", "call_id", "name", "arguments", "status", "namespace", "caller", "async"}


def check_request(body: dict[str, Any]) -> None:
    """Take a request, or say why the API would not.

    Raises:
        ValueError, AssertionError: It is refused; why.
    """
    _check_tools(body.get("tools"))
    items = body.get("input")
    if isinstance(items, str):
        require(items, "input is empty")
        return
    # responses/create, input: a string or an array of items
    assert isinstance(items, list), "input is no list"
    require(items, "input is empty")
    open_ids: list[str] = []
    answering = False
    item_ids: set[str] = set()
    reasoning: str | None = None  # one that what follows it has to come with
    for position, item in enumerate(items):
        where = f"input[{position}]"
        assert isinstance(item, dict), f"{where} is no object"
        nulls = [key for key, value in item.items() if value is None and key != "encrypted_content"]
        # responses/create, input, item: what is optional is left out; only some keys may be null
        require(not nulls, f"{where}: {nulls} may not be null")
        kind = item.get("type", "message")
        if isinstance(item.get("id"), str):
            # The API: "Duplicate item found with id ..."
            require(item["id"] not in item_ids, f"{where}: the item {item['id']!r} is there twice")
            item_ids.add(item["id"])
        if kind == "function_call_output":
            answering = True
            _check_output(item, open_ids, where)
            continue
        # guides/function-calling: the outputs of a response's calls come before anything new
        require(not (answering and open_ids), f"{where}: no output answers {open_ids}")
        answering = False
        if kind == "function_call":
            _check_call(item, open_ids, where)
            # guides/reasoning: "of type 'reasoning' was provided without its required following item"
            require(reasoning is None or item.get("id"), f"{where}: follows {reasoning!r} and lost its id")
            reasoning = None
            continue
        if kind == "reasoning":
            no_other_keys(item, {"type", "id", "summary", "content", "encrypted_content", "status"}, where)
            # responses/create, reasoning: id and summary are required
            require(isinstance(item.get("id"), str) and item["id"], f"{where}: reasoning without an id")
            require(isinstance(item.get("summary"), list), f"{where}: reasoning without a summary")
            reasoning = item["id"]
            continue
        if kind == "message":
            require(item.get("role") != "user" or not open_ids, f"{where}: no output answers {open_ids}")
            require(item.get("role") != "user" or reasoning is None, f"{where}: nothing follows {reasoning!r}")
            _check_message(item, where)
        reasoning = None
    # The API: "No tool output found for function call ..."
    require(not open_ids, f"no output answers {open_ids}")
    require(reasoning is None, f"nothing follows {reasoning!r}")


def _check_call(item: dict[str, Any], open_ids: list[str], where: str) -> None:
    no_other_keys(item, _CALL, where)
    call_id = item.get("call_id")
    # responses/create, function tool call and its output, call_id: 1 to 64 characters
    require(isinstance(call_id, str) and 0 < len(call_id) <= 64, f"{where}: illegal call_id {call_id!r}")
    require(call_id not in open_ids, f"{where}: the call_id {call_id!r} is there twice")
    open_ids.append(str(call_id))
    if "id" in item:
        # The API: "Expected an ID that begins with 'fc'"
        require(str(item["id"]).startswith("fc"), f"{where}: illegal id {item['id']!r}")
    check_name(item.get("name"), set(), where)
    # responses/create, function tool call, arguments: "A JSON string"
    require(isinstance(item.get("arguments"), str), f"{where}: arguments is no string")


def _check_output(item: dict[str, Any], open_ids: list[str], where: str) -> None:
    no_other_keys(item, {"type", "id", "call_id", "output", "status", "caller"}, where)
    call_id = item.get("call_id")
    # The API: "No tool call found for function call output with call_id ..."
    require(call_id in open_ids, f"{where}: {call_id!r} answers no open call")
    # Stricter than the API, which takes any order: results stand in the order of the calls
    require(call_id == open_ids[0], f"{where}: {call_id!r} comes before {open_ids[0]!r}")
    open_ids.pop(0)
    output = item.get("output")
    # responses/create, function tool call output, output: a string, or an array of text, image and file content
    if isinstance(output, str):
        require(output, f"{where}: output is empty")
        return
    assert isinstance(output, list), f"{where}: output is {output!r}"
    require(output, f"{where}: output is empty")
    for part in output:
        _check_part(part, where)


def _check_part(part: dict[str, Any], where: str) -> None:
    kind = part.get("type")
    if kind == "input_text":
        no_other_keys(part, {"type", "text"}, where)
        require(isinstance(part.get("text"), str), f"{where}: a text without text")
    elif kind == "input_image":
        # responses/create, input image: a URL or a data URL, detail one of high, low, auto
        no_other_keys(part, {"type", "image_url", "file_id", "detail"}, where)
        head, _, data = str(part.get("image_url")).partition(";base64,")
        require(head.startswith("data:image/") and data, f"{where}: image_url {part.get('image_url')!r}")
        require(part.get("detail") in ("high", "low", "auto"), f"{where}: detail {part.get('detail')!r}")
    elif kind == "input_file":
        # responses/create, input file: file_data with its filename
        no_other_keys(part, {"type", "file_data", "file_id", "filename", "file_url"}, where)
        head, _, data = str(part.get("file_data")).partition(";base64,")
        require(head.startswith("data:") and data, f"{where}: file_data {part.get('file_data')!r}")
        require(part.get("filename"), f"{where}: a file without a name")
    else:
        raise ValueError(f"{where}: a part of type {kind!r}")


def _check_message(item: dict[str, Any], where: str) -> None:
    role, content = item.get("role"), item.get("content")
    # responses/create, input message, role: one of these
    require(role in ("user", "assistant", "system", "developer"), f"{where}: role {role!r}")
    if isinstance(content, str):
        require(content, f"{where}: content is empty")
        return
    assert isinstance(content, list), f"{where}: content is {content!r}"
    # responses/create, output message: what an assistant said is output_text or refusal
    kinds = ("output_text", "refusal") if role == "assistant" else ("input_text", "input_image", "input_file")
    for part in content:
        require(part.get("type") in kinds, f"{where}: a part of type {part.get('type')!r}")
        require(None not in part.values(), f"{where}: a null in a part")


def _check_tools(tools: object) -> None:
    if tools is None:
        return
    assert isinstance(tools, list), "tools is no list"
    names: set[str] = set()
    for number, tool in enumerate(tools):
        where = f"tools[{number}]"
        no_other_keys(tool, {"type", "name", "description", "parameters", "strict"}, where)
        # responses/create, tools, function: flat; name, parameters and strict are required
        require(tool.get("type") == "function", f"{where}: type {tool.get('type')!r}")
        check_name(tool.get("name"), names, where)
        require(isinstance(tool.get("description", ""), str), f"{where}: description is no string")
        require(isinstance(tool.get("strict"), bool), f"{where}: strict is {tool.get('strict')!r}")
        check_schema(tool.get("parameters"), where, strict=tool["strict"])

"""Response bodies as OpenAI's chat completions and Anthropic's messages send them, faults included."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class RecordedRequest:
    """One request as it arrived; ``index`` counts from 0 in order of arrival."""

    index: int
    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    raw: bytes

    @property
    def anthropic(self) -> bool:
        return self.path.endswith("/messages")


def openai_completion(request: RecordedRequest, text: str, fault: str | None) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": text, "refusal": None, "annotations": []}
    if fault == "refusal":
        message |= {"content": None, "refusal": "I'm sorry, I can't assist with that."}
    elif fault in {"empty_content", "filtered"}:
        message["content"] = None if fault == "filtered" else ""
    finish = {"truncated_content": "length", "filtered": "content_filter"}.get(fault or "", "stop")
    prompt, done = max(1, len(request.raw) // 4), max(1, len(text) // 4)
    body = {
        "id": f"chatcmpl-{request.index}",
        "object": "chat.completion",
        "created": 1_760_000_000,
        "model": request.body["model"],
        "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": finish}],
        "usage": {
            "prompt_tokens": prompt,
            "completion_tokens": done,
            "total_tokens": prompt + done,
            "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 0},
            "completion_tokens_details": {"reasoning_tokens": 0},
        },
        "service_tier": "default",
    }
    return {k: v for k, v in body.items() if k != "usage" or fault != "no_usage"}


def anthropic_message(request: RecordedRequest, text: str, fault: str | None) -> dict[str, Any]:
    stop = {"truncated_content": "max_tokens", "refusal": "refusal", "filtered": "refusal"}.get(fault or "", "end_turn")
    empty = fault in {"refusal", "empty_content", "filtered"}
    body = {
        "id": f"msg_{request.index}",
        "type": "message",
        "role": "assistant",
        "model": request.body["model"],
        "content": [] if empty else [{"type": "text", "text": text}],
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": {
            "input_tokens": max(1, len(request.raw) // 4),
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
            "output_tokens": max(1, len(text) // 4),
            "service_tier": "standard",
        },
    }
    return {k: v for k, v in body.items() if k != "usage" or fault != "no_usage"}


def _openai(
    message: str, kind: str = "invalid_request_error", code: str | None = None, param: str | None = None
) -> dict[str, Any]:
    return {"error": {"message": message, "type": kind, "param": param, "code": code}}


def _anthropic(message: str, kind: str = "invalid_request_error") -> dict[str, Any]:
    return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_011CSHoEeqs5C35K2UUqR7Fy"}


def _key(request: RecordedRequest) -> str:
    return request.headers.get("x-api-key") or request.headers.get("authorization", "").removeprefix("Bearer ")


def openai_error(request: RecordedRequest, fault: str | None) -> dict[str, Any]:
    model = request.body.get("model")
    overloaded = _openai("The engine is currently overloaded, please try again later", "server_error")
    limited = _openai(
        f"Rate limit reached for {model} in organization org-x on requests per min (RPM): Limit 3, Used 3, "
        "Requested 1. Please try again in 20s.",
        "requests",
        "rate_limit_exceeded",
    )
    spent = _openai(
        "You exceeded your current quota, please check your plan and billing details.",
        "insufficient_quota",
        "insufficient_quota",
    )
    long = (
        "This model's maximum context length is 128000 tokens. However, your messages resulted in 140001 tokens. "
        "Please reduce the length of the messages."
    )
    denied = f"Incorrect API key provided: {_key(request)}. You can find your API key at https://platform.openai.com."
    return {
        "400": _openai("Invalid value for 'messages[0].role'.", param="messages[0].role", code="invalid_value"),
        "400-context": _openai(long, code="context_length_exceeded", param="messages"),
        "400-credit": spent,
        "401": _openai(denied, code="invalid_api_key"),
        "403": _openai(f"Project does not have access to model {model}", code="model_not_found"),
        "404": _openai(f"The model `{model}` does not exist or you do not have access to it.", code="model_not_found"),
        "413": _openai("Request too large"),
        "429": limited,
        "429-no-header": limited,
        "429-quota": spent,
        "500": _openai("The server had an error while processing your request. Sorry about that!", "server_error"),
        "503": overloaded,
        "529": overloaded,
        "error_in_success": {"error": {"message": "Provider returned error", "code": 502}},
    }[fault or ""]


def anthropic_error(request: RecordedRequest, fault: str | None) -> dict[str, Any]:
    overloaded = _anthropic("Overloaded", "overloaded_error")
    limited = _anthropic("This request would exceed your organization's rate limit.", "rate_limit_error")
    spent = _anthropic("Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing.")
    return {
        "400": _anthropic("messages: at least one message is required"),
        "400-context": _anthropic("prompt is too long: 210001 tokens > 200000 maximum"),
        "400-credit": spent,
        "401": _anthropic(f"invalid x-api-key {_key(request)}", "authentication_error"),
        "403": _anthropic("Your API key does not have permission to use the specified resource", "permission_error"),
        "404": _anthropic(f"model: {request.body.get('model')}", "not_found_error"),
        "413": _anthropic("Request exceeds the maximum size", "request_too_large"),
        "429": limited,
        "429-no-header": limited,
        "429-quota": spent,
        "500": _anthropic("Internal server error", "api_error"),
        "503": overloaded,
        "529": overloaded,
        "error_in_success": overloaded,
    }[fault or ""]


def rejection(request: RecordedRequest, fault: str | None) -> tuple[int, dict[str, Any]] | None:
    """How servers say that they lack a feature; None where the request does not use it."""
    body, anthropic = request.body, request.anthropic
    mode = (body.get("response_format") or {}).get("type") or ("json_schema" if "output_config" in body else None)
    name = (fault or "").removeprefix("unsupported:")
    if fault in {"no_json_schema", "no_json_object"} and (mode == "json_schema" or fault == f"no_{mode}"):
        if anthropic:
            return 400, _anthropic("output_config.format: Extra inputs are not permitted")
        said = f"Invalid parameter: 'response_format' of type '{mode}' is not supported with this model."
        return 400, _openai(said, param="response_format")
    if name != fault and (name in body or name in (body.get("output_config") or {})):
        if anthropic:
            return 400, _anthropic(f"{name}: Extra inputs are not permitted")
        said = f"Unsupported parameter: '{name}' is not supported with this model."
        return 400, _openai(said, param=name, code="unsupported_parameter")
    return None

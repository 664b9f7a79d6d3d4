"""Whole answers as the two providers stream them: server-sent events."""

import json
from typing import Any


def openai_events(completion: dict[str, Any], pieces: int = 3) -> bytes:
    """A chat completion in chunks; usage comes last, as with ``stream_options.include_usage``."""
    choice = completion["choices"][0]
    text = choice["message"]["content"] or ""
    shared = {"id": completion["id"], "object": "chat.completion.chunk", "model": completion["model"]}
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    deltas += [{"content": piece} for piece in _pieces(text, pieces)]
    if choice["message"].get("refusal"):
        deltas.append({"refusal": choice["message"]["refusal"]})
    events: list[dict[str, Any]] = [
        {**shared, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas
    ]
    events.append({**shared, "choices": [{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}]})
    if "usage" in completion:
        events.append({**shared, "choices": [], "usage": completion["usage"]})
    return b"".join(f"data: {json.dumps(event)}\n\n".encode() for event in events) + b"data: [DONE]\n\n"


def anthropic_events(message: dict[str, Any], pieces: int = 3) -> bytes:
    """A message in events: input tokens at the start, output tokens at the end."""
    usage = message.get("usage") or {}
    start = {**message, "content": [], "stop_reason": None, "usage": {**usage, "output_tokens": 1} if usage else None}
    events: list[dict[str, Any]] = [{"type": "message_start", "message": start}, {"type": "ping"}]
    for index, block in enumerate(message["content"]):
        empty = {"type": "text", "text": ""}
        events.append({"type": "content_block_start", "index": index, "content_block": empty})
        for piece in _pieces(block["text"], pieces):
            delta = {"type": "text_delta", "text": piece}
            events.append({"type": "content_block_delta", "index": index, "delta": delta})
        events.append({"type": "content_block_stop", "index": index})
    end = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    events.append({"type": "message_delta", "delta": end, "usage": {"output_tokens": usage.get("output_tokens")}})
    events.append({"type": "message_stop"})
    return b"".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode() for event in events)


def _pieces(text: str, count: int) -> list[str]:
    size = max(1, -(-len(text) // count))
    return [text[start : start + size] for start in range(0, len(text), size)]

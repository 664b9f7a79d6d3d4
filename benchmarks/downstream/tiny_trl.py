"""A tiny transformer trained as a reward model by TRL on files of pairs, tested on the labelled ones.

    python -m metajudge.benchmarks.downstream DATA --pairs DIR
    python tiny_trl.py DIR [--steps 100] [--seeds 3]       # needs trl and torch; no network, metajudge not imported

DIR has folders with ``test.jsonl`` and one file for each selection. The model has two layers of 64 columns, random
weights and bytes as tokens; nothing is downloaded. Printed: pairs trained on and the share of test pairs on which the
model prefers the labelled response, mean and range over seeds, with Wilson's 95 % interval of the first.
"""

import argparse
import math
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

PROMPT, RESPONSE = 256, 768
"""Bytes of a prompt and of a response; the end of longer ones is cut off."""

LENGTH = PROMPT + RESPONSE + 8


def main() -> None:
    """Prints a line for each file."""
    parser = argparse.ArgumentParser(description="Train a tiny reward model by TRL on files of pairs.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--seeds", type=int, default=3)
    given = parser.parse_args()
    for line in lines(given.folder, given.steps, given.seeds):
        print(line, flush=True)


def lines(folder: Path, steps: int, seeds: int) -> Iterator[str]:
    """A line for each set and selection."""
    for tests in sorted(folder.rglob("test.jsonl")):
        test = _load(tests)
        for path in sorted(tests.parent.glob("*.jsonl")):
            if path == tests:
                continue
            train = _load(path)
            right = [_right(train, test, steps, seed) for seed in range(seeds)]
            low, high = _wilson(right[0], len(test))
            shares = [100 * one / len(test) for one in right]
            yield (
                f"{tests.parent.name:<11} {path.stem:<24} {len(train):>5} pairs  {sum(shares) / seeds:5.1f} % "
                f"({min(shares):.1f} to {max(shares):.1f} over {seeds} seeds; interval of the first {100 * low:.1f} to "
                f"{100 * high:.1f}, {len(test)} test pairs)"
            )


def _load(path: Path) -> Any:
    from datasets import load_dataset

    def cut(row: dict[str, str]) -> dict[str, str]:
        sizes = {"prompt": PROMPT, "chosen": RESPONSE, "rejected": RESPONSE}
        return {name: row[name].encode()[:size].decode(errors="ignore") for name, size in sizes.items()}

    return load_dataset("json", data_files=str(path), split="train").map(cut)


def _right(train: Any, test: Any, steps: int, seed: int) -> int:
    """Test pairs on which the trained model prefers the labelled response."""
    import torch
    from transformers import GPT2Config, GPT2ForSequenceClassification, set_seed
    from trl import RewardConfig, RewardTrainer

    set_seed(seed)
    tokens = _tokens()
    shape = GPT2Config(
        vocab_size=len(tokens), n_positions=LENGTH, n_embd=64, n_layer=2, n_head=2, num_labels=1, pad_token_id=0
    )
    model = GPT2ForSequenceClassification(shape)
    with TemporaryDirectory() as work:
        wanted = RewardConfig(
            output_dir=work,
            max_steps=steps,
            per_device_train_batch_size=8,
            learning_rate=1e-3,
            max_length=LENGTH,
            report_to=[],
            save_strategy="no",
            logging_strategy="no",
            disable_tqdm=True,
            use_cpu=True,
            bf16=False,
            gradient_checkpointing=False,
            seed=seed,
        )
        RewardTrainer(model=model, args=wanted, train_dataset=train, processing_class=tokens).train()
    model.eval()
    right = 0
    with torch.no_grad():
        for row in test:
            texts = [row["prompt"] + row[side] for side in ("chosen", "rejected")]
            found = model(**tokens(texts, truncation=True, max_length=LENGTH, padding=True, return_tensors="pt"))
            right += bool(found.logits[0, 0] > found.logits[1, 0])
    return right


def _tokens() -> Any:
    """A tokenizer of bytes, made here."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {name: number for number, name in enumerate(["<pad>", "<eos>", *alphabet])}
    made = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    return PreTrainedTokenizerFast(tokenizer_object=made, pad_token="<pad>", eos_token="<eos>")


def _wilson(successes: int, n: int) -> tuple[float, float]:
    z = 1.959964
    share, spread = successes / n, z * z / n
    half = z * math.sqrt(share * (1 - share) / n + spread / (4 * n))
    return (share + spread / 2 - half) / (1 + spread), (share + spread / 2 + half) / (1 + spread)


if __name__ == "__main__":
    main()

"""Sizes of the KV caches of known language models, from the configurations that their makers publish."""

from __future__ import annotations

import re
from dataclasses import dataclass

from wirespeed.errors import WirespeedError


@dataclass(frozen=True)
class KvModel:
    """Keys and values that a layer keeps of a token."""

    layers: int
    heads: int
    """That have keys and values; 1: what all heads share."""
    head_size: int
    """Elements of a key, or of a value."""
    source: str
    """The repository at huggingface.co whose config.json says so."""
    latent: bool = False
    """One compressed vector in place of keys and values (MLA): every rank keeps it whole."""
    element_bytes: int = 2
    """bf16."""


MODELS = {
    "deepseek-v3": KvModel(61, 1, 512 + 64, "deepseek-ai/DeepSeek-V3", latent=True),
    "gpt-oss-120b": KvModel(36, 8, 64, "openai/gpt-oss-120b"),
    "llama-3.1-8b": KvModel(32, 8, 128, "meta-llama/Llama-3.1-8B"),
    "llama-3.1-70b": KvModel(80, 8, 128, "meta-llama/Llama-3.1-70B"),
    "llama-3.1-405b": KvModel(126, 8, 128, "meta-llama/Llama-3.1-405B"),
    "mistral-7b": KvModel(32, 8, 128, "mistralai/Mistral-7B-v0.3"),
    "mixtral-8x7b": KvModel(32, 8, 128, "mistralai/Mixtral-8x7B-v0.1"),
    "qwen2.5-7b": KvModel(28, 4, 128, "Qwen/Qwen2.5-7B"),
    "qwen3-32b": KvModel(64, 8, 128, "Qwen/Qwen3-32B"),
    "qwen3-235b-a22b": KvModel(94, 4, 128, "Qwen/Qwen3-235B-A22B"),
}
EXAMPLE = "llama-3.1-70b:tp=8:page=16"


@dataclass(frozen=True)
class KvPages:
    """Pages of one model's cache on one of `ranks` that share its heads."""

    name: str
    model: KvModel
    ranks: int
    tokens: int
    """Number of tokens in a page."""

    @property
    def bytes(self) -> int:
        """One page of one layer on one rank, keys and values together."""
        model = self.model
        if model.latent:
            return self.tokens * model.head_size * model.element_bytes
        # More ranks than heads have copies of them.
        heads = max(1, model.heads // self.ranks)
        return 2 * self.tokens * heads * model.head_size * model.element_bytes

    def __str__(self) -> str:
        share = "" if self.ranks == 1 else f" on one of {self.ranks} ranks"
        return f"pages of {self.tokens} tokens of {self.name}{share}"


def parsed(word: str) -> KvPages:
    """'MODEL:tp=8:page=16'. Raises WirespeedError that says what is allowed."""
    name, *settings = word.strip().lower().split(":")
    if name not in MODELS:
        raise WirespeedError(f"--kv {word}: no such model is known; there are: {', '.join(MODELS)}")
    numbers, given = {"tp": 1, "page": 16}, dict[str, int]()
    for setting in settings:
        key, _, value = setting.partition("=")
        if key not in numbers or not re.fullmatch(r"[1-9][0-9]{0,4}", value):
            raise WirespeedError(
                f"--kv {word}: after the model come tp=RANKS and page=TOKENS, as in {EXAMPLE}"
            )
        if key in given:
            raise WirespeedError(f"--kv {word}: {key}= is written twice; write it once")
        given[key] = int(value)
    numbers |= given
    model, ranks = MODELS[name], numbers["tp"]
    if not model.latent and model.heads % ranks and ranks % model.heads:
        raise WirespeedError(
            f"--kv {word}: {model.heads} KV heads cannot be divided by tp={ranks}; take a divisor or a "
            "multiple of their number"
        )
    return KvPages(name, model, ranks, numbers["page"])

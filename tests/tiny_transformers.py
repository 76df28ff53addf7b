"""Tiny random models of the transformers library, made for tests."""

from __future__ import annotations

from pathlib import Path

import pytest

__all__ = ["WORDS", "tiny_bert", "tiny_chat", "tiny_marian"]

WORDS = """[PAD] [UNK] [CLS] [SEP] [MASK] </s> sparse retrieval of documents we propose a index neural network and
the are not . , ; : - sea ice radar images show where is frozen search model key ##s based content this paper mainly
talks about list it in with for maps user assistant""".split()


def _save_tokenizer(folder: Path, bert: bool) -> None:
    transformers = pytest.importorskip("transformers")
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers

    tokenizer = Tokenizer(models.WordPiece({word: i for i, word in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="[PAD]",
        unk_token="[UNK]",
        eos_token="</s>",
        chat_template=None if bert else "{% for m in messages %}{{ m['role'] + ' ' + m['content'] + ' ' }}{% endfor %}",
    ).save_pretrained(folder)


def tiny_bert(folder: Path) -> Path:
    """A BERT of one layer with a masked-language head."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(0)
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
    transformers.BertForMaskedLM(transformers.BertConfig(vocab_size=len(WORDS), **sizes)).save_pretrained(folder)
    _save_tokenizer(folder, True)
    return folder


def tiny_marian(folder: Path) -> Path:
    """An encoder–decoder of one layer."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(0)
    sides = ("encoder", "decoder")
    sizes = {
        f"{side}_{name}": size
        for side in sides
        for name, size in (("layers", 1), ("attention_heads", 2), ("ffn_dim", 32))
    }
    special = {
        "pad_token_id": 0,
        "eos_token_id": 5,
        "bos_token_id": 0,
        "decoder_start_token_id": 0,
        "forced_eos_token_id": None,
    }
    config = transformers.MarianConfig(
        vocab_size=len(WORDS), d_model=16, max_position_embeddings=512, **sizes, **special
    )
    transformers.MarianMTModel(config).save_pretrained(folder)
    _save_tokenizer(folder, True)
    return folder


def tiny_chat(folder: Path) -> Path:
    """A Llama of one layer that can be chatted with."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(0)
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
    config = transformers.LlamaConfig(vocab_size=len(WORDS), pad_token_id=0, eos_token_id=5, bos_token_id=None, **sizes)
    transformers.LlamaForCausalLM(config).save_pretrained(folder)
    _save_tokenizer(folder, False)
    return folder

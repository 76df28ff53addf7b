"""MPNet as a base: the same states as transformers gives, through a folder, and no export."""

from __future__ import annotations

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from erukg.errors import ModelError  # noqa: E402
from erukg.training.base import load_base, save_base  # noqa: E402
from erukg.training.export.folder import export  # noqa: E402

VOCABULARY = 120
# How BERT's [PAD], [UNK], [CLS], [SEP] and [MASK] are numbered by MPNet; every other piece is four further on.
SPECIAL = {0: 1, 100: 3, 101: 0, 102: 2, 103: VOCABULARY + 4}


def tiny_mpnet(folder: Path) -> Path:
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(1)
    config = transformers.MPNetConfig(
        vocab_size=VOCABULARY + 5,
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=32,
        max_position_embeddings=202,
        initializer_range=0.3,
    )
    transformers.MPNetModel(config, add_pooling_layer=False).save_pretrained(folder)
    return folder


def test_states_are_those_of_transformers(tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    folder = tiny_mpnet(tmp_path / "mpnet")
    model, has_head = load_base(folder)
    theirs = transformers.MPNetModel.from_pretrained(folder, add_pooling_layer=False, attn_implementation="eager")
    # 180 tokens: beyond the distance at which the bias stops growing.
    ids = torch.randint(104, VOCABULARY, (2, 180), generator=torch.Generator().manual_seed(0))
    ids[:, 0], ids[0, -1], ids[0, 5], ids[0, 6] = 101, 102, 100, 103
    mask = torch.ones_like(ids, dtype=torch.bool)
    ids[1, 90:], mask[1, 90:] = 0, False
    other = torch.tensor([[SPECIAL.get(piece, piece + 4) for piece in row] for row in ids.tolist()])
    with torch.no_grad():
        ours = model.eval().encode(ids, mask).hidden[-1]
        expected = theirs.eval()(input_ids=other, attention_mask=mask.long()).last_hidden_state
    assert not has_head
    assert torch.allclose(ours[mask], expected[mask], atol=1e-5)


def test_through_a_folder_and_not_exported(tmp_path: Path) -> None:
    model, _ = load_base(tiny_mpnet(tmp_path / "mpnet"))
    tokenizer = tmp_path / "tokenizer.json"
    tokenizer.write_text("{}")
    save_base(model, tmp_path / "saved", tokenizer)
    again, has_head = load_base(tmp_path / "saved")
    assert has_head
    assert all(torch.equal(tensor, again.state_dict()[name]) for name, tensor in model.state_dict().items())
    with pytest.raises(ModelError, match="MPNet's attention"):
        export(tmp_path / "saved", tmp_path / "out", "mpnet", ("int8",))


def test_weights_of_another_kind(tmp_path: Path) -> None:
    from safetensors.torch import save_file

    folder = tiny_mpnet(tmp_path / "mpnet")
    save_file({"encoder.layer.0.output.dense.bias": torch.zeros(16)}, folder / "model.safetensors")
    with pytest.raises(ModelError, match="not those of an MPNet encoder"):
        load_base(folder)

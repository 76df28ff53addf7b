"""The network against transformers' BERT, the lean pooling against the formula, and weights through files."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from erukg.errors import ModelError  # noqa: E402
from erukg.training import pooling  # noqa: E402
from erukg.training.base import from_onnx, load_base, random_base, read_weights, save_base, split_weights  # noqa: E402
from erukg.training.model import Shape, TermModel  # noqa: E402
from erukg.training.pooling import max_pool_terms  # noqa: E402

torch.set_num_threads(1)
Tensor: TypeAlias = Any
SHAPE = Shape(97, 32, layers=2, heads=4, intermediate_size=48, max_positions=40)


def texts(seed: int = 0) -> tuple[Tensor, Tensor]:
    rng = np.random.default_rng(seed)
    ids = torch.from_numpy(rng.integers(0, 97, (4, 12)))
    mask = torch.from_numpy(np.arange(12) < np.array([[12], [7], [3], [1]]))
    return ids, mask


def noisy(seed: int = 3) -> TermModel:
    """A model whose every weight matters: also biases and norms."""
    model = random_base(SHAPE, seed)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=generator) * 0.2)
    model.eval()
    return model


def test_equals_bert_for_masked_lm() -> None:
    transformers = pytest.importorskip("transformers")
    model = noisy()
    bert = transformers.BertForMaskedLM(transformers.BertConfig(**SHAPE.to_config())).eval()
    state = {name: value for name, value in model.state_dict().items() if not name.startswith("tag.")}
    missing = bert.load_state_dict(state, strict=False)
    assert not missing.unexpected_keys
    assert all("decoder" in name for name in missing.missing_keys)
    bert.tie_weights()
    ids, mask = texts()
    with torch.no_grad():
        found = bert(input_ids=ids, attention_mask=mask.long(), output_hidden_states=True)
        outputs = model.encode(ids, mask)
        ours = model.logits(model.transform(outputs.hidden[-1]))
    for own, theirs in zip(outputs.hidden, found.hidden_states, strict=True):
        torch.testing.assert_close(own[mask], theirs[mask], atol=2e-5, rtol=1e-5)
    torch.testing.assert_close(ours[mask], found.logits[mask], atol=5e-5, rtol=1e-5)
    vector = model.vector(outputs)
    torch.testing.assert_close(vector.norm(dim=1), torch.ones(4))
    plain = found.hidden_states[-1][1, :7].mean(0)
    torch.testing.assert_close(vector[1], plain / plain.norm(), atol=1e-5, rtol=1e-4)


def plain_max_pool_terms(states: Tensor, mask: Tensor, embeddings: Tensor, bias: Tensor) -> Tensor:
    """log(1 + relu(max_i(states_i · E_j + b_j))) as the formula says."""
    logits = states @ embeddings.T + bias
    logits = logits.masked_fill(mask[:, :, None] == 0, float("-inf"))
    return torch.log1p(torch.relu(logits.amax(1)))


def pooled(function: Callable[..., Tensor], model: TermModel) -> list[Tensor]:
    _, mask = texts()
    generator = torch.Generator().manual_seed(1)
    states = torch.randn(4, 12, 32, generator=generator, requires_grad=True)
    table = model.word_embeddings.detach().clone().requires_grad_()
    bias = torch.randn(97, generator=generator).requires_grad_()
    weights = function(states, mask, table, bias)
    scale = torch.randn(weights.shape, generator=generator)
    (weights * scale).sum().backward()
    return [weights.detach(), states.grad, table.grad, bias.grad]


@pytest.mark.parametrize("gradient", ["dense", "sparse"])
@pytest.mark.parametrize("budget", [1, 3000, 1 << 26])
def test_pooling_equals_the_formula(monkeypatch: pytest.MonkeyPatch, gradient: str, budget: int) -> None:
    model = noisy()
    expected = pooled(plain_max_pool_terms, model)
    monkeypatch.setattr(pooling, "_FORWARD_ELEMENTS_CPU", budget)
    monkeypatch.setattr(pooling, "_BACKWARD_ROWS", 17)
    if gradient == "sparse":
        monkeypatch.setattr(pooling, "_dense_gradient", pooling._sparse_gradient)
    found = pooled(max_pool_terms, model)
    assert (expected[0] > 0).any()
    assert (expected[0] == 0).any()
    for a, b in zip(found, expected, strict=True):
        torch.testing.assert_close(a, b, atol=1e-5, rtol=1e-5)


def test_a_head_of_all_zeros_has_no_gradient() -> None:
    states = torch.zeros(2, 3, 4, requires_grad=True)
    weights = max_pool_terms(states, torch.ones(2, 3), torch.zeros(5, 4), -torch.ones(5))
    weights.sum().backward()
    assert not weights.any()
    assert not states.grad.any()


def test_padding_changes_nothing() -> None:
    model = noisy()
    ids, mask = texts()
    with torch.no_grad():
        together = model.encode(ids, mask)
        alone = model.encode(ids[1:2, :7], mask[1:2, :7])
        torch.testing.assert_close(model.terms(together)[1:2], model.terms(alone), atol=2e-5, rtol=1e-4)
        torch.testing.assert_close(model.vector(together)[1:2], model.vector(alone), atol=2e-5, rtol=1e-4)


def test_weights_through_a_folder(tmp_path: Path) -> None:
    model = noisy()
    (tmp_path / "tokenizer.json").write_text("{}")
    save_base(model, tmp_path / "whole", tmp_path / "tokenizer.json")
    again, has_head = load_base(tmp_path / "whole")
    assert has_head
    assert all(torch.equal(a, b) for a, b in zip(model.parameters(), again.parameters(), strict=True))
    save_base(model, tmp_path / "half", tmp_path / "tokenizer.json", half=True)
    half, _ = load_base(tmp_path / "half")
    torch.testing.assert_close(half.word_embeddings, model.word_embeddings, atol=1e-3, rtol=1e-3)


def test_tags_come_from_three_layers_of_first_and_last_piece() -> None:
    model = noisy()
    ids, mask = texts()
    with torch.no_grad():
        outputs = model.encode(ids, mask)
        found = model.tags(outputs, torch.tensor([1, 14, 14]), torch.tensor([1, 17, 14]))
    assert model.tag_layers == (0, 1, 2)
    states = torch.cat(outputs.hidden, -1)
    first, last = model.tag.project.weight.chunk(2)
    for logits, row, a, b in zip(found, (0, 1, 1), (1, 2, 2), (1, 5, 2), strict=True):
        hidden = torch.relu(first @ states[row, a] + last @ states[row, b] + model.tag.bias)
        torch.testing.assert_close(logits, model.tag.out.weight @ hidden + model.tag.out.bias, atol=1e-4, rtol=1e-4)
    assert not torch.allclose(found[1], found[2])


def test_a_tag_head_of_another_form_starts_anew(tmp_path: Path) -> None:
    from safetensors.torch import save_file

    model = noisy()
    state = {k: v for k, v in model.state_dict().items() if not k.startswith("tag.")}
    old = {"tag.dense.weight": torch.ones(128, 32), "tag.out.weight": torch.ones(4, 128)}
    (tmp_path / "config.json").write_text(json.dumps(SHAPE.to_config()))
    save_file({**state, **old}, tmp_path / "model.safetensors")
    with pytest.warns(UserWarning, match=r"tag head in .* starts anew"):
        again, has_head = load_base(tmp_path, seed=5)
    assert has_head
    fresh = random_base(SHAPE, 5).state_dict()
    for name, tensor in again.state_dict().items():
        assert torch.equal(tensor, fresh[name] if name.startswith("tag.") else state[name]), name


def test_an_encoder_without_a_head_says_so(tmp_path: Path) -> None:
    from safetensors.torch import save_file

    model = noisy()
    state = {k.removeprefix("bert."): v for k, v in model.state_dict().items() if k.startswith("bert.")}
    save_file(state, tmp_path / "model.safetensors")
    (tmp_path / "config.json").write_text(json.dumps(SHAPE.to_config()))
    again, has_head = load_base(tmp_path)
    assert not has_head
    assert torch.equal(again.word_embeddings, model.word_embeddings)
    del state["encoder.layer.1.output.dense.weight"]
    save_file(state, tmp_path / "model.safetensors")
    with pytest.raises(ModelError, match=r"encoder\.layer\.1\.output\.dense\.weight"):
        load_base(tmp_path)


def test_other_architectures_are_refused(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps({**SHAPE.to_config(), "model_type": "roberta"}))
    with pytest.raises(ModelError, match="roberta"):
        load_base(tmp_path)


def test_parts_join_to_the_same_weights(tmp_path: Path) -> None:
    state = noisy().state_dict()
    paths = split_weights(state, tmp_path, limit=6000)
    assert len(paths) > 2
    assert all(path.stat().st_size <= 6000 for path in paths)
    joined = read_weights(tmp_path)
    assert joined.keys() == state.keys()
    assert all(torch.equal(joined[name], tensor.half()) for name, tensor in state.items())
    whole = tmp_path / "whole"
    whole.mkdir()
    (whole / "model.safetensors").write_bytes(b"".join(path.read_bytes() for path in paths))
    assert read_weights(whole).keys() == state.keys()
    paths[1].unlink()
    with pytest.raises(ModelError, match="lacks its other parts"):
        read_weights(tmp_path)


def test_base_from_an_onnx_export(tmp_path: Path) -> None:
    """As exporters write it: biases named, matrices transposed and called after numbers."""
    onnx = pytest.importorskip("onnx")
    model = noisy()
    nodes, constants, count = [], [], 0
    for name, tensor in model.state_dict().items():
        bare, values = name.removeprefix("bert."), tensor.numpy()
        if not name.startswith("bert."):
            continue
        if values.ndim == 2 and "embeddings" not in name:
            count += 1
            constants.append(onnx.numpy_helper.from_array(values.T.copy(), f"onnx::MatMul_{count}"))
            product, bias = f"product{count}", bare.removesuffix("weight") + "bias"
            nodes.append(onnx.helper.make_node("MatMul", [f"in{count}", f"onnx::MatMul_{count}"], [product]))
            nodes.append(onnx.helper.make_node("Add", [bias, product], [f"out{count}"]))
        else:
            constants.append(onnx.numpy_helper.from_array(values, bare))
    graph = onnx.helper.make_graph(nodes, "bert", [], [], constants)
    onnx.save(onnx.helper.make_model(graph), str(tmp_path / "model.onnx"))
    (tmp_path / "config.json").write_text(json.dumps(SHAPE.to_config()))
    again = from_onnx(tmp_path / "model.onnx", tmp_path / "config.json")
    for name, tensor in model.state_dict().items():
        if name.startswith("bert."):
            assert torch.equal(again.state_dict()[name], tensor), name
    del graph.node[1]
    onnx.save(onnx.helper.make_model(graph), str(tmp_path / "model.onnx"))
    with pytest.raises(ModelError, match="no plain fp32"):
        from_onnx(tmp_path / "model.onnx", tmp_path / "config.json")

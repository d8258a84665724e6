"""A GPU computes what the CPU computes. Set RADREWARD_GPU=1 to run these tests on a machine with one."""

from importlib import import_module
from pathlib import Path

import pytest
import torch

import radreward
from radreward.cli import build, main
from radreward.models.node_attention import NodeLayout, node_attention
from radreward.models.varlen_attention import supports_varlen, varlen_attention
from tests.logged_terms import fit_and_record

pytestmark = pytest.mark.skipif(
    not torch.cuda.is_available(), reason="needs a GPU: set RADREWARD_GPU=1 on a machine with one"
)
ROOT = Path(__file__).resolve().parents[1]
CONFIG = ROOT / "experiments" / "er2score" / "embedded.yaml"
FILE = "groups.parquet"
REFERENCES = ["Small left pleural effusion. No pneumothorax.", "Heart size is normal. Lungs are clear.", ""]
CANDIDATES = ["No pleural effusion. Right pneumothorax.", "The lungs are clear.", "Fracture of the clavicle."]


@pytest.mark.parametrize("window", [None, 5])
@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("heads", [(4, 4), (4, 2)])
def test_kernel_equals_the_node_loop_in_both_directions(
    heads: tuple[int, int], causal: bool, window: int | None
) -> None:
    if window is not None and not causal:
        pytest.skip("windows exist in causal attention only")
    layout = NodeLayout([7, 3, 5, 2], [-1, 0, 0, 1], causal)
    torch.manual_seed(0)
    shapes = [(1, count, 17, 32) for count in (heads[0], heads[1], heads[1])]
    query, key, value = exact = [torch.randn(shape, requires_grad=True) for shape in shapes]
    expected = node_attention(query, key, value, layout, window=window)
    query, key, value = half = [tensor.detach().to("cuda", torch.bfloat16).requires_grad_() for tensor in exact]
    assert supports_varlen(query, None)
    actual = varlen_attention(query, key, value, layout.sequences(query.device), causal, window=window)
    weights = torch.randn_like(expected)
    gradients = torch.autograd.grad((expected * weights).sum(), exact)
    own_gradients = torch.autograd.grad((actual.float() * weights.cuda()).sum(), half)
    for own, other in zip((actual, *own_gradients), (expected, *gradients), strict=True):
        torch.testing.assert_close(own.float().cpu(), other, rtol=0.05, atol=0.05)


def test_rewards_and_gradients_of_a_decoder_equal_those_of_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT)
    parity = import_module("benchmarks._gpu_parts").parity(torch.device("cuda"))
    assert set(parity) == {"rewards fp32", "gradients fp32", "rewards bf16", "gradients bf16"}


@pytest.mark.parametrize("name", ["er2score", "ratescore", "sentence-eval", "crimson"])
def test_scores_equal_those_of_the_cpu(name: str) -> None:
    on_gpu, on_cpu = (
        radreward.load(name, device=device).score(REFERENCES, CANDIDATES).total for device in ("cuda", "cpu")
    )
    torch.testing.assert_close(on_gpu.cpu(), on_cpu, rtol=1e-3, atol=1e-3, equal_nan=True)


@pytest.mark.filterwarnings("ignore:GPU available but not used")
@pytest.mark.parametrize("precision", ["32-true", "bf16-mixed"])
def test_losses_of_a_training_equal_those_of_the_cpu(precision: str, tmp_path: Path) -> None:
    data = tmp_path / "data"
    assert main(["synthesize", "--groups=16", "--seed=3", f"--output={data}"]) == 0

    def losses(accelerator: str, precision: str) -> list[float]:
        arguments = [f"--run-dir={tmp_path / accelerator}", f"--data.records={data / FILE}"]
        arguments += ["--data.val_split=0.3", "--trainer.max_steps=3", "--trainer.val_check_interval=3"]
        arguments += [f"--trainer.accelerator={accelerator}", f"--trainer.precision={precision}"]
        return [step["loss"] for step in fit_and_record(build(CONFIG, *arguments))]

    tolerance = 0.05 if precision == "bf16-mixed" else 1e-3
    assert losses("gpu", precision) == pytest.approx(losses("cpu", "32-true"), rel=tolerance)

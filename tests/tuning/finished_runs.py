"""Folders of finished runs, written without training."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
import yaml

from radreward.criteria import Criteria
from radreward.modules.agreement_metrics import reward_agreement
from radreward.modules.predictions import ScoredCandidates

CRITERIA = Criteria("two", [{"name": "tone", "description": "Rude."}, {"name": "length", "description": "Long."}])


@pytest.fixture
def make_run(tmp_path: Path) -> Callable[..., Path]:
    """Return a function that writes a finished run; more noise in its rewards makes a worse scorer."""

    def make(
        name: str,
        seed: int = 0,
        noise: float = 1.0,
        criteria: Criteria = CRITERIA,
        references: int = 12,
        errors_seed: int = 0,
        records: str = "aaaabbbb",
        **objective: Any,
    ) -> Path:
        folder = tmp_path / name
        (folder / "model").mkdir(parents=True)
        rng = np.random.default_rng(errors_seed)
        group = np.repeat(np.arange(references), 4)
        errors = torch.from_numpy(rng.integers(0, 3, (4 * references, len(criteria.tags)))).float()
        reward_noise = np.random.default_rng([seed, round(100 * noise)]).normal(0, noise, errors.shape)
        rewards = criteria.target_rewards(errors) + torch.from_numpy(reward_noise).float()
        candidates = ScoredCandidates(rewards, errors, torch.from_numpy(group))
        columns: dict[str, Any] = {
            "group": [f"r{number}" for number in group],
            "candidate": np.tile(np.arange(4), references),
        }
        for index, tag in enumerate(criteria.tags):
            columns |= {f"reward/{tag}": rewards[:, index].numpy(), f"errors/{tag}": errors[:, index].numpy()}
        pq.write_table(pa.table(columns), folder / "validation.parquet")
        config = {
            "run_dir": str(folder),
            "seed_everything": seed,
            "model": {
                "class_path": "radreward.modules.RewardModule",
                "init_args": {
                    "pooling": "mean",
                    "objective": {
                        "class_path": objective.pop("loss", "radreward.objectives.MarginRewardEnforcement"),
                        "init_args": objective,
                    },
                },
            },
            "data": {
                "class_path": "radreward.data.paired_datamodule.PairedReportDataModule",
                "init_args": {"records": "g"},
            },
        }
        (folder / "config.yaml").write_text(yaml.safe_dump(config))
        (folder / "data.json").write_text(json.dumps({"g": records}))
        (folder / "model" / "config.json").write_text(json.dumps({"criteria": criteria.to_dict()}))
        agreement = reward_agreement(criteria, candidates, errors.abs() + 0.5)
        (folder / "metrics.json").write_text(json.dumps({"agreement": {**agreement, "errors": agreement["total"]}}))
        return folder

    return make

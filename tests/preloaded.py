"""Imported once by the server from which the fixture `processes` forks: imports take longer than most commands."""

import gc
import io
from contextlib import redirect_stdout, suppress
from pathlib import Path

gc.disable()  # imports make a million objects that stay

import matplotlib.backends.backend_agg  # noqa: E402, F401 - these are imported on first use by those below
import pandas  # noqa: E402, F401
import peft  # noqa: E402, F401
import pytest  # noqa: E402
import rouge_score.rouge_scorer  # noqa: E402, F401
import sklearn.linear_model  # noqa: E402, F401
import torch.utils.tensorboard  # noqa: E402, F401
import transformers.models.bert.modeling_bert  # noqa: E402, F401

import radreward.cli.training  # noqa: E402
import radreward.synthesis  # noqa: E402
import radreward.systems.er2score.scorer  # noqa: E402
import radreward.tuning.study  # noqa: E402, F401
from radreward.cli import main  # noqa: E402
from radreward.models.finding_classifier import embedded_classifier  # noqa: E402
from radreward.text.entities import rule_entities  # noqa: E402
from radreward.text.standard_wording import may_report_finding  # noqa: E402
from tests.quick_databases import read_migrations_once  # noqa: E402
from tests.quick_disk import never_wait_for_the_disk  # noqa: E402

never_wait_for_the_disk(pytest.MonkeyPatch())
read_migrations_once(pytest.MonkeyPatch())

# The first command reads the docstrings of all classes, and the first sentence compiles the lexicons.
with redirect_stdout(io.StringIO()), suppress(SystemExit):
    main(["fit", f"--config={Path(__file__).parents[1] / 'experiments/er2score/embedded.yaml'}", "--print_config"])
may_report_finding("Small left pleural effusion.")
rule_entities("Small left pleural effusion.")
embedded_classifier()

gc.freeze()  # a process that looks for garbage among them would copy their memory
gc.enable()

"""Imported once by the server from which the fixture `processes` forks: imports take longer than most commands."""

import gc

gc.disable()  # imports make a million objects that stay

import matplotlib.backends.backend_agg  # noqa: E402, F401 - these are imported on first use by those below
import pandas  # noqa: E402, F401
import peft  # noqa: E402, F401
import pytest  # noqa: E402, F401
import sklearn.linear_model  # noqa: E402, F401
import torch.utils.tensorboard  # noqa: E402, F401
import transformers.models.bert.modeling_bert  # noqa: E402, F401

import radreward.cli.training  # noqa: E402
import radreward.systems.er2score.scorer  # noqa: E402
import radreward.tuning  # noqa: E402, F401

gc.freeze()  # a process that looks for garbage among them would copy their memory
gc.enable()

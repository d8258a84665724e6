"""The Hugging Face Hub: one short question whether it answers, instead of minutes of retries."""

from __future__ import annotations

from functools import cache

from radreward.io.terminal import print_status

HUB_TIMEOUT = 3.0
"""Seconds to wait for an answer."""


@cache
def use_only_cache_if_hub_is_unreachable() -> None:
    """Switch Hugging Face libraries to their offline mode if the Hub does not answer; called before a download.

    Otherwise every file of a model is tried six times, which takes minutes without a network.
    """
    from huggingface_hub import constants, get_session

    try:
        get_session().head(constants.ENDPOINT, timeout=HUB_TIMEOUT)
    except Exception:  # its type depends on the version: no network, a timeout, or offline mode is on already
        constants.HF_HUB_OFFLINE = True
        print_status(f"{constants.ENDPOINT} does not answer; only models on this machine are available.")

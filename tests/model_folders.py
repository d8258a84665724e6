"""Changes of saved model folders that their digests do not notice."""

import json
from pathlib import Path

from radreward.io.model_config import DIGESTS, write_config


def renew_digests(config: Path) -> None:
    """Write the digests of the files as they are now, as if the model had been saved with them."""
    settings = json.loads(config.read_text())
    write_config(config, settings, [name for name in settings[DIGESTS] if config.with_name(name).exists()])

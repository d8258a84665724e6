"""Lightning's trainer, with batch limits that a configuration file can set."""

from typing import Any

from jsonargparse.typing import ClosedUnitInterval
from lightning.pytorch import Trainer


class RunTrainer(Trainer):
    """Lightning's trainer. A limit without a decimal point is a number of batches.

    Lightning's type is `Optional[Union[int, float]]`. Python caches such types without regard to order: if a package
    used `Union[float, int]` before, the parser tries float first and reads 1 as 1.0, all batches. No other package uses
    the types below.

    Args:
        limit_train_batches: Batches of an epoch: `1` is one batch, `1.0` all, `0.5` half of them.
        limit_val_batches: Batches of a validation: `1` is one batch, `1.0` all.
        limit_test_batches: Batches of a test: `1` is one batch, `1.0` all.
        limit_predict_batches: Batches of a prediction: `1` is one batch, `1.0` all.
        settings: All other settings of Lightning's trainer.
    """

    def __init__(
        self,
        *,
        limit_train_batches: int | ClosedUnitInterval | None = None,
        limit_val_batches: int | ClosedUnitInterval | None = None,
        limit_test_batches: int | ClosedUnitInterval | None = None,
        limit_predict_batches: int | ClosedUnitInterval | None = None,
        **settings: Any,
    ) -> None:
        super().__init__(
            limit_train_batches=limit_train_batches,
            limit_val_batches=limit_val_batches,
            limit_test_batches=limit_test_batches,
            limit_predict_batches=limit_predict_batches,
            **settings,
        )

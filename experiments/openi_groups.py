"""Groups of real reports whose errors are counted from expert codes: train.parquet and test.parquet.

python experiments/openi_groups.py --csv indiana_reports.csv --output runs/openi
"""

from __future__ import annotations

import argparse
import logging
import sys

from radreward.criteria import PRESETS, load_criteria
from radreward.data.readers.openi import write_coded_groups


def main(arguments: list[str] | None = None) -> int:
    """Write the groups; 2 if the input cannot be used."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--csv", required=True, help="Open-i reports with uid, MeSH, findings, impression")
    parser.add_argument("--output", required=True, help="folder of train.parquet and test.parquet")
    parser.add_argument("--criteria", default="radcliq", help=f"{', '.join(PRESETS)} or a .yaml file")
    parser.add_argument("--groups", type=int, default=5000, help="references of both files together")
    parser.add_argument("--per-reference", type=int, default=4, help="candidates of a reference")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    try:
        criteria = load_criteria(options.criteria)
        paths = write_coded_groups(
            options.csv, options.output, criteria, options.groups, options.per_reference, options.seed
        )
    except ValueError as error:  # InputError is one
        print(error, file=sys.stderr)
        return 2
    print(*paths, sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Write train.parquet and test.parquet: groups of real reports whose errors are counted from expert codes.

python -m experiments.openi.groups --csv indiana_reports.csv --output runs/openi
"""

from __future__ import annotations

import logging
import sys

from jsonargparse import ArgumentParser

from experiments.openi.studies import write_coded_groups
from radreward.cli.signature import add_signature
from radreward.criteria import load_criteria


def main(
    *, csv: str, output: str, criteria: str = "radcliq", groups: int = 5000, per_reference: int = 4, seed: int = 0
) -> int:
    """Write the groups; return 2 if the input cannot be used.

    Args:
        csv: Open-i reports with the columns uid, MeSH, findings, impression.
        output: Folder of train.parquet and test.parquet.
        criteria: Preset or YAML file of the criteria.
        groups: Number of references of both files together.
        per_reference: Candidates per reference.
        seed: Seed of all sampling.
    """
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    try:
        paths = write_coded_groups(csv, output, load_criteria(criteria), groups, per_reference, seed)
    except ValueError as error:  # includes InputError
        print(error, file=sys.stderr)
        return 2
    print(*paths, sep="\n")
    return 0


if __name__ == "__main__":
    parser = ArgumentParser(description=__doc__)
    add_signature(parser, main)
    sys.exit(main(**vars(parser.parse_args())))

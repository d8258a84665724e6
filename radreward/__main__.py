"""`python -m radreward`."""

import sys

from radreward.cli import main

if __name__ == "__main__":
    sys.exit(main())

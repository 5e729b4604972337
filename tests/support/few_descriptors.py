"""The service with FEW_DESCRIPTORS as its hard limit of open files: `python -m` this."""

import os
import resource

from footfall.cli.main import main

if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_NOFILE, (int(os.environ["FEW_DESCRIPTORS"]),) * 2)
    main()

"""auditwheel for wheels of other systems than this machine's: python3 wheel_of.py SYSTEM repair|show ...      SYSTEM: aarch64-linux-gnu

It knows their tags and checks against them, but offers on its command line only those of the machine that it finds itself on.
"""

import sys

from auditwheel.architecture import Architecture
from auditwheel.main import main

processor = sys.argv.pop(1).split("-")[0]
Architecture.detect = staticmethod(lambda **_: Architecture(processor))
sys.exit(main())

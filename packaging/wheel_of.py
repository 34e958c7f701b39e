"""auditwheel for wheels of other systems: python3 wheel_of.py SYSTEM repair
show ...      SYSTEM: aarch64-linux-musl

auditwheel knows their tags and checks them, but its command line only offers those of the current machine.
"""

import sys

from auditwheel.architecture import Architecture
from auditwheel.libc import Libc
from auditwheel.main import main

processor, _, library = sys.argv.pop(1).split("-")
Libc.detect = staticmethod(lambda: Libc.MUSL if library == "musl" else Libc.GLIBC)
Architecture.detect = staticmethod(lambda **_: Architecture(processor))
sys.exit(main())

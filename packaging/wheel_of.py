"""auditwheel for wheels of other systems than this machine's: python3 wheel_of.py SYSTEM repair|show ...      SYSTEM: aarch64-linux-musl

It knows their tags and checks against them, but offers on its command line only those of the machine that it finds itself on.
"""

import sys

from auditwheel.architecture import Architecture
from auditwheel.libc import Libc
from auditwheel.main import main

processor, _, library = sys.argv.pop(1).split("-")
Libc.detect = staticmethod(lambda: Libc.MUSL if library == "musl" else Libc.GLIBC)
Architecture.detect = staticmethod(lambda **_: Architecture(processor))
sys.exit(main())

"""Lists the objects of a .zt file:  list.py FILE"""
import sys

import libztensor

with libztensor.open(sys.argv[1]) as f:
    print(f"zTensor {f.version}, {len(f)} objects")
    for name, obj in f.items():
        print(f"{name}: {obj.format} [{', '.join(map(str, obj.shape))}]")
        for role, part in obj.items():
            print(f"  {role}: {part.dtype} {part.type or '-'} {part.encoding} {part.size} bytes, {part.digest or 'no digest'}")

#!/bin/sh
# Random calls compared with numpy, where python3 has numpy 2 (whose rules for scalars are the language's); else skipped.
here=$(cd "$(dirname "$0")" && pwd)
if ! python3 -c 'import sys, numpy; sys.exit(int(numpy.__version__.split(".")[0]) < 2)' 2>/dev/null; then
    echo "skipped: python3 with numpy 2 is not installed"
    echo "0 passed, 0 failed"
    exit
fi
exec env PYTHONDONTWRITEBYTECODE=1 python3 "$here/compare.py"

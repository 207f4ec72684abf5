#!/bin/sh
# The standard library compared with numpy, and with PyTorch where python3 has it; what is not installed is skipped.
here=$(cd "$(dirname "$0")" && pwd)
if ! python3 -c 'import sys, numpy; sys.exit(int(numpy.__version__.split(".")[0]) < 2)' 2>/dev/null; then
    echo "skipped: python3 with numpy 2 is not installed"
    echo "0 passed, 0 failed"
    exit
fi
exec env PYTHONDONTWRITEBYTECODE=1 python3 "$here/stdlib.py"

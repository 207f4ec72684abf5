# messages.sh: docs/errors.md is made from the pages as they are, and every row of base/messages.def is produced by a
# test: by the bad input of its name in tests/errors, or, where no text of a program leads to it, by the test named here.
. "$ROOT/tests/packaging/check.sh"
cd "$ROOT" || exit

elsewhere='
nul-byte                  tests/cli/errors.sh
bad-utf8                  tests/cli/errors.sh
too-long                  tests/cli/errors.sh
call-depth                tests/cli/errors.sh
call-missing              tests/unit/test_api_call.c
call-unknown              tests/unit/test_api_call.c
call-too-many             tests/unit/test_api_call.c
call-twice                tests/unit/test_api_call.c
call-output               tests/unit/test_api_call.c
call-alias                tests/unit/test_api_call.c
call-results              tests/unit/test_api_call.c
file-kind                 tests/cli/errors.sh
file-short                tests/unit/test_messages.c
npy-magic                 tests/unit/test_npy.c
npy-version               tests/unit/test_npy.c
npy-header                tests/unit/test_npy.c
npy-dtype                 tests/unit/test_npy.c
npy-shape                 tests/unit/test_npy.c
npy-short                 tests/unit/test_npy.c
npz-format                tests/unit/test_npy.c
npz-key                   tests/unit/test_npy.c
npz-method                tests/unit/test_npy.c
npz-checksum              tests/unit/test_npy.c
npz-name                  tests/unit/test_npy.c
gradient-not-needed       tests/unit/test_autograd.c
gradient-not-leaf         tests/unit/test_autograd.c
gradient-dtype            tests/unit/test_autograd.c
gradient-leaf-written     tests/unit/test_autograd.c
gradient-changed          tests/unit/test_autograd.c
gradient-used-up          tests/unit/test_autograd.c
gradient-nested           tests/unit/test_autograd.c
gradient-second           tests/unit/test_autograd.c
gradient-no-value         tests/unit/test_autograd.c
graph-form                tests/unit/test_recorded_refused.c
graph-no-step             tests/unit/test_recorded_refused.c
graph-stand-in            tests/unit/test_recorded_refused.c
graph-broken              tests/unit/test_recorded_refused.c
graph-differs             tests/unit/test_recorded.c
graph-input               tests/unit/test_recorded_refused.c
graph-output              tests/unit/test_recorded.c
graph-host                tests/unit/test_recorded_host.c
function-no-input         tests/unit/test_function.c
function-no-output        tests/unit/test_function.c
function-gradient-count   tests/unit/test_function.c
function-gradient-missing tests/unit/test_function.c
function-gradient-extra   tests/unit/test_function.c
function-saved-twice      tests/unit/test_function.c
function-phase            tests/unit/test_function.c
function-mark             tests/unit/test_function.c
function-attribute        tests/unit/test_function.c
host-skip                 tests/unit/test_function.c
cache-damaged             tests/unit/test_disk_cache.c
cache-refused             tests/unit/test_disk_cache.c
setting                   tests/cli/tier.sh
compiler-failed           tests/unit/test_optimised.c
compiler-wrong            tests/unit/test_optimised.c
dlpack                    tests/unit/test_tensor.c
cuda-absent               tests/cli/devices.sh
plain-c                   tests/unit/test_plain_c.c
device-number             tests/unit/test_gpu.c
device-memory             tests/unit/test_gpu.c
device-lost               tests/unit/test_gpu.c
device-refused            tests/unit/test_gpu.c
devices-differ            tests/unit/test_gpu_call.c
ir-syntax                 tests/unit/test_messages.c
ir-name                   tests/unit/test_messages.c
source-file               tests/cli/diagnostics.sh
operator-unknown          tests/unit/test_operator.c
operator-twice            tests/unit/test_operator.c
operator-definition       tests/unit/test_operator_native.c
kernel-condition          tests/unit/test_operator_kernels.c
kernel-twice              tests/unit/test_operator_native.c
no-kernel                 tests/unit/test_operator_native.c
kernel-tie                tests/unit/test_operator_kernels.c
operand-count             tests/unit/test_operator_native.c
attribute-range           tests/unit/test_operator_native.c
operator-refused          tests/unit/test_operator_native.c
operator-failed           tests/unit/test_operator_native.c
operator-infer            tests/unit/test_operator_kernels.c
info-twice                tests/unit/test_operator.c
info-mismatch             tests/unit/test_operator.c
info-no-match             tests/unit/test_operator.c
device-name               tests/unit/test_operator_native.c
device-absent             tests/unit/test_operator_native.c
sole-output               tests/unit/test_operator_native.c
gradient-twice            tests/unit/test_operator_gradient.c
gradient-graph            tests/unit/test_operator_gradient.c
internal                  tests/unit/test_diagnostic.c
out-of-memory             tests/unit/test_api.c
library-open              tests/packaging/load.sh
library-symbol            tests/packaging/load.sh
library-abi               tests/packaging/load.sh
library-failed            tests/packaging/load.sh
'

generated()
{
    awk -f docs/errors.awk base/messages.def docs/errors/*.md >"$here/errors.md"
    diff -u docs/errors.md "$here/errors.md" | head -n 20 >"$here/difference"
    [ ! -s "$here/difference" ] || { cat "$here/difference" && echo "run make docs" && false; }
}

# produced NAME CODE: a golden test must expect exactly the messages that are told, so it is enough that it expects the code
produced()
{
    file=$(echo "$elsewhere" | awk -v name="$1" '$1 == name { print $2 }')
    if [ -f "tests/errors/$1.akg" ]; then
        [ -z "$file" ] || { echo "tests/errors/$1.akg is there: it need not be listed in this script" && false; } || return
        grep -q "^#? .*\[$2\]\$" "tests/errors/$1.akg" || { echo "tests/errors/$1.akg does not expect $2" && false; }
    elif [ -n "$file" ]; then
        grep -qE "\"$1\"|$2| $1: " "$file" || { echo "$file mentions neither \"$1\" nor $2" && false; }
    else
        echo "no test is tests/errors/$1.akg" && false
    fi
}

# Every name of the list above is one of a message.
listed()
{
    for name in $(echo "$elsewhere" | awk '{ print $1 }'); do
        grep -q "^$name\$" "$here/names" || { echo "there is no message $name" && false; } || return
    done
}

here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
check "docs/errors.md is up to date" generated
sed -n 's/^X([A-Z0-9_]*, *\([0-9]*\), *[a-z]*, *"\([^"]*\)".*/\1 \2/p' base/messages.def >"$here/rows"
sed 's/.* //' "$here/rows" >"$here/names"
check "at least 120 messages" [ "$(wc -l <"$here/rows")" -ge 120 ]
while read -r number name; do
    check "a test produces $name" produced "$name" "$(printf 'AKG%04d' "$number")"
done <"$here/rows"
check "the list names messages only" listed
check_done

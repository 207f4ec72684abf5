#!/bin/sh
# pairs: what many commands in one process come to (pairs.c), on the libraries that stand in for NVIDIA's: one context for
# all of them; and that a case with another output, with another exit status, that crashes and that hangs is told of, and
# those behind it are done.
if [ ! -f "$BUILD/tests/libcuda_stub.so" ]; then
    echo "skipped: many commands in one process: built without the headers of CUDA"
    echo "0 passed, 0 failed"
    exit
fi
AKG_CUDA_LIBRARY=$BUILD/tests/libcuda_stub.so AKG_NVRTC_LIBRARY=$BUILD/tests/libnvrtc_stub.so
export AKG_CUDA_LIBRARY AKG_NVRTC_LIBRARY
passed=0 failed=0

# one case after another, in this folder
cp "$ROOT/examples/square.akg" .
for value in 1 2 3 4; do
    printf '%s\037' . "case $value" run square.akg square "x=[$value]"
    echo
done >cases
printf '%s\037' . timed run square.akg square 'x=[1]' --time >other
echo >>other
cat cases >>other
head -n 1 cases >single

# gives WHAT FAILURES STATUS LAST ARGUMENT...: the exit status and the two last lines of pairs, with these failures
gives()
{
    what=$1 wanted=$3 last=$4
    AKG_STUB_FAIL=$2
    export AKG_STUB_FAIL
    shift 4
    "$BUILD/tests/pairs" "$@" >told 2>&1 </dev/null
    holds "$what" [ "$?-$(tail -n 2 told | paste -s -d ' ' -)" = "$wanted-$last" ]
}

# holds WHAT COMMAND...
holds()
{
    what=$1
    shift
    if "$@"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED: $what" && sed 's/^/    /' told
    fi
}

# a second context in a process would be refused
gives 'one context' cuDevicePrimaryCtxRetain:1:2 0 'processes: 1 4 passed, 0 failed' cuda 1 cases
gives 'another output' '' 1 'processes: 2 4 passed, 1 failed' cuda 1 other
holds 'both outputs are told' grep -q '^    expected time: compile ' told
gives 'another status' cuLaunchKernel:1:701 1 'processes: 2 2 passed, 2 failed' cuda 1 cases
holds 'the case is named' grep -qx "FAILED: case 2: akgrun run square.akg square 'x=\[2\]'" told
holds 'both statuses are told' grep -qx '    exit status 4, should be 0' told
holds 'what was said is told' grep -q '^    standard error: .*too many resources' told
gives 'a crash' cuLaunchKernel:2:-6 1 'processes: 2 3 passed, 1 failed' cuda 1 cases
holds 'the crash is told' grep -q '^    signal 6 .*, --device cuda$' told
gives 'a process that ends' kernel:2:-9 1 'processes: 2 3 passed, 1 failed' cuda 1 cases
gives 'a hang' cuLaunchKernel:0:-19 1 'processes: 1 0 passed, 1 failed' -s 0.3 cuda 1 single
holds 'the hang is told' grep -q '^    it did not end in time, ' told

# a signal from outside
AKG_STUB_FAIL=cuLaunchKernel:0:-19 timeout 0.7 "$BUILD/tests/pairs" cuda 1 cases >told 2>&1 </dev/null
holds 'the status of what is cut off' [ $? = 124 ]
holds 'what is cut off is counted' [ "$(tail -n 1 told)" = '0 passed, 0 failed' ]
holds 'and named' grep -q '^CUT OFF: case 1: ' told

# the same bits twice
gives 'twice' '' 0 'processes: 1 1 passed, 0 failed' -t cuda 1 single
cp second/y.npy first/z.npy
gives 'a result that is not there again' '' 1 'processes: 1 0 passed, 1 failed' -t cuda 1 single
holds 'it is named' grep -q '^    z.npy differs from one run to the next$' told
gives 'a call that is refused' cuLaunchKernel:0:701 1 'processes: 1 0 passed, 1 failed' -t cuda 1 single
echo "$passed passed, $failed failed"
[ $failed = 0 ]

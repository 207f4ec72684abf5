#!/bin/sh
# akgrun run --tier.
. "$(dirname "$0")/functions"

cat >steps.akg <<'PROGRAM'
def steps(x: int64[N]):
    count = 0
    for i in range(x.shape[0]):
        n = x[i]
        count = count % 2
        while n > 1:
            n = n // 2 if n % 2 == 0 else 3 * n + 1
            count += 1
        x[i] = count
    return x
PROGRAM
AKG_CACHE=on AKG_CACHE_DIR=$PWD/cache TMPDIR=$PWD/tmp
export AKG_CACHE AKG_CACHE_DIR TMPDIR
mkdir tmp

expect 0 'instant' run steps.akg 'x=arange(2000)' --out instant --time
stdout_has 'x int64[2000] = [0, 0, 1, ..., 50, 50, 50]'
status=0
command -v cc >/dev/null || status=1
if [ $status = 0 ]; then
    AKG_CC=cc
    export AKG_CC
    expect 0 'optimised' run steps.akg 'x=arange(2000)' --tier optimised --out optimised --time
    stdout_has ', optimised tier)'
    stderr_empty
    assert 'the same' cmp instant/x.npy optimised/x.npy
    expect 0 'kept' cache ls
    stdout_has 'optimised  '
    expect 0 'from the cache' run steps.akg 'x=arange(2000)' --tier auto --time --json
    stdout_has '"tier": "optimised"'
    json 'timing'
    AKG_CACHE_DIR=$PWD/bench
    expect 0 'bench' bench steps.akg 'x=arange(200)' --tier optimised --seconds 0.01
    stdout_has '  optimised '
    AKG_CACHE_DIR=$PWD/cache
else
    echo 'skipped: the optimising tier: there is no cc'
fi
assert 'nothing is left' [ -z "$(ls tmp)" ]
AKG_CC=/nowhere/cc
export AKG_CC
AKG_CC=/nowhere/cc,/nowhere/else
expect 0 'no compiler' run steps.akg 'x=arange(2000)' --tier optimised --out without
stderr_has "'steps' is not made anew by '/nowhere/cc': the C compiler is not there [AKG0762]"
stderr_has "'steps' is not made anew by '/nowhere/else': the C compiler is not there [AKG0762]"
assert 'the same without' cmp instant/x.npy without/x.npy
AKG_TIER=auto
export AKG_TIER
expect 0 'no compiler, not asked for' run steps.akg 'x=arange(2000)'
stderr_empty
expect 2 'an unknown tier' run steps.akg 'x=arange(2)' --tier optimized
stderr_has "did you mean 'optimised'?"

# ---- names for profilers

AKG_PERF_MAP=1 "$AKGRUN" run steps.akg 'x=arange(20)' >/dev/null &
child=$!
wait $child
assert 'perf finds names' grep -q '^[0-9a-f]* [0-9a-f]* akg:steps$' /tmp/perf-$child.map
rm -f /tmp/perf-$child.map

# ---- settings that mean nothing

AKG_TIER=fast AKG_CACHE_SIZE=much
export AKG_CACHE_SIZE
expect 0 'settings that mean nothing' run steps.akg 'x=arange(2)'
stdout_is 'x int64[2] = [0, 0]'
stderr_has "AKG_TIER is 'fast', not instant, auto or optimised [AKG0764]"
stderr_has "AKG_CACHE_SIZE is 'much', not a number of bytes, as 64M or 2G [AKG0764]"
unset AKG_CACHE_SIZE
AKG_CC=/nowhere/cc,/nowhere/else,/nowhere/third,/nowhere/fourth,/nowhere/fifth
expect 0 'too many compilers' run steps.akg 'x=arange(4)' --tier optimised
stderr_has "AKG_CC is '/nowhere/cc,/nowhere/else,/nowhere/third,/nowhere/fourth,/nowhere/fifth', not up to four compilers [AKG0764]"
AKG_TIER=auto AKG_CC_LIMIT=ten
export AKG_CC_LIMIT
expect 0 'a limit that is no number' run steps.akg 'x=arange(2)'
stderr_has "AKG_CC_LIMIT is 'ten', not a number of seconds between 0 and 3600 [AKG0764]"
finish

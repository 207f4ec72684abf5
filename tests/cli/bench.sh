#!/bin/sh
# bench: what it measures is not judged here, only that it does, in which form, and what it refuses.
. "$(dirname "$0")/functions"
AKG_CACHE_DIR=$PWD/cache TMPDIR=$PWD/tmp
export AKG_CACHE_DIR TMPDIR
mkdir tmp
unset AKG_CC AKG_CACHE

cat >square.akg <<'PROGRAM'
def square(x):
    y = output_tensor(x.shape, x.dtype)
    for i in range(x.shape[0]):
        y[i] = x[i] * x[i]
    return y


def shift(x, by=0.5):
    for i in range(x.shape[0]):
        x[i] = x[i] * 0.25 + by
    return x


def pick(index: int32[N], *xs):
    y = output_tensor((N,), xs[0].dtype)
    for i in range(N):
        y[i] = xs[0][index[i]] + xs[1][i]
    return y
PROGRAM

# --- the report ---------------------------------------------------------------------------

expect 0 'table, JSON and page' bench square.akg square 'x=randn(1000)' --seconds 0.01 --json a.json --report a.html
stdout_has 'square: reads 4 kB, writes 4 kB, computes 1 kflop'
stdout_has '  instant  '
stdout_has '  compile: front end '
stderr_empty
[ "$(ls cache)" = machine ] && pass 'the machine is remembered' || fail 'the cache directory has not just the machine'
grep -q '^  {"kernel": "square", "tier": "instant", "threads": 1, "median_ns": [0-9.e+]*, "ci_ns": \[[0-9.e+]*, [0-9.e+]*\], "bytes": 8000, "flops": 1000, "bandwidth_share": [0-9.e+-]*, "compute_share": [0-9.e+-]*, "compile_us": [0-9.e+]*}$' a.json &&
    pass 'the row has its form' || fail "a row is $(cat a.json)"
grep -q '^\], "machine": {"cpu": ".*", "vectors": ".*", "processors": [0-9]*, "threads": 1, .*"compilers": \[\]}}$' a.json &&
    pass 'the machine has its form' || fail "the machine is $(cat a.json)"
if grep -q '<svg ' a.html && grep -q 'class="roof"' a.html && ! grep -qE 'https?:|src=|<script' a.html; then
    pass 'the page has a roofline and needs nothing else'
else
    fail 'the page is wrong'
fi

ln -s linked.json link.json
echo text >linked.json
expect 0 'JSON through a link' bench square.akg square 'x=randn(10)' --seconds 0.01 --json link.json
assert 'the link is there' [ -h link.json ]
assert 'the file has the rows' grep -q '"kernel": "square"' linked.json
rm linked.json
expect 0 'JSON through a link to nothing' bench square.akg square 'x=randn(10)' --seconds 0.01 --json link.json
assert 'the link is there as before' [ -h link.json ]
assert 'the new file has the rows' grep -q '"kernel": "square"' linked.json
mkfifo pipe
cat pipe >piped &
expect 0 'JSON into a pipe' bench square.akg square 'x=randn(10)' --seconds 0.01 --json pipe
wait
assert 'the pipe is there' [ -p pipe ]
assert 'it had the rows' grep -q '"kernel": "square"' piped
expect 0 'JSON on standard output' bench square.akg shift 'x=randn(10)' by=0.25 --seconds 0.01 --json -
stdout_has '{"rows": ['
stdout_has '"kernel": "shift"'
stdout_has '"flops": 20,'
[ "$(wc -l <cache/machine)" -eq 1 ] && pass 'it is measured once' || fail 'the machine was measured again'
if [ "$(nproc)" -gt 1 ]; then
    expect 0 'two threads' bench square.akg square 'x=randn(100000)' --threads 2 --seconds 0.01 --json b.json
    grep -q '"tier": "instant", "threads": 2, ' b.json && pass 'the report says so' || fail 'the report has other threads'
    [ "$(wc -l <cache/machine)" -eq 2 ] && pass 'the machine is measured with them' || fail 'two threads were not measured'
    sed -n 1p cache/machine >one && mv one cache/machine
fi
expect 0 'a kernel of the library, and a variadic one' bench std:relu 'x=randn(100)' --seconds 0.01
stdout_has 'relu: reads 400 B, writes 400 B, computes '
expect 0 'data-dependent indices' bench square.akg pick 'index=[2,0,1]' 'xs=randn(3)' 'xs=randn(3)' --seconds 0.01
stdout_has 'pick: reads 36 B, writes 12 B, computes 3 flop (at most: some of it hangs on data)'
expect 0 'no operation on floats' bench square.akg pick 'index=[0]' 'xs=ones(1):int32' 'xs=ones(1):int32' --seconds 0.01 --report b.html
grep -q 'no roofline' b.html && pass 'the page says so' || fail 'the page shows a roofline'

# What was kept of another machine, or of nothing sensible, is not used.
printf '%s\n' 'no JSON' '{"cpu": "another", "threads": 1}' >cache/machine
expect 0 'a damaged memory' bench square.akg square 'x=randn(10)' --seconds 0.01
[ "$(wc -l <cache/machine)" -eq 3 ] && pass 'it is measured anew' || fail 'the damaged line was used'

# --- the C compiler ---------------------------------------------------------------------------

if command -v gcc >/dev/null; then
    AKG_CC=gcc
    export AKG_CC
    for call in 'square.akg square x=randn(1000)' 'square.akg shift x=randn(100)' 'square.akg pick index=[2,0,1] xs=randn(3) xs=randn(3)' \
        'std:add a=randn(5,1) b=randn(3,1,4)' 'std:multiply a=randn(5,4) b=2.5'; do
        # shellcheck disable=SC2086
        expect 0 "twin of $call" bench $call --vs cc --seconds 0.01 --json b.json
        stdout_has 'cc gcc / instant: '
        grep -q '"compilers": \["gcc"\]' b.json && pass "$what: the compiler" || fail 'the report names no compiler'
        grep -q '"tier": "cc", .*"compiler": "gcc"}' b.json && pass "$what: its row" || fail 'the row names no compiler'
        if grep -q 'differ by' stdout; then fail 'the results differ'; else pass "$what: results agree"; fi
    done
    expect 0 'the optimising tier' bench square.akg shift 'x=randn(100)' --tier optimised --seconds 0.01 --json b.json
    if grep -q '"tier": "optimised", "threads": 1, ' b.json; then
        stdout_has 'optimised / instant: '
    else
        stdout_has 'optimised: the code of the instant tier was kept'
    fi
    AKG_CC=false
    export AKG_CC
    expect 0 'a compiler that refuses' bench square.akg shift 'x=randn(100)' --tier optimised --seconds 0.01
    stdout_has 'optimised: the code of the instant tier was kept'
    stderr_has "'shift' is not made anew by 'false'"
    unset AKG_CC
    expect 0 'several compilers' bench square.akg square 'x=randn(10)' --vs cc,gcc --seconds 0.01 --json b.json
    [ "$(grep -c '"tier": "cc"' b.json)" -eq 2 ] && pass 'a row for each' || fail 'there are not two rows'
    expect 0 'one that refuses, beside another' bench square.akg square 'x=randn(10)' --vs false,gcc --seconds 0.01 --json b.json
    stdout_has "'false' refused the plain C of the kernel"
    [ "$(grep -c '"tier": "cc"' b.json)" -eq 1 ] && pass 'the other one has a row' || fail 'there is not one row'
    expect 2 'all that refuse' bench square.akg square 'x=randn(10)' --vs false,false --seconds 0.01
    if command -v make >/dev/null; then
        expect 0 'a program of its own' bench square.akg shift 'x=randn(100)' --emit program
        status=0 ran='make in the folder' what='it builds and runs'
        make -C program >stdout 2>stderr || status=$?
        judge 0 "$what"
        stdout_has 'shift: median '
        expect 2 'nothing is overwritten' bench square.akg shift 'x=randn(100)' --emit program
        stderr_has "cannot write 'program/kernel.c': File exists"
    fi
    unset AKG_CC
else
    echo 'skipped: there is no gcc'
fi
expect 2 'a compiler that is not there' bench square.akg square 'x=[1]' --vs no-such-compiler --seconds 0.01
stderr_has "cannot run 'no-such-compiler'"
AKG_CC=false,true
export AKG_CC
expect 2 'a compiler that fails' bench square.akg square 'x=[1]' --vs cc --seconds 0.01
stderr_has "'false' refused the plain C of the kernel"
printf '#!/bin/sh\nexec sleep 60\n' >sleeps
chmod +x sleeps
AKG_CC=$PWD/sleeps AKG_CC_LIMIT=0.2
export AKG_CC_LIMIT
expect 2 'a compiler that never ends' bench square.akg square 'x=[1]' --vs cc --seconds 0.01
stderr_has 'did not come to an end'
unset AKG_CC AKG_CC_LIMIT
[ -z "$(ls tmp)" ] && pass 'nothing is left behind' || fail "left behind: $(ls tmp)"

# --- comparing ------------------------------------------------------------------------------------

report() { # FILE KERNEL MEDIAN LOW HIGH
    printf '{"rows": [{"kernel": "%s", "tier": "instant", "threads": 1, "median_ns": %s, "ci_ns": [%s, %s]}], "machine": {"cpu": "m"}}\n' \
        "$2" "$3" "$4" "$5" >"$1"
}
report before.json f 1000 990 1010
report same.json f 1020 1005 1025
report slower.json f 1100 1090 1110
report faster.json f 900 890 910
report other.json g 900 890 910
head='  kernel                   tier     th      before       after   ratio'
expect 0 'no difference beyond doubt' bench --compare before.json same.json
stdout_is "$head
  f                        instant   1     1.00 us     1.02 us   1.020"
expect 0 'slower' bench --compare before.json slower.json
stdout_is "$head
  f                        instant   1     1.00 us     1.10 us   1.100  slower"
expect 0 'faster' bench --compare before.json faster.json
stdout_has '0.900  faster'
expect 0 'other kernels' bench --compare before.json other.json
stdout_has '  g                        instant   1 only in other.json'
stdout_has '  f                        instant   1 only in before.json'
twins() { # FILE COMPILER MEDIAN COMPILER MEDIAN
    printf '{"rows": [' >"$1"
    printf '{"kernel": "f", "tier": "cc", "threads": 1, "median_ns": %s, "ci_ns": [%s, %s], "compiler": "%s"}, ' "$3" "$3" "$3" "$2" >>"$1"
    printf '{"kernel": "f", "tier": "cc", "threads": 1, "median_ns": %s, "ci_ns": [%s, %s], "compiler": "%s"}' "$5" "$5" "$5" "$4" >>"$1"
    printf '], "machine": {"cpu": "m"}}\n' >>"$1"
}
twins twins.json gcc 100 clang 500
twins turned.json clang 505 gcc 110
expect 0 'twins by their compilers' bench --compare twins.json turned.json
stdout_is "$head
  f                        cc clang  1    500.0 ns    505.0 ns   1.010
  f                        cc gcc    1    100.0 ns    110.0 ns   1.100  slower"
expect 0 'what it wrote itself' bench --compare a.json a.json
stdout_has '1.000'
expect 2 'one report' bench --compare before.json
stderr_has '--compare takes two reports'
expect 2 'no such report' bench --compare before.json none.json
stderr_has 'cannot read none.json'
echo '{"rows": [' >broken.json
expect 2 'no JSON' bench --compare broken.json before.json
stderr_has 'broken.json:2:1: expected a value'
echo '{"rows": [{"kernel": "f"}]}' >broken.json
expect 2 'no report' bench --compare broken.json before.json
stderr_has 'broken.json is no report of akgrun bench'

# --- the command line ---------------------------------------------------------------------------------

for threads in 0 -1 x 2x 99999; do
    expect 2 "threads $threads" bench square.akg square 'x=[1]' --threads=$threads
    stderr_has '--threads takes a whole number from 1 to 1024'
done
expect 2 'more threads than processors' bench square.akg square 'x=[1]' --threads 1024
stderr_has '--threads 1024: there are '
for seconds in 0 -1 x 1e9; do
    expect 2 "seconds $seconds" bench square.akg square 'x=[1]' --seconds=$seconds
    stderr_has '--seconds takes a number up to 3600'
done
expect 2 'JSON without a file' bench square.akg square 'x=[1]' --json
stderr_has '--json needs a value'
expect 2 'a report that cannot be written' bench square.akg square 'x=[1]' --seconds 0.01 --json none/a.json
stderr_has "cannot write 'none/a.json'"
expect 2 'options of others' run square.akg square 'x=[1]' --vs cc
stderr_has "'akgrun run' does not take --vs"
expect 2 'no program' bench
expect 2 'no kernel of that name' bench square.akg squar 'x=[1]'
stderr_has "did you mean 'square'?"
expect 3 'a call that is wrong' bench square.akg square 'x=[[1]]'
expect 0 'help' bench --help
stdout_has '--report FILE'

finish

#!/bin/sh
# check --fix: what it repairs, what it tells, what it leaves alone.
. "$(dirname "$0")/functions"
write_square

write_broken() {
    cat >broken.akg <<'PROGRAM'
def f(x):
    y = output_tensor(x.shape, x.dtype)
    for i in range(x.shape[0])
        if x[i] = 1.0:
            y[i] = x[i] && 1
        y[i] = mxa(x[i], 0)
    return y
PROGRAM
}

repaired='def f(x):
    y = output_tensor(x.shape, x.dtype)
    for i in range(x.shape[0]):
        if x[i] == 1.0:
            y[i] = x[i] and 1
        y[i] = max(x[i], 0)
    return y'

# the second mistake of a name shows only when the syntax is right
write_broken
chmod 640 broken.akg
expect 1 'repairs, and one mistake is left' check --fix broken.akg
stderr_has "broken.akg:3:31: fixed: inserted ':' [AKG0118]"
stderr_has "broken.akg:4:17: fixed: replaced '=' by '==' [AKG0119]"
stderr_has "broken.akg:5:25: fixed: replaced '&&' by 'and' [AKG0121]"
stderr_has "broken.akg:6:16: fixed: replaced 'mxa' by 'max' [AKG0201]"
stderr_has 'broken.akg:5:'
stdout_empty
assert 'the file is repaired' [ "$(cat broken.akg)" = "$repaired" ]
assert 'the mode is kept' [ "$(stat -c %a broken.akg)" = 640 ]
assert 'nothing else was left' [ "$(ls -A | grep -c akgrun-)" -eq 0 ]
cp broken.akg before.akg
expect 1 'again' check --fix broken.akg
assert 'again: nothing is repaired' [ "$(grep -c fixed: stderr)" -eq 0 ]
assert 'again: the file is the same' cmp -s broken.akg before.akg

write_broken
ran='check --fix -' what='standard input' status=0
"$AKGRUN" check --fix - <broken.akg >stdout 2>stderr || status=$?
judge 1 'standard input'
stdout_is "$repaired"
stderr_has "<stdin>:3:31: fixed: inserted ':'"
ran='check --fix - (nothing to do)' what='standard input, nothing to repair' status=0
"$AKGRUN" check --fix - <square.akg >stdout 2>stderr || status=$?
judge 0 "$what"
stdout_is "$(cat square.akg)"
stderr_empty

expect 1 'as JSON' check --fix --json broken.akg
stdout_has '{"fixed": [{"code": "AKG0118", "name": "missing-colon", "line": 3, "column": 31, "removed": "", "inserted": ":"}, '
stdout_has '"diagnostics":[{"severity":"error"'
stderr_empty
json
write_broken
expect 1 'as SARIF' check --fix --diagnostics=sarif broken.akg
assert 'as SARIF: the repairs are not told between' [ "$(grep -c fixed: stderr)" -eq 0 ]
assert 'as SARIF: but made' [ "$(cat broken.akg)" = "$repaired" ]

sed 's/range/rnage/' square.akg >named.akg
expect 0 'all is well then' check --fix named.akg
stderr_has "named.akg:3:14: fixed: replaced 'rnage' by 'range' [AKG0201]"
stdout_has 'square(x: '
expect 0 'as JSON, all is well' check --fix --json square.akg
stdout_has '{"fixed": [], "kernels": [{'
json
touch -d '2001-02-03' square.akg
expect 0 'nothing to repair' check --fix square.akg
stderr_empty
assert 'nothing to repair: not even written' [ "$(date -r square.akg +%Y)" = 2001 ]

# places: carriage returns, a byte order mark, characters of several bytes
printf '\357\273\277def f(x):\r    y = x\r    return z\r' >places.akg
expect 1 'a name far from all others' check --fix places.akg
printf '\357\273\277def f(x, \303\244\303\266\303\274=1):\r\n    # \342\202\254\r\n    while \303\244\303\266\303\274 = 2:\r\n        pass\r\n    return x\r\n' >places.akg
expect 0 'places in bytes' check --fix places.akg
stderr_has "fixed: replaced '=' by '=='"
assert 'places in bytes: the file' [ "$(cat places.akg)" = "$(printf '\357\273\277def f(x, \303\244\303\266\303\274=1):\r\n    # \342\202\254\r\n    while \303\244\303\266\303\274 == 2:\r\n        pass\r\n    return x\r\n')" ]
printf 'def f(x):\r    y = output_tensor(x.shape, x.dtype)\r    for i in grid(x.shape)\r        y[i] = x[i]\r    return y\r' >places.akg
expect 0 'lines that end in a carriage return alone' check --fix places.akg
assert 'carriage returns: the file' [ "$(tr '\r' '\n' <places.akg | sed -n 3p)" = '    for i in grid(x.shape):' ]
printf 'def f(x):\n    y = output_tensor(x.shape, x.dtype)\n    for i in grid(x.shape):\n        y[i] = x[i]\n' >many.akg
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13; do
    for j in 1 2 3 4 5 6 7 8 9 10; do
        printf '        y[i] = mxa(y[i], %s.0)\n' "$i$j" >>many.akg
    done
done
printf '    return y\n' >>many.akg
expect 0 'more mistakes than are told at once' check --fix many.akg
assert 'more than are told at once: all repaired' [ "$(grep -c fixed: stderr)" -eq 130 ]

# what stays is as it was written; what would be wrong is not proposed
cat >kept.akg <<'PROGRAM'
def f(x: float32[N], k: int32[N], n: int):
    y = output_tensor(x.shape, x.dtype)
    if n === 3 or n !== 4:
        y[0] = 1
    for i in range(N):
        y[i] = k[i  # the first
                 ]  # the second
        y[i] = max(x[i]], 2)
        y[i] = k[0x10 - 16 + i] * 1_000 + 7
    return y
PROGRAM
sed -e 's/===/==/' -e 's/!==/!=/' -e 's/]]/]/' -e 's/= k\[i  #/= float32(k[i  #/' -e 's/^ *]  #/                 ])  #/' \
    -e 's/k\[0x10.*/float32(k[0x10 - 16 + i] * 1_000 + 7)/' kept.akg >wanted.akg
expect 0 'comments and numbers' check --fix kept.akg
assert 'comments and numbers: the file' cmp -s kept.akg wanted.akg
cat >habits.akg <<'PROGRAM'
func f(x: float32[N], n: int):
    y = output_tensor(x.shpae, "flaot32")
    for i in N:
        if n > 1:
            y[i] = x(i)
        elsif n > 0:
            y[i] = 1.0f
        else if n < 0:
            y[i] = x.shape(0) + x.size(0)
    return y
PROGRAM
cat >wanted.akg <<'PROGRAM'
def f(x: float32[N], n: int):
    y = output_tensor(x.shape, "float32")
    for i in range(N):
        if n > 1:
            y[i] = x[i]
        elif n > 0:
            y[i] = 1.0
        elif n < 0:
            y[i] = x.shape[0] + x.shape[0]
    return y
PROGRAM
expect 0 'habits of other languages' check --fix habits.akg
assert 'habits of other languages: the file' cmp -s habits.akg wanted.akg
printf 'def f(x: float32[N]):\n    x[0] = math.log(x[0], 2)\n    x[1] = F.relu(x[1])\n    return x\n' >foreign.akg
cp foreign.akg before.akg
expect 1 'functions that are others here' check --fix foreign.akg
stderr_has 'help: write max(x[i], 0)'
assert 'functions that are others here: the file' cmp -s foreign.akg before.akg
printf 'def f(x: float32[N]):\n    x[0] = x[1][0]\n    return x\n' >chained.akg
cp chained.akg before.akg
expect 1 'more indices than axes' check --fix chained.akg
stderr_has "note: 'x' has 1 axis, but 2 are indexed"
assert 'more indices than axes: the file' cmp -s chained.akg before.akg

write_broken
ln -s broken.akg link.akg
expect 1 'a link' check --fix link.akg
assert 'a link stays one' [ -L link.akg ]
assert 'a link: the file is repaired' [ "$(cat broken.akg)" = "$repaired" ]
mkdir closed
write_broken
mv broken.akg closed/broken.akg
cp closed/broken.akg before.akg
chmod 555 closed
if ! touch closed/probe 2>/dev/null; then
    expect 2 'a folder that cannot be written' check --fix closed/broken.akg
    stderr_has "cannot write"
    assert 'a folder that cannot be written: nothing is told as done' [ "$(grep -c fixed: stderr)" -eq 0 ]
    assert 'a folder that cannot be written: the file' cmp -s closed/broken.akg before.akg
fi
chmod 755 closed
expect 2 'no such file' check --fix missing.akg
expect 2 'a folder' check --fix closed
stderr_has 'it is no regular file'
expect 2 'for check only' run --fix square.akg 'x=[1]'
stderr_has "does not take --fix"
# lines end in several ways, also in a string
printf 'x = """a\r\nb\rc\nd""" !e\r\n' >lines.akg
expect 1 'a mistake behind a string of several lines' check --fix lines.akg
stderr_has "lines.akg:4:6: fixed: replaced '!' by 'not ' [AKG0121]"
assert 'the right place is repaired' [ "$(printf 'x = """a\r\nb\rc\nd""" not e\r\n' | cmp - lines.akg)" = "" ]

finish

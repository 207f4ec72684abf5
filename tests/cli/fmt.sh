#!/bin/sh
# fmt.sh: akgrun fmt: what it changes, what it leaves alone.
. "$(dirname "$0")/functions"
printf 'def f( x ) :\n  y=output_tensor(x.shape,x.dtype)   # made\n  for i in grid(x.shape): y[i]=x[i]\n  return y' >untidy.akg
chmod 640 untidy.akg

expect 1 'an untidy file' fmt --check untidy.akg
stderr_has 'untidy.akg is not formatted'
assert '--check changes nothing' [ "$(head -n 1 untidy.akg)" = 'def f( x ) :' ]
expect 0 'formatted in its place' fmt untidy.akg
stdout_empty
assert 'the first line' [ "$(head -n 1 untidy.akg)" = 'def f(x):' ]
assert 'the comment is there' grep -q '  # made$' untidy.akg
assert 'the mode is kept' [ "$(stat -c %a untidy.akg)" = 640 ]
assert 'nothing else was left' [ "$(ls -A | grep -c akgrun-)" -eq 0 ]
expect 0 'a tidy file' fmt --check untidy.akg
expect 0 'the kernel still runs' untidy.akg 'x=[1,2]'
stdout_is 'y float32[2] = [1, 2]'
ran='fmt -' what='standard input' status=0
printf 'def f(x):\n y=x\n return x' | "$AKGRUN" fmt - >stdout 2>stderr || status=$?
judge 0 'standard input'
stdout_is 'def f(x):
    y = x
    return x'
ran='fmt -' what='comments above a function, brackets behind a sign and a keyword' status=0
printf 'A=1\n# of one\n# and two\ndef f(x, k : tuple=(1,)):\n return sum( -(x), axes =(0,) )\n# of g\n\ndef g(x):\n return -x\n' |
    "$AKGRUN" fmt - >stdout 2>stderr || status=$?
judge 0 'comments above a function, brackets behind a sign and a keyword'
stdout_is 'A = 1


# of one
# and two
def f(x, k: tuple = (1,)):
    return sum(-(x), axes=(0,))
# of g


def g(x):
    return -x'
printf 'def f(x:\n' >broken.akg
expect 1 'a program that does not parse' fmt broken.akg
assert 'it is left alone' [ "$(cat broken.akg)" = 'def f(x:' ]
expect 2 'no such file' fmt nothing.akg
expect 2 'too many words' fmt untidy.akg f
expect 2 'two files' fmt untidy.akg broken.akg
stderr_has 'one file at a time'
for file in "$(dirname "$0")"/../../examples/*.akg "$(dirname "$0")"/../../stdlib/*.akg; do
    expect 0 "${file##*/} is formatted" fmt --check "$file"
done

finish

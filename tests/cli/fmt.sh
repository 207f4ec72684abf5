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
printf 'def f(x:\n' >broken.akg
expect 1 'a program that does not parse' fmt broken.akg
assert 'it is left alone' [ "$(cat broken.akg)" = 'def f(x:' ]
expect 2 'no such file' fmt nothing.akg
expect 2 'too many words' fmt untidy.akg f
finish

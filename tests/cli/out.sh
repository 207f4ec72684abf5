#!/bin/sh
# --out DIR: every returned tensor, or nothing at all.
. "$(dirname "$0")/functions"
write_square
write_kernels

expect 0 'a directory that is not there' square.akg 'x=[1,2]' --out results
stdout_is 'y float32[2] = [1, 4]'
assert 'only the output is in it' [ "$(ls -A results)" = y.npy ]
expect 0 'the file reads back' square.akg x=results/y.npy
stdout_is 'y float32[2] = [1, 16]'
expect 0 'a file and a dtype' square.akg x=results/y.npy:int8
stdout_is 'y int8[2] = [1, 16]'
expect 0 'in-place outputs too' kernels.akg both 'x=[1,2]' --out results
assert 'both files' [ "$(ls -A results | tr '\n' ' ')" = 'x.npy y.npy ' ]
expect 0 'the in-place one reads back' square.akg x=results/x.npy
stdout_is 'y float32[2] = [4, 9]'
expect 0 'overwriting' square.akg 'x=[3]' --out=results
expect 0 'overwritten' square.akg x=results/y.npy
stdout_is 'y float32[1] = [81]'
expect 0 'nested directories' square.akg 'x=[1]' --out deep/er/still/
assert 'the file is there' [ -f deep/er/still/y.npy ]
expect 0 'an input is not touched' kernels.akg bump x=results/x.npy
expect 0 'still the same' kernels.akg bump x=results/x.npy
stdout_is 'x float32[2] = [3, 4]'

expect 3 'a call that fails' kernels.akg gather 'x=[1,2]' 'index=[5]' --out nothing
assert 'nothing was made' [ ! -e nothing ]
expect 2 'a command line that fails' square.akg 'z=[1]' --out nothing
assert 'nothing was made' [ ! -e nothing ]
printf 'def (x):\n' >broken.akg
expect 1 'a program that fails' broken.akg --out nothing
assert 'nothing was made' [ ! -e nothing ]

echo text >file
expect 2 'a file in place of the directory' square.akg 'x=[1]' --out file
stderr_has 'file'
stdout_empty
expect 2 'a file above the directory' square.akg 'x=[1]' --out new/../file/below
assert 'the file is as it was' [ "$(cat file)" = text ]

mkdir -p blocked/x.npy
expect 2 'a directory in place of the second file' kernels.akg both 'x=[1]' --out blocked
stderr_has 'it is a directory'
stdout_empty
assert 'nothing was written' [ "$(ls -A blocked)" = x.npy ]

mkdir pipes
mkfifo pipes/y.npy
expect 2 'a pipe in place of a file' kernels.akg both 'x=[1]' --out pipes
stderr_has 'it is no regular file'
assert 'the pipe is there' [ -p pipes/y.npy ]

if [ -w /dev/full ]; then
    ran='square.akg --out full >/dev/full' status=0
    "$AKGRUN" square.akg 'x=[1]' --out made/full >/dev/full 2>stderr || status=$?
    : >stdout
    judge 2 'standard output is full'
    assert 'nothing was made' [ ! -e made ]
fi
finish

#!/bin/sh
# What run prints for calls that are right, and the statuses of those that are not.
. "$(dirname "$0")/functions"
write_square
write_kernels

expect 0 'run is the default' square.akg 'x=[1,4,9]'
stdout_is 'y float32[3] = [1, 16, 81]'
stderr_empty
expect 0 'run by name' run square.akg square 'x=[1,4,9]'
stdout_is 'y float32[3] = [1, 16, 81]'
expect 0 'the interpreter' run --backend interp square.akg 'x=[1,4,9]'
stdout_is 'y float32[3] = [1, 16, 81]'
expect 0 'options before the subcommand' --backend=tcc run square.akg 'x=[1,4,9]'
stdout_is 'y float32[3] = [1, 16, 81]'
expect 0 'the kernel behind the values' square.akg 'x=[1,4,9]' square
expect 0 'words behind --' --backend tcc -- square.akg 'x=[3]'
stdout_is 'y float32[1] = [9]'
expect 0 'a dtype suffix' square.akg 'x=[1,2]:int32'
stdout_is 'y int32[2] = [1, 4]'
expect 0 'a generator' square.akg 'x=arange(4):int64'
stdout_is 'y int64[4] = [0, 1, 4, 9]'
expect 0 'an attribute by default' kernels.akg scale 'x=[1,2]'
stdout_is 'y float32[2] = [2, 4]'
expect 0 'an attribute' kernels.akg scale alpha=-3 'x=[1,2]'
stdout_is 'y float32[2] = [-3, -6]'
expect 0 'two outputs, in the order of return' kernels.akg both 'x=[2,3]:int32'
stdout_is 'y int32[2] = [4, 9]
x int32[2] = [3, 4]'
expect 0 'a variadic parameter' kernels.akg add_all 'rest=[1,2]' 'first=[10,20]' 'rest=[3,4]'
stdout_is 'y float32[2] = [14, 26]'
expect 0 'a variadic parameter left out' kernels.akg add_all 'first=[10,20]'
stdout_is 'y float32[2] = [10, 20]'
expect 0 'the dtype of an annotation' kernels.akg gather 'x=[5,6,7]' 'index=[2,0]'
stdout_is 'y float32[2] = [7, 5]'
expect 0 'a trusted index' kernels.akg gather 'x=[5,6,7]' 'index=[2,0]' --trust-indices
stdout_is 'y float32[2] = [7, 5]'
expect 0 'products that may be rounded on a device' kernels.akg gather 'x=[5,6,7]' 'index=[2,0]' --tf32
stdout_is 'y float32[2] = [7, 5]'
expect 0 'an empty tensor' square.akg 'x=[]'
stdout_is 'y float32[0] = []'

cat >helper.akg <<'PROGRAM'
def double(v):
    return v * 2


def apply(x):
    y = output_tensor(x.shape, x.dtype)
    for i in range(x.shape[0]):
        y[i] = double(x[i])
    return y
PROGRAM
expect 0 'a helper function is not the kernel' helper.akg 'x=[1,2]'
stdout_is 'y float32[2] = [2, 4]'

expect 0 'random numbers' square.akg 'x=randn(8)'
mv stdout first
expect 0 'the same seed' square.akg 'x=randn(8)' --seed 0
assert 'the same seed: the same numbers' cmp -s first stdout
expect 0 'another seed' square.akg 'x=randn(8)' --seed=1
assert 'another seed: other numbers' sh -c '! cmp -s first stdout'
expect 0 'arguments have streams of their own' kernels.akg add_all 'first=zeros(8)' 'rest=randn(8)'
mv stdout one
expect 0 'a second argument' kernels.akg add_all 'first=zeros(8)' 'rest=zeros(8)' 'rest=randn(8)'
assert 'a second argument: other numbers' sh -c '! cmp -s one stdout'

expect 0 'time' kernels.akg bump 'x=[1,2]' --time
stdout_has 'x float32[2] = [2, 3]'
stdout_has 'time: compile '
stdout_has '(median of '
assert 'time: two lines' [ "$(wc -l <stdout)" -eq 2 ]

expect 3 'wrong rank' square.akg 'x=[[1,2],[3,4]]'
stdout_empty
expect 3 'wrong dtype' kernels.akg gather 'x=[5,6,7]' 'index=[1.0]:float32'
stdout_empty
expect 3 'index out of range' kernels.akg gather 'x=[5,6,7]' 'index=[2,3]'
stdout_empty
expect 3 'index out of range, interpreter' kernels.akg gather 'x=[5,6,7]' 'index=[2,3]' --backend interp
expect 3 'None for a tensor that is needed' square.akg x=None
expect 3 'no tensor for a variadic parameter of the library' std:concat axis=0
stderr_has 'error: assertion failed: concat needs at least one tensor [AKG0420]'

printf 'def (x):\n    return x\n' >broken.akg
expect 1 'a broken program' broken.akg 'x=[1]'
stderr_has 'broken.akg:1:'
stderr_has 'error:'
stdout_empty

cat >warning.akg <<'PROGRAM'
def square(x):
    y = output_tensor(x.shape, x.dtype)
    for i in range(x.shape[0]):
        y[i] = y[i] * y[i]
    return y
PROGRAM
expect 0 'a warning' warning.akg 'x=[1,2]'
stderr_has 'AKG0501'
stdout_has 'y float32[2] = '
expect 1 'a warning under -Werror' warning.akg 'x=[1,2]' -Werror
stderr_has 'AKG0501'
stdout_empty
finish

#!/bin/sh
# --json: one document on standard output, for every report and every problem.
. "$(dirname "$0")/functions"
write_square
write_kernels

expect 0 'outputs' square.akg 'x=[1,4,9]' --json
stdout_is '{"kernel": "square", "outputs": [{"name": "y", "dtype": "float32", "shape": [3], "data": [1, 16, 81]}], "diagnostics": []}'
stderr_empty
json
expect 0 'two outputs' --json kernels.akg both 'x=[2]:int64'
stdout_has '"outputs": [{"name": "y", "dtype": "int64", "shape": [1], "data": [4]}, {"name": "x", "dtype": "int64", "shape": [1], "data": [3]}]'
json
expect 0 'large integers are exact' --json kernels.akg bump 'x=[9007199254740992]:int64'
stdout_has '"data": [9007199254740993]'
expect 0 'infinities and nan' --json kernels.akg scale 'x=[inf,-inf,nan]'
stdout_has '"data": ["inf", "-inf", "nan"]'
json
expect 0 'the shortest digits' --json kernels.akg scale 'x=[0.1,1e30]' alpha=1
stdout_has '"data": [0.1, 1e+30]'
expect 0 'long tensors are complete' --json square.akg 'x=ones(5000)'
assert 'long tensors: every element' [ "$(tr -cd , <stdout | wc -c)" -ge 4999 ]
json
expect 0 'time' --json square.akg 'x=[1]' --time
stdout_has '"time": {"compile": '
stdout_has '"repeats": '
json
expect 0 'operators with their dtypes' ops gather --json
stdout_has '{"name": "index", "kind": "tensor", "optional": false, "dtypes": ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]}, {"name": "axis", "kind": "attribute", "optional": false}]'
json
expect 0 'check' check kernels.akg --json
stdout_has '{"kernels": ['
json
expect 0 'emit' emit square.akg --stage ir --json
stdout_has '{"kernel": "square", "stage": "ir", "text": "'
json
expect 0 'emit of the whole file' emit square.akg --stage tokens --json
stdout_has '{"kernel": null, "stage": "tokens", "text": "'
json
expect 0 'explain' explain 111 --json
stdout_has '{"code": "AKG0111", "text": "'
json
expect 0 'the list of codes' explain --json
stdout_has '{"code": "AKG0111", "severity": "error", "name": "syntax"}'
json

expect 2 'a wrong command line' square.akg 'x=[1,[2]]' --json
stdout_has '{"diagnostics":[{"severity":"error",'
stdout_has '"message":"x: '
stderr_empty
json
expect 2 'an unknown option before --json' square.akg --frob --json
stdout_has '"message":"unknown option '
stderr_empty
json
expect 2 'a byte that is no UTF-8' --json square.akg "$(printf 'x=\377')"
json
expect 2 'a missing file' missing.akg --json
stderr_empty
json
expect 2 'an unknown kernel, check' check square.akg cube --json
stderr_empty
json
expect 3 'a wrong call' square.akg 'x=[[1]]' --json
stdout_has '{"diagnostics":[{"severity":"error","code":"AKG0'
stderr_empty
json
printf 'def (x):\n' >broken.akg
expect 1 'a wrong program' broken.akg --json
stdout_has '{"diagnostics":[{"severity":"error","code":"AKG0'
stderr_empty
json
finish

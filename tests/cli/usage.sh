#!/bin/sh
# Wrong command lines: each is refused with status 2, a message that helps, and nothing on standard output.
. "$(dirname "$0")/functions"
write_square
write_kernels
printf 'def decided(x: T[N]):\n    return relu(x) if N > 1 else x * 2\n' >decided.akg
printf 'def one(v):\n    return v * 2 + 1\n\ndef each(x: T[N]):\n    x[0] = one(x[0])\n    return x\n' >numbers.akg

refuse() {
    what=$1 message=$2
    shift 2
    expect 2 "$what" "$@"
    stderr_has "$message"
    stdout_empty
}

refuse 'no arguments' 'usage: akgrun'
refuse 'run without a file' 'no program is named' run
refuse 'check without a file' 'no program is named' check
refuse 'misspelt subcommand' "did you mean 'check'?" chekc square.akg
refuse 'neither subcommand nor file' 'neither a subcommand nor a file' nonsense
refuse 'missing file' 'missing.akg' missing.akg
refuse 'missing file, check' 'missing.akg' check missing.akg
refuse 'missing file, emit' 'missing.akg' emit missing.akg --stage ast
mkdir directory.akg
refuse 'a directory as program' 'directory.akg' directory.akg
refuse 'empty file name' 'name of the program is empty' run ''
refuse 'misspelt option' "did you mean '--json'?" square.akg --jsno
refuse 'unknown option' "unknown option '--frobnicate'" square.akg --frobnicate
refuse 'unknown short option' "unknown option '-x'" -x square.akg
refuse 'option without its value' '--out needs a value' square.akg 'x=[1]' --out
refuse 'option instead of a value' '--out needs a value' square.akg 'x=[1]' --out --time
refuse 'empty value of an option' 'the value of --out is empty' square.akg 'x=[1]' --out=
refuse 'value for a flag' '--time takes no value' square.akg 'x=[1]' --time=yes
refuse 'unknown backend' 'the backends are tcc and interp' square.akg 'x=[1]' --backend llvm
refuse 'near backend' "did you mean 'interp'?" square.akg 'x=[1]' --backend interpreter
refuse 'seed that is no number' '--seed takes a whole number' square.akg 'x=[1]' --seed one
refuse 'negative seed' '--seed takes a whole number' square.akg 'x=[1]' --seed -1
refuse 'seed beyond 64 bits' '--seed takes a whole number' square.akg 'x=[1]' --seed 18446744073709551616
refuse 'option of another subcommand' "'akgrun check' does not take --out" check square.akg --out here
refuse 'stage for run' "'akgrun run' does not take --stage" square.akg 'x=[1]' --stage ir
refuse 'backend for emit' "'akgrun emit' does not take --backend" emit square.akg --stage ir --backend tcc
refuse 'emit without a stage' 'emit needs --stage' emit square.akg
refuse 'unknown pass' "there is no pass 'inline'" emit square.akg --dump-ir=inline
refuse 'misspelt pass' "did you mean 'fuse'?" emit square.akg --dump-ir=fues
refuse 'stage and pass' 'two things' emit square.akg --stage ir --dump-ir=all
refuse 'passes and strict' '--dump-ir takes no --strict' emit square.akg --dump-ir=all --strict
refuse 'passes and a target' '--dump-ir takes no --target' emit square.akg --dump-ir=all --target avx2
refuse 'unknown stage' "there is no stage 'machine'" emit square.akg --stage machine
refuse 'unknown target' "there is no target 'sse'" run square.akg x=[1] --target sse
refuse 'misspelt stage' "did you mean 'tokens'?" emit square.akg --stage token
refuse 'values for a stage without' "the stage 'ast' is the same for all values" emit square.akg 'x=[1]' --stage ast
refuse 'values for check' 'check takes no values' check square.akg 'x=[1]'
refuse 'unknown code' 'akgrun explain' explain AKG9999
refuse 'code that is none' "there is no message 'frob'" explain frob
refuse 'two codes' 'explain takes one code' explain 111 501
refuse 'unknown kernel' "did you mean 'square'?" square.akg sqare 'x=[1]'
refuse 'unknown kernel, check' "has no kernel 'cube'" check square.akg cube
refuse 'unknown kernel, emit' "has no function 'cube'" emit square.akg cube --stage ast
refuse 'a call decides, emit' 'hangs on its arguments' emit decided.akg decided --stage ir
refuse 'a function of numbers' "'one' is a function of numbers" numbers.akg one 'x=[1]'
refuse 'help on nothing' "did you mean 'grad'?" help grd
refuse 'kernel not named' 'square, scale, bump' kernels.akg 'x=[1]'
refuse 'two kernel names' "unexpected 'bump'" kernels.akg square bump 'x=[1]'
refuse 'value without a name' 'a value is written NAME=VALUE' square.akg '[1,2,3]'
refuse 'missing value' "needs a value for 'x'" square.akg
refuse 'missing second value' "needs a value for 'index'" kernels.akg gather 'x=[1]'
refuse 'unknown name' "'square' has no parameter 'z'" square.akg 'x=[1]' 'z=[1]'
refuse 'misspelt name' "did you mean 'alpha'?" kernels.akg scale 'x=[1]' alhpa=2
refuse 'name given twice' "'x' is given twice" square.akg 'x=[1]' 'x=[2]'
refuse 'empty value' 'x: the value is empty' square.akg x=
refuse 'ragged literal' 'x: the literal is ragged' square.akg 'x=[[1,2],[3]]'
refuse 'literal that does not fit' '300 does not fit in int8' square.akg 'x=[300]:int8'
refuse 'unknown dtype' "did you mean 'float32'?" square.akg 'x=[1]:flaot32'
refuse 'word for a tensor' "'hello' is no tensor" square.akg x=hello
refuse 'missing .npy file' 'missing.npy' square.akg x=missing.npy
refuse '.npz without a key' 'FILE.npz:KEY' square.akg x=data.npz
refuse 'unknown generator' "did you mean 'randn'?" square.akg 'x=rnadn(3)'
refuse 'tensor for an attribute' 'alpha: an attribute takes no tensor' kernels.akg scale 'x=[1]' 'alpha=randn(3)'
refuse 'broken tuple' "neither a number nor a tuple" kernels.akg scale 'x=[1]' alpha=2,2
refuse 'None in a variadic parameter' 'rest: a variadic parameter takes tensors' kernels.akg add_all 'first=[1]' rest=None
echo 'this is no array' >broken.npy
refuse 'file that is no array' 'broken.npy' square.akg x=broken.npy
for words in '' run grad check; do
    expect 0 "help $words" help $words
    cp stdout page
    expect 0 "$words --help" $words --help
    stdout_is "$(cat page)"
done
finish

#!/bin/sh
# nvcc: what `akgrun emit --stage cuda` prints is compiled by nvcc as it is, where that is installed. No GPU is needed.
# NVRTC compiles all kernels (tests/unit/test_cuda_compile.c); these have between them what nvcc could take otherwise: tiles with
# tensor cores and asynchronous copies, rows on chip, scans, atomic additions.
nvcc=${NVCC:-$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)}
. "$BUILD/settings"
why=
[ -x "$nvcc" ] || why="nvcc is not installed"
case $CFLAGS in *-fsanitize=*) why="emitted CUDA is compiled in other builds" ;; esac
if [ "$why" ]; then
    echo "skipped: units for nvcc: $why"
    echo "0 passed, 0 failed"
    exit
fi
cat >histogram.akg <<'PROGRAM'
def histogram(index, weight):
    counts = output_tensor((16,), float32)
    for i in range(index.shape[0]):
        counts[index[i]] += weight[i]
    return counts
PROGRAM
passed=0 failed=0 architecture=sm_80

# compiles FILE KERNEL VALUES...
compiles()
{
    name=$2
    : >why
    if akgrun emit "$@" --stage cuda >"$name.cu" 2>warnings && "$nvcc" -arch=$architecture -cubin -o "$name.cubin" "$name.cu" >why 2>&1 &&
        [ ! -s why ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED: $name" && sed 's/^/    /' warnings why
    fi
}

compiles "$ROOT/stdlib/linear.akg" matmul 'a=zeros(2,2):bfloat16' 'b=zeros(2,2):bfloat16'
compiles "$ROOT/tests/kernels/scans.akg" streaks
compiles histogram.akg histogram 'index=[0]:int32' 'weight=[1]'
compiles "$ROOT/bench/suite/reduction.akg" layer_norm
# whose processors have threads for fewer blocks than that asks for
architecture=sm_75
compiles "$ROOT/bench/suite/reduction.akg" softmax
echo "$passed passed, $failed failed"
[ $failed = 0 ]

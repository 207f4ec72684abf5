#!/bin/sh
# operators: the operators of the standard library and their gradients, and all programs with a driver, on a device; which
# is a library that stands in for NVIDIA's (stub_cuda.c) and runs the kernels on the CPU. The same as `make check-gpu`
# does with a GPU. With a sanitizer less of it, for it takes long.
if [ ! -f "$BUILD/tests/libcuda_stub.so" ]; then
    echo "skipped: operators on a device: built without the headers of CUDA"
    echo "0 passed, 0 failed"
    exit
fi
AKG_CUDA_LIBRARY=$BUILD/tests/libcuda_stub.so AKG_NVRTC_LIBRARY=$BUILD/tests/libnvrtc_stub.so
AKG_STUB_CUDA='devices=1 memory=1073741824'
export AKG_CUDA_LIBRARY AKG_NVRTC_LIBRARY AKG_STUB_CUDA
. "$BUILD/settings"
operators='' programs=$(cd "$ROOT" && find tests/kernels examples stdlib -name '*.akg' | sort)
case $CFLAGS in
*-fsanitize=*) operators='sum matmul softmax' programs='examples/square.akg' ;;
esac
{
    # shellcheck disable=SC2086  # a list
    "$BUILD/tests/test_stdlib" --device cuda $operators
    # shellcheck disable=SC2086
    sh "$ROOT/tests/cuda/programs" cuda 2 $programs
} >out 2>&1
grep -v '^[0-9]* passed, [0-9]* failed$' out
awk '/^[0-9]+ passed, [0-9]+ failed$/ { passed += $1; failed += $3; parts++ }
     END { if (parts != 2) failed++; print passed + 0 " passed, " failed + 0 " failed"; exit failed > 0 }' out

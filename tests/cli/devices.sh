#!/bin/sh
# devices: akgrun devices, and --device with the libraries that stand in for NVIDIA's (tests/cuda/stub_*.c): kernels
# that really run, on the CPU, and every way in which a device can fail.
. "$(dirname "$0")/functions"

write_square
write_kernels
unset AKG_CUDA_LIBRARY AKG_NVRTC_LIBRARY

# ---- without a device

expect 2 "no such device name" run square.akg 'x=[1]' --device gpu
stderr_has "'gpu' is no device"
expect 2 "a backend and a device" run square.akg 'x=[1]' --device cuda --backend interp
stderr_has "--backend and --device are two things"
expect 0 "the CPU is a device" run square.akg 'x=[1,2]' --device cpu
stdout_is 'y float32[2] = [1, 4]'
expect 2 "devices takes no words" devices square.akg
AKG_CUDA_LIBRARY=/nowhere/libcuda.so.1
export AKG_CUDA_LIBRARY
expect 0 "no driver" devices
stdout_has 'no GPU: '
expect 0 "no driver, as JSON" devices --json
json "no driver"
stdout_has '"devices": [], "reason": "'
expect 2 "a device that is not there" run square.akg 'x=[1]' --device cuda
stderr_has '[AKG0740]'

CUDA=
[ ! -f "$BUILD/settings" ] || eval "$(grep '^CUDA=' "$BUILD/settings")"
if [ "$CUDA" ] && [ ! -f "$BUILD/tests/libcuda_stub.so" ]; then
    stderr_has 'there is no NVIDIA driver'
    echo "skipped: akgrun --device: 'make check' builds the libraries that stand in for NVIDIA's"
    finish
elif [ ! "$CUDA" ]; then
    stderr_has 'was built without CUDA headers'
    echo "skipped: akgrun --device: built without the headers of CUDA"
    finish
fi
stderr_has 'there is no NVIDIA driver'

# ---- with one

AKG_CUDA_LIBRARY=$BUILD/tests/libcuda_stub.so AKG_NVRTC_LIBRARY=$BUILD/tests/libnvrtc_stub.so
export AKG_CUDA_LIBRARY AKG_NVRTC_LIBRARY

# stub SETTINGS [FAILURES]: of the runs that follow
stub()
{
    AKG_STUB_CUDA=$1 AKG_STUB_FAIL=${2-}
    export AKG_STUB_CUDA AKG_STUB_FAIL
}

stub 'devices=2 memory=1073741824'
expect 0 "devices" devices
stdout_has 'cuda:0  Stub 0, compute capability 9.0, 1.0 GiB'
stdout_has 'cuda:1  Stub 1'
expect 0 "devices as JSON" devices --json
json "devices"
stdout_has '"device": "cuda:1", "name": "Stub 1", "major": 9'
expect 0 "run" run square.akg 'x=[1,2,3]' --device cuda
stdout_is 'y float32[3] = [1, 4, 9]'
expect 0 "run on the second one" run square.akg 'x=[1,2,3]' --device=cuda:1 --json
json "run on the second one"
stdout_has '"data": [1, 4, 9]'
expect 2 "run on a third one" run square.akg 'x=[1,2,3]' --device cuda:2
stderr_has "there is no device 'cuda:2': the last one is cuda:1"
expect 0 "in place" run kernels.akg both 'x=[1,2,3]' --device cuda
stdout_is 'y float32[3] = [1, 4, 9]
x float32[3] = [2, 3, 4]'
expect 0 "several tensors in one parameter" run kernels.akg add_all 'first=[1,2]' 'rest=[10,20]' 'rest=[100,200]' --device cuda
stdout_is 'y float32[2] = [111, 222]'
expect 0 "an attribute" run kernels.akg scale 'x=[1,2]:float64' alpha=0.5 --device cuda
stdout_is 'y float64[2] = [0.5, 1]'
expect 0 "measured" run kernels.akg bump 'x=[1,2]' --device cuda --time
stdout_has 'x float32[2] = [2, 3]'
stdout_has 'time: compile '
expect 0 "beside a copy" bench square.akg 'x=randn(1000)' --device cuda:1 --seconds 0.01
stdout_has '  device  '
stdout_has '  100% is a copy of as many bytes on cuda:1 Stub 1: '
expect 0 "the same, in place, as JSON" bench kernels.akg bump 'x=[1,2]' --device cuda --seconds 0.01 --json -
json "a benchmark on a device"
stdout_has '"tier": "device", '
expect 2 "a benchmark of both" bench square.akg 'x=[1]' --device cuda --vs cc
stderr_has '--device goes with none of --vs, --report, --emit and --tier'
expect 3 "an index out of bounds" run kernels.akg gather 'x=[1,2,3]' 'index=[0,7,9]' --device cuda
stderr_has "[AKG0614]"
stderr_has "in the iteration i = 1"
expect 0 "written to a file" run square.akg 'x=[1,2,3]' --device cuda --out results
expect 0 "and read" run square.akg x=results/y.npy --device cuda
stdout_is 'y float32[3] = [1, 16, 81]'

cat >loss.akg <<'PROGRAM'
def loss(x, w, b):
    y = mean(sigmoid(linear(x, w, b)))
    return y


def square_loss(x, w, b):
    y = mean(linear(x, w, b) * linear(x, w, b))
    return y
PROGRAM
expect 0 "grad" grad loss.akg square_loss 'x=[[1,2],[3,-1],[-2,1],[0,4]]' 'w=[[2,1]]' 'b=[1]' --value --device cuda
stdout_is 'y float32[] = 22.5
dx float32[4, 2] = [[5, 2.5], [6, 3], [-2, -1], [5, 2.5]]
dw float32[1, 2] = [[13.5, 11]]
db float32[1] = [7]'
expect 0 "a gradient of the output" grad loss.akg square_loss 'x=[[1,2]]' 'w=[[1,0]]' 'b=[0]' --dout y=4 --wrt b --device cuda
stdout_is 'db float32[1] = [8]'
expect 0 "gradcheck" gradcheck loss.akg loss 'x=randn(4,3)' 'w=randn(2,3)' 'b=randn(2)' --device cuda
stdout_has 'dw ok'
expect 0 "PTX" emit square.akg --stage ptx

# ---- which machine code

AKG_STUB_NVRTC_OPTIONS=$PWD/asked
export AKG_STUB_NVRTC_OPTIONS

# asks PIECE: of the options that the compiler had last
asks()
{
    assert "$what: the compiler is given $1" grep -qx -e "$1" asked
}

# asks_for_device MAJOR MINOR ARCHITECTURE
asks_for_device()
{
    stub "devices=1 major=$1 minor=$2"
    expect 0 "compute capability $1.$2" run square.akg 'x=[1,2,3]' --device cuda
    stdout_is 'y float32[3] = [1, 4, 9]'
    asks "--gpu-architecture=$3"
}
asks_for_device 7 5 sm_75
asks_for_device 8 6 sm_80
asks_for_device 9 0 sm_90a
# newer than the compiler knows: PTX, of which the driver makes machine code
asks_for_device 13 0 compute_90
stub 'devices=1 major=5'
expect 2 "older than the compiler knows" run square.akg 'x=[1]' --device cuda
stderr_has 'CUDA cannot be used: the compiler knows the device no more; an older toolkit does [AKG0740]'
stub 'devices=2 memory=1073741824'
expect 0 "PTX as of a call" emit square.akg --stage ptx
asks --fmad=true
expect 0 "PTX of the deterministic mode" emit square.akg --stage ptx --strict
asks --fmad=false
expect 0 "PTX for a GPU" emit square.akg --stage ptx --target sm_75
asks --gpu-architecture=compute_75
unset AKG_STUB_NVRTC_OPTIONS
expect 2 "PTX for a processor" emit square.akg --stage ptx --target avx2
stderr_has "the stage 'ptx' is not made for avx2"
expect 2 "CUDA for a GPU" emit square.akg --stage cuda --target sm_80
stderr_has "the stage 'cuda' is not made for sm_80"
expect 2 "PTX for none" emit square.akg --stage ptx --target sm_8x
stderr_has "the stage 'ptx' is not made for sm_8x"

# ---- the text for other modes

cat >product.akg <<'PROGRAM'
def product(a, b):
    c = output_tensor((a.shape[0], b.shape[1]), a.dtype)
    for i, j in grid(c.shape):
        sum = 0.0
        for k in range(a.shape[1]):
            sum += a[i, k] * b[k, j]
        c[i, j] = sum
    return c
PROGRAM
expect 0 "CUDA" emit product.akg --stage cuda
mv stdout plain
expect 0 "CUDA with tf32" emit product.akg --stage cuda --tf32
stdout_has 'akg_product_tf32('
expect 0 "CUDA of the deterministic mode" emit product.akg --stage cuda --strict --tf32
assert "they are different" [ "$(cmp -s plain stdout; echo $?)-$(grep -c akg_product_tf32 plain stdout | paste -s -d ' ' -)" = \
    '1-plain:0 stdout:0' ]

# ---- what is kept on disk

AKG_CACHE=on AKG_CACHE_DIR=$PWD/kept
export AKG_CACHE AKG_CACHE_DIR
expect 0 "compiled, and kept" run square.akg 'x=[1,2,3]' --device cuda
expect 0 "listed" cache ls
stdout_has 'cuda'
AKG_STUB_NVRTC=refuse
export AKG_STUB_NVRTC
expect 0 "not compiled again" run square.akg 'x=[1,2,3,4]' --device cuda
stdout_is 'y float32[4] = [1, 4, 9, 16]'
expect 4 "of another signature there is nothing" run square.akg 'x=[1,2,3]:float64' --device cuda
AKG_STUB_NVRTC=unopened
expect 0 "the compiler is not even opened" run square.akg 'x=[1,2,3,4]' --device cuda
stdout_is 'y float32[4] = [1, 4, 9, 16]'
AKG_STUB_NVRTC=refuse
cp "$AKG_NVRTC_LIBRARY" other.so && AKG_NVRTC_LIBRARY=$PWD/other.so
expect 4 "another compiler's is not taken" run square.akg 'x=[1,2,3]' --device cuda
unset AKG_STUB_NVRTC
expect 0 "but made and kept" run square.akg 'x=[1,2,3]' --device cuda
AKG_STUB_NVRTC=unopened
export AKG_STUB_NVRTC
expect 0 "as its own" run square.akg 'x=[1,2,3]' --device cuda
touch other.so
expect 99 "until its file changes" run square.akg 'x=[1,2,3]' --device cuda
unset AKG_STUB_NVRTC
# the first file that is there cannot be opened: the next one's code is kept and found all the same
mkdir -p home/lib64 home/lib && echo nothing >home/lib64/libnvrtc.so && cp other.so home/lib/libnvrtc.so.12
unset AKG_NVRTC_LIBRARY
home=${CUDA_HOME-} CUDA_HOME=$PWD/home
export CUDA_HOME
expect 0 "the second compiler" run square.akg 'x=[1,2,3]' --device cuda
AKG_STUB_NVRTC=refuse
export AKG_STUB_NVRTC
expect 0 "the second compiler's code" run square.akg 'x=[1,2,3]' --device cuda
stdout_is 'y float32[3] = [1, 4, 9]'
unset AKG_STUB_NVRTC
CUDA_HOME=$home AKG_NVRTC_LIBRARY=$BUILD/tests/libnvrtc_stub.so
export AKG_NVRTC_LIBRARY
stub 'devices=1 major=8'
expect 0 "of another architecture" run square.akg 'x=[1,2,3]' --device cuda
AKG_STUB_NVRTC=refuse
export AKG_STUB_NVRTC
expect 0 "its own code is found" run square.akg 'x=[1,2,3]' --device cuda
stub 'devices=1 major=7 minor=5'
expect 4 "another architecture's is not taken" run square.akg 'x=[1,2,3]' --device cuda
stub 'devices=1 major=13'
expect 4 "nor by a device newer than the compiler" run square.akg 'x=[1,2,3]' --device cuda
stub 'devices=1'
expect 0 "the first one's is still there" run square.akg 'x=[1,2,3]' --device cuda
unset AKG_STUB_NVRTC
stub 'devices=1' 'cuModuleLoadDataEx:0:200'
expect 0 "what the driver does not take is made anew" run square.akg 'x=[1,2,3]' --device cuda
stdout_is 'y float32[3] = [1, 4, 9]'
AKG_CACHE=off
unset AKG_CACHE_DIR

# ---- failures

stub 'devices=0'
expect 2 "no device" run square.akg 'x=[1]' --device cuda
stderr_has 'CUDA cannot be used: the driver found no device'
stub 'devices=1 memory=1000000'
expect 4 "out of memory" run square.akg 'x=zeros(1000000)' --device cuda
stderr_has "device 'cuda:0' is out of memory: 3.815 MiB were asked for, 976.6 KiB of 976.6 KiB are free [AKG0742]"
expect 4 "out of memory for a result" run square.akg 'x=zeros(200000)' --device cuda
stderr_has "square.akg:2:9: error: device 'cuda:0' is out of memory: 781.2 KiB were asked for"
stub 'devices=1' 'cuLaunchKernel:0:701'
expect 4 "refused launch" run square.akg 'x=[1]' --device cuda
stderr_has "device 'cuda:0' did not launch 'square': too many resources requested for launch"
stub 'devices=1' 'kernel:0:700'
expect 4 "lost device" run square.akg 'x=[1]' --device cuda --json
json "lost device"
stdout_has '"code":"AKG0743"'
stub 'devices=1' 'cuModuleLoadDataEx:0:218'
expect 4 "refused code" run square.akg 'x=[1]' --device cuda
stderr_has "device 'cuda:0' did not load the code of 'square'"
stub 'devices=1'
AKG_NVRTC_LIBRARY=/nowhere/libnvrtc.so
expect 2 "no compiler" run square.akg 'x=[1]' --device cuda
stderr_has 'CUDA cannot be used: its compiler libnvrtc is not there'
expect 2 "no compiler for PTX" emit square.akg --stage ptx
AKG_NVRTC_LIBRARY=$BUILD/tests/libnvrtc_stub.so AKG_STUB_NVRTC=refuse
export AKG_STUB_NVRTC
expect 4 "what the compiler refuses is told" run square.akg 'x=[1]' --device cuda
stderr_has 'note: kernel.cu(1): error: the stub refuses this'
finish

# load.sh: libraries of operators, right ones and wrong ones, loaded by a program and by akgrun; and the example, built as
# its Makefile says against an installed akg.
. "$ROOT/tests/packaging/check.sh"

# The program exports what it is linked to, so the libraries need no copy of their own: it works in every build.
check "a program that loads" $CC -std=c11 -Wall -Wextra -Werror -rdynamic -I "$ROOT/include" \
    "$ROOT/tests/packaging/load.c" "$BUILD/libakg.a" $LINK_FLAGS $LIBS -o load
library()
{
    name=$1
    shift
    check "library $name" $CC -std=c11 -Wall -Wextra -Werror -shared -fPIC -I "$ROOT/include" "$@" \
        "$ROOT/tests/packaging/operators.c" -o "$name.so"
}
library good
library abi -DOTHER_ABI
library unmarked -DNO_ABI
library silent -DNO_REGISTER
library fails -DFAILS
library alone -DALONE
echo "no shared object" >text.so

unchanged="own own gives [1]"
refuses()
{
    check "$1 is refused" same "$(./load "$1.so")" "$2
$unchanged"
}
refuses abi "2 library-abi: 'abi.so' was compiled for version 2 of the interface, and this is version 1
  help: compile the library again, with the akg.h of this version"
refuses unmarked "2 library-symbol: 'unmarked.so' is no library of operators: it defines no 'akg_library_abi'
  help: AKG_LIBRARY in akg.h defines the one, the library's author the other"
refuses silent "2 library-symbol: 'silent.so' is no library of operators: it defines no 'akg_library_register'
  help: AKG_LIBRARY in akg.h defines the one, the library's author the other"
refuses fails "2 library-failed: 'fails.so' could not register its operators: wrong use of the interface
  note: operator 'first' is registered twice
  note: the first comes from fails.so, the second from fails.so
  note: nothing of it was registered"
check "a text is refused" sh -c './load text.so | grep -q "^6 library-open: cannot load .text.so.: "'
check "so is a file that is not there" sh -c './load none.so | grep -q "^6 library-open: cannot load .none.so.: "'
check "a library is loaded; one that comes second fails as a whole, in every way" same "$(./load good.so "$PWD/good.so")" \
    "own first second many own gives [42]
2 library-failed: '$PWD/good.so' could not register its operators: wrong use of the interface
  note: operator 'first' is registered twice
  note: the first comes from good.so, the second from $PWD/good.so
  note: nothing of it was registered
own first second many own gives [42]"

# ---- the example ------------------------------------------------------------------------------------------------

wanted="y float32 = [0, 0, 0, 1, 2]
dx float32 = [0, 0, 0, 1, 1]
y float64 = [0, 0, 0, 1, 2]
dx float64 = [0, 0, 0, 1, 1]"
check "the example, by hand" $CC -std=c11 -Wall -Wextra -Werror -shared -fPIC -I "$ROOT/include" \
    "$ROOT/examples/myrelu/myrelu.c" -o myrelu.so
check "and its program" $CC -std=c11 -Wall -Wextra -Werror -rdynamic -I "$ROOT/include" \
    "$ROOT/examples/myrelu/use.c" "$BUILD/libakg.a" $LINK_FLAGS $LIBS -o use
check "print" same "$(./use)" "$wanted"

# ---- from the command line ---------------------------------------------------------------------------------------

AKG_CACHE=off
export AKG_CACHE
akgrun=$BUILD/akgrun
check "akgrun calls an operator" same "$("$akgrun" run --load myrelu.so myrelu 'in=[-2,-1,0,1,2]')" \
    "out float32[5] = [0, 0, 0, 1, 2]"
check "and differentiates it" same "$("$akgrun" grad --load myrelu.so myrelu 'in=[-2,-1,0,1,2]:float64' 'in=3' 2>&1;
    "$akgrun" grad --load myrelu.so myrelu 'in=[-2,-1,0,1,2]:float64' --value)" \
    "akgrun: error: 'in' is given twice
out float64[5] = [0, 0, 0, 1, 2]
din float64[5] = [0, 0, 0, 1, 1]"
check "and checks its gradient" same "$("$akgrun" gradcheck --load myrelu.so myrelu 'in=[-2,-1,1,2]')" \
    "din ok: largest error 0 (relative) over 4 elements, central differences"
check "and lists operators" same "$("$akgrun" ops --load myrelu.so)" \
    "myrelu(in) -> out
myrelu_grad(y, dy) -> dx      no gradient"
check "and one of them in full" same "$("$akgrun" ops --load ./myrelu.so myrelu)" \
    "myrelu(in) -> out
    kernel float: device == cpu and dtype(out) == float32
    kernel double: device == cpu and dtype(out) == float64

The larger of each element and zero.

gradient: yes"
check "outputs of several tensors have numbers" same "$("$akgrun" run --load alone.so many in=7 out=2)" \
    "out_0 float32[] = 42
out_1 float32[] = 42"
# STATUS TEXT ARGUMENT...: the whole of what is said
says()
{
    said="$1 $2"
    shift 2
    check "akgrun $*" same "$({ "$akgrun" "$@" 2>&1; echo "$?"; } | sed 's/ cannot open shared object file.*\[/ [/' |
        awk '{ line[NR] = $0 } END { printf "%s", line[NR]; for (i = 1; i < NR; i++) print (i > 1 ? "" : " ") line[i] }')" \
        "$said"
}
says 2 "error: cannot load 'none.so': ./none.so: [AKG0687]" run --load none.so myrelu in=3
says 2 "error: 'abi.so' was compiled for version 2 of the interface, and this is version 1 [AKG0689]
  help: compile the library again, with the akg.h of this version" run --load abi.so first in=3
says 2 "error: 'silent.so' is no library of operators: it defines no 'akg_library_register' [AKG0688]
  help: AKG_LIBRARY in akg.h defines the one, the library's author the other" ops --load silent.so
says 2 "akgrun: error: the libraries of --load have no operator 'myrelo'
help: did you mean 'myrelu'?" grad --load myrelu.so myrelo in=3
says 2 "akgrun: error: the libraries of --load have no operator 'net.akg'
help: their operators: myrelu, myrelu_grad" run --load myrelu.so net.akg in=3
says 2 "akgrun: error: 'myrelu' has no parameter 'x'
help: its parameters: in" run --load myrelu.so myrelu x=3
says 2 "akgrun: error: --time and --load are two things
help: --time is for programs; operators of a library are called as they are" run --load myrelu.so myrelu in=3 --time
says 3 "error: no kernel of 'myrelu' fits this call [AKG0645]
  note: kernel 'float' (device == cpu and dtype(out) == float32) does not fit: dtype(out) is int32
  note: kernel 'double' (device == cpu and dtype(out) == float64) does not fit: dtype(out) is int32" \
    run --load myrelu.so myrelu in=3:int32
says 3 "error: 'myrelu_grad' has no gradient [AKG0658]
  help: akg_operator_set_bprop or akg_operator_set_gradient gives it one" grad --load myrelu.so myrelu_grad y=1 dy=2

if [ ! -f "$BUILD/libakg.so" ] || ! command -v pkg-config >/dev/null; then
    echo "skipped: the example's Makefile (needs pkg-config and a build with a shared library)"
    check_done
    exit
fi
unset MAKEFLAGS MAKELEVEL MFLAGS
prefix=$PWD/root
check "install" make --no-print-directory -C "$ROOT" install-files "B=$BUILD" DESTDIR= PREFIX="$prefix" \
    BINDIR="$prefix/bin" LIBDIR="$prefix/lib" INCLUDEDIR="$prefix/include" MANDIR="$prefix/share/man"
cp -r "$ROOT/examples/myrelu" example
check "the example is built with pkg-config's flags" env PKG_CONFIG_PATH="$prefix/lib/pkgconfig" \
    make -C example CFLAGS="-O2 -std=c11 -Wall -Wextra -Werror" LDFLAGS="-Wl,-rpath,$prefix/lib"
check "it is linked to the shared library" sh -c "readelf -d example/myrelu.so | grep -q 'NEEDED.*libakg.so.0'"
check "and prints" same "$(cd example && ./use)" "$wanted"
check "a library that is linked to the shared one works in akgrun" same \
    "$("$prefix/bin/akgrun" run --load example/myrelu.so myrelu 'in=[-2,2]')" "out float32[2] = [0, 2]"
check_done

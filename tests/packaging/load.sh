# load.sh: libraries of operators, right ones and wrong ones; and the example, built as its Makefile says against an
# installed akg.
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
    "own first second own gives [42]
2 library-failed: '$PWD/good.so' could not register its operators: wrong use of the interface
  note: operator 'first' is registered twice
  note: the first comes from good.so, the second from $PWD/good.so
  note: nothing of it was registered
own first second own gives [42]"

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
check_done

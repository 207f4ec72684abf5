# libraries.sh: what libakg.so and libakg.a show to the world, and that a program linked to each of them compiles
# and calls a kernel. A sanitizer build has no shared library, and its static one needs the sanitizer.
. "$ROOT/tests/packaging/check.sh"

expected=$(grep -c '^AKG_API ' "$ROOT/include/akg.h")
check "every public function is listed" same "$(wc -l <"$BUILD/exports")" "$expected"
check "all have our prefixes" refute grep -v -E '^(akg|jit)_[a-z0-9_]+$' "$BUILD/exports"
sort "$BUILD/exports" >wanted
check "the header is strict C11" $CC -std=c11 -Wall -Wextra -pedantic -Werror -fsyntax-only \
    -x c "$ROOT/include/akg.h"

nm -g --defined-only "$BUILD/libakg.a" | sed -n 's/.* [A-Z] //p' | sort >names
case $CFLAGS in
*-fsanitize=* | *--coverage*) ;;
*) check "libakg.a defines the public functions and nothing else" diff wanted names ;;
esac
check "a program links to libakg.a" $CC -std=c11 -Wall -Wextra -Werror -I "$ROOT/include" \
    "$ROOT/tests/packaging/call.c" "$BUILD/libakg.a" $LINK_FLAGS $LIBS -o static
check "and calls a kernel" same "$(./static)" "[2, 4, 6]"

if [ -f "$BUILD/libakg.so" ]; then
    nm -D --defined-only "$BUILD/libakg.so" | sed -n 's/.* [A-Z] //p' | sort >names
    check "libakg.so exports the public functions and nothing else" diff wanted names
    readelf -dW "$BUILD/libakg.so" >dynamic
    readelf -lW "$BUILD/libakg.so" >segments
    check "no text relocations" refute grep TEXTREL dynamic
    check "the soname" grep -q 'SONAME.*\[libakg\.so\.0\]' dynamic
    check "bound at load time" grep -q BIND_NOW dynamic
    check "relocations are read-only after loading" grep -q GNU_RELRO segments
    check "no segment is writable and executable" refute grep -E ' RWE ' segments
    check "a program links to libakg.so" $CC -std=c11 -I "$ROOT/include" "$ROOT/tests/packaging/call.c" \
        -L "$BUILD" -lakg -Wl,-rpath,"$BUILD" -o shared
    check "needs nothing else of ours" sh -c "readelf -d shared | grep -q 'NEEDED.*libakg.so.0'"
    check "and calls a kernel" same "$(./shared)" "[2, 4, 6]"
fi
check_done

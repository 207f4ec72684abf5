# install.sh: make install under DESTDIR, a program built against what it installed, and make uninstall.
. "$ROOT/tests/packaging/check.sh"

if [ ! -f "$BUILD/libakg.so" ]; then # a sanitizer build: not for installation
    check_done
    exit
fi
# Nothing of the make that may have started this
unset MAKEFLAGS MAKELEVEL MFLAGS
prefix=/opt/akg
mk()
{
    make --no-print-directory -C "$ROOT" "$@" "B=$BUILD" "DESTDIR=$PWD/root" PREFIX=$prefix \
        BINDIR=$prefix/bin LIBDIR=$prefix/lib INCLUDEDIR=$prefix/include MANDIR=$prefix/share/man
}

check "install" mk install-files
here=$PWD/root$prefix
check "what is installed" same "$(cd root && find . ! -type d | sort | tr '\n' ' ')" \
    "./opt/akg/bin/akgrun ./opt/akg/include/akg.h ./opt/akg/lib/libakg.a ./opt/akg/lib/libakg.so \
./opt/akg/lib/libakg.so.0 ./opt/akg/lib/libakg.so.$VERSION ./opt/akg/lib/pkgconfig/akg.pc \
./opt/akg/share/man/man1/akgrun.1 "
check "the links lead to the library" test "$here/lib/libakg.so" -ef "$here/lib/libakg.so.$VERSION"
check "akgrun runs" same "$("$here/bin/akgrun" --version | grep -o '[0-9.]*$')" "$VERSION"
check "akg.pc names the version" grep -q "^Version: $VERSION\$" "$here/lib/pkgconfig/akg.pc"
if command -v pkg-config >/dev/null; then
    flags=$(PKG_CONFIG_PATH=$here/lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=$PWD/root pkg-config --cflags --libs akg)
else
    flags="-I $here/include -L $here/lib -lakg"
fi
check "a program is built" $CC "$ROOT/tests/packaging/call.c" $flags -Wl,-rpath,"$here/lib" -o call
check "and runs" same "$(./call)" "[2, 4, 6]"
check "uninstall" mk uninstall
check "leaves nothing" same "$(find root ! -type d)" ""
check_done

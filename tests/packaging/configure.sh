# configure.sh: the options of configure, what it says when something is missing, and that
# --install-deps asks apt-get for just that. A private folder of commands stands in for the machine.
. "$ROOT/tests/packaging/check.sh"

mkdir tree tree/base bin
cp "$ROOT/configure" tree/ && cp "$ROOT/base/version.h" tree/base/
cd tree || exit
configure=./configure

check "--help" $configure --help
check_status "an unknown option" 2 $configure --frobnicate
check "the usage comes with it" sh -c "$configure --frobnicate 2>&1 | grep -q '^usage: '"
check_status "an option without its value" 2 $configure --prefix
check_status "an empty directory" 2 $configure --prefix=
check_status "a relative directory" 2 $configure --libdir=lib
check_status "a directory that make would split" 2 $configure '--prefix=/a b'
check_status "a word that is no option" 2 $configure install
check_status "a compiler that is not there" 1 $configure --cc=/nowhere/cc
check "nothing is written when something is missing" test ! -f config.mk

check "directories" $configure "--cc=$CC" --prefix=/opt/akg --mandir /opt/man CFLAGS=-O1
check "--prefix" grep -q '^PREFIX = /opt/akg$' config.mk
check "what follows it" grep -q '^BINDIR = $(PREFIX)/bin$' config.mk
check "--mandir in two words" grep -q '^MANDIR = /opt/man$' config.mk
check "CFLAGS" grep -q '^CFLAGS = -O1$' config.mk
check "compilers of the optimising tier" grep -q "^CONFIGURED_COMPILERS = $CC\(,gcc\|,clang\)\?\$" config.mk
touch -t 200001010000 config.mk
$configure "--cc=$CC" --prefix=/opt/akg --mandir /opt/man CFLAGS=-O1 >/dev/null
check "the same result leaves config.mk alone" test "$ROOT/configure" -nt config.mk

# Whoever reads its report may stop at the first line.
mkdir probes
TMPDIR=$PWD/probes $configure "--cc=$CC" 2>/dev/null | head -n 1 >/dev/null
check "nothing is left behind" rmdir probes

# A machine without flex: all commands of this one but that.
for folder in /usr/bin /bin /usr/local/bin; do
    find "$folder" -maxdepth 1 ! -type d ! -name flex ! -name apt-get ! -name sudo ! -name id \
        -exec ln -sf -t ../bin {} + 2>/dev/null
done
machine="env PATH=$(cd ../bin && pwd)"
check_status "a missing tool" 1 $machine sh $configure
check "it names the package" sh -c "$machine sh $configure 2>&1 | grep -q 'missing Debian packages: flex$'"
check "config.mk of an earlier run is gone" test ! -f config.mk
check_status "--install-deps without apt-get" 1 $machine sh $configure --install-deps
check "it says so" sh -c "$machine sh $configure --install-deps 2>&1 | grep -q 'no apt-get'"

printf '#!/bin/sh\necho 0\n' >../bin/id
cat >../bin/apt-get <<END
#!/bin/sh
echo "\$DEBIAN_FRONTEND \$*" >>"$PWD/apt.log"
case \$1 in install) ln -s /usr/bin/flex "$(cd ../bin && pwd)/flex" ;; esac
END
chmod +x ../bin/id ../bin/apt-get
check "--install-deps" $machine sh $configure --install-deps
check "updates, then installs what is missing" same "$(tr '\n' ' ' <apt.log)" \
    "noninteractive update -q noninteractive install -q -y --no-install-recommends flex "
rm apt.log
check "--install-deps again" $machine sh $configure --install-deps
check "leaves apt-get alone" test ! -f apt.log
printf '#!/bin/sh\necho 1000\n' >../bin/id
rm ../bin/flex
check_status "--install-deps as a user without sudo" 1 $machine sh $configure --install-deps
check_done

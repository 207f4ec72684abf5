#!/bin/sh
# akgrun cache, --no-cache, and where the cache lies.
. "$(dirname "$0")/functions"

write_kernels
AKG_CACHE=on AKG_CACHE_DIR=$PWD/cache
export AKG_CACHE AKG_CACHE_DIR

entries() {
    find "$AKG_CACHE_DIR" -name '*.entry' | wc -l | tr -d ' '
}

# ---- keeping and finding ------------------------------------------------------

expect 0 'nothing there yet' cache ls
stdout_is "$PWD/cache: 0 entries, 0 of 262144 KiB"
assert 'looking makes no directory' [ ! -e cache ]
expect 0 'explain, before' cache explain kernels.akg square 'x=[1,2]'
stdout_is 'square: not in the cache, which has no entry of a kernel of that name'
expect 0 'without the cache' run kernels.akg square 'x=[1,2,3]' --no-cache
assert '--no-cache keeps nothing' [ ! -e cache ]
expect 0 'first run' run kernels.akg square 'x=[1,2,3]'
stdout_is 'y float32[3] = [1, 4, 9]'
stderr_empty
assert 'one entry' [ "$(entries)" = 1 ]
assert 'the directory is private' [ "$(stat -c %a cache)" = 700 ]
expect 0 'second run' run kernels.akg square 'x=[4,5,6]'
stdout_is 'y float32[3] = [16, 25, 36]'
assert 'still one entry' [ "$(entries)" = 1 ]
expect 0 'ls' cache ls
stdout_has 'instant'
stdout_has 'square  (x: float32[3], y: float32[3])'
expect 0 'ls as JSON' cache ls --json
stdout_has '"kernel": "square"'
json 'ls'

# ---- explain ------------------------------------------------------------------

expect 0 'explain a hit' cache explain kernels.akg square 'x=[1,2,4]'
stdout_has 'square: in the cache, as '
expect 0 'explain another shape' cache explain kernels.akg square 'x=[1,2]'
stdout_has 'signature differs'
stdout_has 'kept:   x: float32[3], y: float32[3]'
stdout_has 'wanted: x: float32[2], y: float32[2]'
expect 0 'explain another dtype' cache explain kernels.akg square 'x=[1,2,3]:int32' --target none
stdout_has 'the nearest entry is '
stdout_has 'signature differs'
stdout_has 'kept:   x: float32[3], y: float32[3]'
stdout_has 'wanted: x: int32[3], y: int32[3]'
expect 0 'explain a switch' cache explain kernels.akg square 'x=[1,2,3]' --strict
stdout_has 'strict differs'
expect 0 'explain code for all shapes' cache explain kernels.akg square 'x=[1,2,3]' --any-shape
stdout_has 'wanted: x: float32[?], y: float32[?]'
sed 's/y\[i\] = x\[i\] \* x\[i\]/y[i] = x[i] + x[i]/' kernels.akg >changed.akg
expect 0 'explain a changed program' cache explain changed.akg square 'x=[1,2]' --target none --json
stdout_has '"hit": false'
stdout_has '"part": "program'
json 'explain'
assert 'explain keeps nothing' [ "$(entries)" = 1 ]
printf '@broadcast\ndef add(a, b):\n    y = output_tensor(a.shape, a.dtype)\n    for p in grid(a.shape):\n        y[p] = a[p] + b[p]\n    return y\n' >views.akg
expect 0 'explain what a call stretches' cache explain views.akg 'a=[[1,2],[3,4]]' 'b=[[1],[2]]'
stdout_has 'add: not in the cache'
expect 2 'explain without a program' cache explain
expect 3 'explain a wrong call' cache explain kernels.akg square x=1
expect 1 'explain a wrong program' cache explain /dev/null square x=1

# ---- damage ---------------------------------------------------------------------

entry=$(find cache -name '*.entry')
printf 'X' | dd of="$entry" bs=1 seek=300 conv=notrunc 2>/dev/null
expect 0 'explain a damaged entry' cache explain kernels.akg square 'x=[1,2,3]'
stdout_is "square: not in the cache; its entry $(basename "$entry") is of no use: its checksum is wrong"
expect 0 'explain a damaged entry as JSON' cache explain kernels.akg square 'x=[1,2,3]' --json
stdout_has '"problem": "its checksum is wrong", "differences": []'
json 'explain a damaged entry'
chmod 777 cache
expect 0 'explain where others may write' cache explain kernels.akg square 'x=[1,2,3]'
stdout_is "square: the cache $PWD/cache is not used: others may write to it"
chmod 700 cache
expect 2 'verify a damaged entry' cache verify
stdout_has 'its checksum is wrong'
stderr_has '1 of 1 entries are damaged'
expect 0 'verify as JSON' cache verify --json
stdout_has '"problem": "its checksum is wrong"'
json 'verify'
expect 0 'a damaged entry is made anew' run kernels.akg square 'x=[1,2,3]'
stdout_is 'y float32[3] = [1, 4, 9]'
stderr_has 'is not used and made anew: its checksum is wrong [AKG0760]'
expect 0 'and found' run kernels.akg square 'x=[1,2,3]'
stderr_empty
expect 0 'verify' cache verify
stdout_is '1 entry, all sound'
: >cache/0123456789abcdef0123456789abcdef.entry
: >cache/tmp-1-00000000-0
mkdir cache/0123456789abcdef0123456789abcdee.entry
expect 0 'gc' cache gc
stdout_is '3 files removed'
expect 0 'clear' cache clear --json
stdout_is '{"removed": 1}'
assert 'nothing is left' [ "$(entries)" = 0 ]

# ---- directories that will not do -----------------------------------------------------

chmod 777 cache
expect 0 'a directory for everybody' run kernels.akg square 'x=[1,2,3]'
stdout_is 'y float32[3] = [1, 4, 9]'
stderr_has 'others may write to it [AKG0761]'
assert 'it is not used' [ "$(entries)" = 0 ]
expect 2 'ls of it' cache ls
stderr_has 'others may write to it [AKG0701]'
chmod 700 cache
expect 2 'an unknown action' cache lss
stderr_has "did you mean 'cache ls'?"
expect 2 'no action' cache
expect 2 'too many words' cache ls more

(
    unset AKG_CACHE_DIR
    XDG_CACHE_HOME=$PWD/xdg "$AKGRUN" run kernels.akg square 'x=[1]'
    HOME=$PWD/home "$AKGRUN" run kernels.akg square 'x=[1]'
    HOME=/dev/null XDG_CACHE_HOME=relative "$AKGRUN" run kernels.akg square 'x=[1]'
) >stdout 2>stderr
assert 'a home that cannot have one is not worth a word' [ ! -s stderr ]
assert 'XDG_CACHE_HOME' [ -n "$(find xdg/akg -name '*.entry')" ]
assert '~/.cache' [ -n "$(find home/.cache/akg -name '*.entry')" ]
assert 'a relative XDG_CACHE_HOME does not count' [ ! -e relative ]
AKG_CACHE=off
expect 0 'off' cache ls
stdout_is 'the cache is off'
AKG_CACHE=on

# ---- a full disk ------------------------------------------------------------------------

# full COMMAND...: on a file system of 16 KiB that is full; false where none may be mounted
cat >full.sh <<'SCRIPT'
mkdir -p small && mount -t tmpfs -o size=16k none small 2>/dev/null || exit 99
mkdir -m 700 small/cache && cat /dev/zero >small/fill 2>/dev/null
AKG_CACHE_DIR=$PWD/small/cache "$AKGRUN" run kernels.akg square 'x=[1,2,3]'
find small/cache -type f -size +0
SCRIPT
export AKGRUN
status=0
unshare -rm sh full.sh >stdout 2>stderr || status=$?
if [ $status = 99 ] || ! grep -q float32 stdout; then
    unshare -rm true 2>/dev/null || status=99
fi
if [ $status = 99 ]; then
    echo 'skipped: a full disk: nothing may be mounted here'
else
    judge 0 'a full disk'
    stdout_is 'y float32[3] = [1, 4, 9]'
    stderr_has 'No space left on device [AKG0761]'
fi
finish

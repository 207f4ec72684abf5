#!/bin/sh
# Standard input as the program, standard output that fails, colour, help and version.
. "$(dirname "$0")/functions"
write_square

# feed FILE ARGUMENT...: akgrun with that file on standard input
feed() {
    input=$1
    shift
    ran="$* <$input"
    status=0
    "$AKGRUN" "$@" <"$input" >stdout 2>stderr || status=$?
}

what='a program on standard input'
feed square.akg - 'x=[1,2]'
judge 0 "$what"
stdout_is 'y float32[2] = [1, 4]'
what='run -'
feed square.akg run - square 'x=[1,2]'
judge 0 "$what"
what='check -'
feed square.akg check -
judge 0 "$what"
stdout_has 'square('
what='emit -'
feed square.akg emit - --stage ast
judge 0 "$what"
printf 'def (x):\n' >broken.akg
what='a broken program on standard input'
feed broken.akg - 'x=[1]'
judge 1 "$what"
stderr_has '<stdin>:1:'
what='an empty program'
feed /dev/null - 'x=[1]'
assert 'an empty program is refused' [ "$status" -eq 1 -o "$status" -eq 2 ]
stdout_empty
what='standard input that is closed'
ran='- <&-' status=0
"$AKGRUN" - 'x=[1]' <&- >stdout 2>stderr || status=$?
assert "$what is refused" [ "$status" -eq 1 -o "$status" -eq 2 ]
stdout_empty

for arguments in '--help' '-h' 'run --help' 'check --help' 'emit -h' 'explain --help' 'square.akg --help'; do
    # shellcheck disable=SC2086
    expect 0 "$arguments" $arguments
    stdout_has 'usage: akgrun'
    stderr_empty
done
expect 0 'the version' --version
assert 'the version: one line' grep -Eqx 'akgrun [0-9]+\.[0-9]+\.[0-9]+' stdout
expect 0 'every code' explain
assert 'every code: many lines' [ "$(grep -c '^AKG[0-9][0-9][0-9][0-9]  ' stdout)" -ge 2 ]
expect 0 'a code in full' explain AKG0111
mv stdout page
for code in akg0111 111 0111 syntax Syntax; do
    expect 0 "the code as $code" explain $code
    assert "the code as $code: the same page" cmp -s page stdout
done

if [ -w /dev/full ]; then
    for arguments in 'square.akg x=[1]' 'square.akg x=[1] --json' '--help' '--version' 'explain' 'explain 111' \
        'check square.akg' 'check square.akg --json' 'emit square.akg --stage tokens'; do
        what="a full standard output: $arguments" ran="$arguments >/dev/full" status=0
        : >stdout
        # shellcheck disable=SC2086
        "$AKGRUN" $arguments >/dev/full 2>stderr || status=$?
        judge 2 "$what"
        stderr_has 'cannot write standard output'
    done
fi
what='a closed standard output' ran='square.akg >&-' status=0
: >stdout
"$AKGRUN" square.akg 'x=[1]' >&- 2>stderr || status=$?
judge 2 "$what"

escape=$(printf '\033')
no_escape() {
    ! grep -q "$escape" stdout stderr
}
expect 2 'no colour where there is no terminal' square.akg --frob
assert 'no escape sequence' no_escape
expect 1 'no colour in diagnostics' broken.akg
assert 'no escape sequence' no_escape
# script(1) gives a program a terminal, where it is the one of util-linux
if script -qec true /dev/null >/dev/null 2>&1; then
    terminal() {
        AKGRUN="$AKGRUN" script -qec "$1" /dev/null </dev/null >stdout 2>&1
        : >stderr
    }
    ran='on a terminal'
    terminal 'TERM=xterm "$AKGRUN" broken.akg'
    assert 'colour on a terminal' grep -q "$escape" stdout
    terminal 'TERM=xterm "$AKGRUN" square.akg --frob'
    assert 'colour on a terminal for our own messages' grep -q "$escape" stdout
    terminal 'TERM=xterm NO_COLOR=1 "$AKGRUN" broken.akg'
    assert 'no colour under NO_COLOR' no_escape
    terminal 'TERM=xterm NO_COLOR= "$AKGRUN" broken.akg'
    assert 'an empty NO_COLOR says nothing' grep -q "$escape" stdout
    terminal 'TERM=dumb "$AKGRUN" broken.akg'
    assert 'no colour on a dumb terminal' no_escape
    terminal 'TERM=xterm "$AKGRUN" broken.akg --json'
    assert 'no colour in JSON' no_escape
fi
finish

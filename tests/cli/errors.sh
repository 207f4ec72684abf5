#!/bin/sh
# Broken programs and files that cannot stand in a test of their own (tests/errors), and the pages of all messages.
. "$(dirname "$0")/functions"

copy() {
    printf 'def f(x):\n    y = output_tensor(x.shape, x.dtype)\n    for i in range(len(x)):\n'
    printf '        y[i] = x[i]%s\n    return y\n' "$1"
}
copy '' >copy.akg

# told PLACE CODE: the one message
told() {
    stderr_has "$1: error: "
    stderr_has "[$2]"
    assert "$what: one message" [ "$(grep -c '\[AKG[0-9]*\]$' stderr)" = 1 ]
}

# ---- text ------------------------------------------------------------------------------

copy @ | tr @ '\000' >nul.akg
expect 1 'a NUL byte' check nul.akg
told nul.akg:4:20 AKG0102
copy @ | tr @ '\377' >utf8.akg
expect 1 'a byte that is no UTF-8' check utf8.akg
told utf8.akg:4:20 AKG0103
printf 'def f(x):\n    # \342\202\n    return x + \342\202\n' >cut.akg
expect 1 'half a character' check cut.akg
told cut.akg:3:16 AKG0103
copy '' | sed "s/\$/$(printf '\r')/" >cr.akg
expect 0 'CR LF line ends' check cr.akg
stderr_empty
copy ' $' | sed "s/\$/$(printf '\r')/" >cr.akg
expect 1 'CR LF line ends, an error' check cr.akg
told cr.akg:4:21 AKG0101
{ printf '\357\273\277' && copy ''; } >mark.akg
expect 0 'a byte order mark' check mark.akg
stderr_empty
copy "$(printf ' \302\240')" >space.akg
expect 1 'a no-break space' check space.akg
told space.akg:4:21 AKG0101
copy '' | unexpand -t 4 >tab.akg
expect 0 'indented with tabs alone' check tab.akg
: >none.akg
expect 1 'an empty file' check none.akg
told none.akg:1:1 AKG0225
{ copy '' && head -c 67108864 /dev/zero | tr '\000' '\n'; } >long.akg
expect 1 'a text of more than 64 MiB' check long.akg
stderr_has '[AKG0116]'
rm long.akg
copy ' + 1' | awk 'NR == 4 { for (i = 0; i < 300; i++) s = s "("; sub(/x\[i\]/, s "x[i]") } { print }' >deep.akg
expect 1 'brackets that are nested too deeply' check deep.akg
told deep.akg:4:216 AKG0112
# calls, each of which is deep for itself
awk 'BEGIN {
    for (i = 0; i < 490; i++) sum = sum " + v"
    print "def f0(v):\n    return v + 1.0"
    for (k = 1; k < 60; k++) print "def f" k "(v):\n    return f" k - 1 "(v)" sum
    print "def f(x):\n    y = output_tensor(x.shape, x.dtype)\n    for i in range(x.shape[0]):"
    print "        y[i] = f59(x[i])\n    return y" }' >calls.akg
expect 1 'calls that are nested too deeply together' check calls.akg
stderr_has 'nested too deeply (more than 1800 levels) [AKG0112]'
assert 'it is told once' test "$(grep -c AKG0112 stderr)" = 1
# as many conditions as the table of limits allows
awk 'BEGIN {
    print "def f(x):\n    y = output_tensor(x.shape, x.dtype)\n    for i in range(x.shape[0]):"
    print "        if x[i] == 0.0:\n            y[i] = 0.5"
    for (k = 1; k < 1000; k++) print "        elif x[i] == " k ".0:\n            y[i] = " k ".5"
    print "    return y" }' >conditions.akg
expect 0 'a thousand conditions of one if' run conditions.akg f 'x=[0,3,999,1000]'
stdout_is 'y float32[4] = [0.5, 3.5, 999.5, 0]'
{
    echo 'def f0(v): return v'
    for i in 1 2 3 4 5 6 7; do
        for k in 0 1 2 3 4 5 6 7 8 9; do
            [ $i$k = 10 ] && printf 'def f1(v): return f0(v)\ndef f2(v): return f1(v)\ndef f3(v): return f2(v)\n' &&
                printf 'def f4(v): return f3(v)\ndef f5(v): return f4(v)\ndef f6(v): return f5(v)\n' &&
                printf 'def f7(v): return f6(v)\ndef f8(v): return f7(v)\ndef f9(v): return f8(v)\n'
            echo "def f$i$k(v): return f$((i * 10 + k - 1))(v)"
        done
    done
    copy '' | sed 's/x\[i\]/f79(x[i])/'
} >calls.akg
expect 1 'calls that are nested too deeply' check calls.akg
stderr_has '[AKG0419]'

# ---- order, nothing written ---------------------------------------------------------------

printf 'def f(x):\n    y = output_tensor(x.shape, "flaot")\n    y[0] = zz\n    return y\ndef g(x)\n    return x +\n' >many.akg
expect 1 'messages of several stages are in the order of the text' check many.akg
assert 'in the order of the text' [ "$(sed -n 's/^many.akg:\([0-9]*\):.*/\1/p' stderr | tr '\n' ' ')" = '2 3 5 6 ' ]
expect 1 'the same, as JSON' check many.akg --json
json
assert 'in the order of the text, as JSON' \
    [ "$(grep -o '"line":[0-9]*' stdout | tr -dc '0-9\n' | tr '\n' ' ')" = '2 3 5 6 ' ]
expect 1 'a broken program writes nothing' run many.akg f 'x=[1]' --out made
assert 'a broken program writes nothing' [ ! -e made ]

# ---- array files -----------------------------------------------------------------------------

# array VERSION HEADER BYTES: bad.npy; the header has 118 bytes with its newline
array() {
    { printf '\223NUMPY%b\166\000' "$1" && printf '%-117s\n' "$2" && printf "$3"; } >bad.npy
}
good="{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }"
array '\01\00' "$good" '\0\0\200\077\0\0\0\100'
expect 0 'a sound array' run copy.akg x=bad.npy
stdout_is 'y float32[2] = [1, 2]'
array '\07\00' "$good" '\0\0\200\077\0\0\0\100'
expect 2 'an unknown version' run copy.akg x=bad.npy
stderr_has '[AKG0705]'
array '\01\00' "{'descr': '<f4', 'shape': (2,), }" '\0\0\200\077\0\0\0\100'
expect 2 'a header that lacks a key' run copy.akg x=bad.npy
stderr_has '[AKG0706]'
array '\01\00' "{'descr': '<c8', 'fortran_order': False, 'shape': (1,), }" '\0\0\200\077\0\0\0\100'
expect 2 'complex numbers' run copy.akg x=bad.npy
stderr_has '[AKG0707]'
array '\01\00' "{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1), }" ''
expect 2 'too many axes' run copy.akg x=bad.npy
stderr_has '[AKG0708]'
array '\01\00' "$good" '\0\0\200\077'
expect 2 'a file that ends early' run copy.akg x=bad.npy
stderr_has '[AKG0709]'
echo 'no array at all' >bad.npy
expect 2 'a file of text' run copy.akg x=bad.npy
stderr_has '[AKG0704]'
cp bad.npy bad.npz
expect 2 'no archive' run copy.akg x=bad.npz:a
stderr_has '[AKG0710]'
mkdir folder.npy
expect 2 'a folder' run copy.akg x=folder.npy
stderr_has '[AKG0702]'
expect 2 'no file' run copy.akg x=missing.npy
stderr_has '[AKG0701]'

# ---- pages ---------------------------------------------------------------------------------------

expect 0 'the list of messages' explain
cp stdout list
while read -r code severity name; do
    page=$("$AKGRUN" explain "$code" | head -n 1)
    [ "$page" = "# $code $name" ] || echo "$code ($severity): $page"
done <list >wrong
assert 'each message has its page' [ ! -s wrong ]
assert 'there are at least 120 messages' [ "$(wc -l <list)" -ge 120 ]
finish

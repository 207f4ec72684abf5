#!/bin/sh
# --diagnostics: one document on standard error, whatever happens; -Wno-NAME and -Werror=NAME; the list of messages.
. "$(dirname "$0")/functions"
write_square
cat >warns.akg <<'PROGRAM'
def f(x):
    y = output_tensor(x.shape, x.dtype)
    for i in parallel(1, x.shape[0]):
        x[i] = x[i - 1]
    for i in range(x.shape[0]):
        y[i] = y[i] + x[i]
    return y, x
PROGRAM
printf 'def f(x):\n    y = x\n    while "\303\244\342\202\254" and x = 1:\n        pass\n    return {}\n' >broken.akg

# document WHAT: standard error is one JSON document, where something here can tell
document() {
    command -v python3 >/dev/null 2>&1 || return
    if python3 -c 'import json, sys; json.load(sys.stdin)' <stderr 2>/dev/null; then
        pass "$what: one document"
    else
        fail "$what: not one document"
    fi
}

# sarif CODE...: what standard error tells, in this order, if it is sound
sarif() {
    document
    command -v python3 >/dev/null 2>&1 || return
    if [ "$(python3 "$(dirname "$0")/sarif.py" <stderr 2>&1)" = "$*" ]; then
        pass "$what: sound SARIF"
    else
        python3 "$(dirname "$0")/sarif.py" <stderr >>stdout 2>&1
        fail "$what: not SARIF of $*"
    fi
}

expect 0 'json, nothing to tell' check square.akg --diagnostics=json
stdout_has 'square(x: '
document
expect 0 'json, warnings' run warns.akg 'x=[1,2]' --diagnostics json
stdout_has 'y float32[2] = [1, 1]'
stderr_has '{"diagnostics":[{"severity":"warning","code":"AKG0502"'
document
expect 1 'json, errors' check broken.akg --diagnostics=json
stdout_empty
stderr_has '{"diagnostics":[{"severity":"error"'
document
expect 3 'json, a wrong call after warnings' run warns.akg 'x=[[1]]' --diagnostics=json
stderr_has '"code":"AKG0502"'
stderr_has '"severity":"error"'
document
expect 2 'json, a wrong value after warnings' run warns.akg 'x=' --diagnostics=json
stderr_has '"code":"AKG0502"'
stderr_has '"name":"command-line"'
document
expect 0 'beside --json' check warns.akg --json --diagnostics=json
json
document
stdout_has '"code":"AKG0502"'
stderr_has '"code":"AKG0502"'
expect 0 'text is the default' check warns.akg --diagnostics=text
stderr_has 'warns.akg:3:5: warning: '

expect 0 'sarif, nothing to tell' check square.akg --diagnostics=sarif
sarif
expect 0 'sarif, emit' emit warns.akg --stage ir --diagnostics=sarif
sarif AKG0502 AKG0501
expect 0 'sarif, run' run warns.akg 'x=[1,2]' --diagnostics=sarif
stdout_has 'y float32[2] = [1, 1]'
sarif AKG0502 AKG0501
expect 1 'sarif, errors' check broken.akg --diagnostics=sarif
stderr_has '"startLine":3,"startColumn":22,"endLine":3,"endColumn":23'
stderr_has '"insertedContent":{"text":"=="}'
expect 1 'sarif, warnings as errors' check warns.akg --diagnostics=sarif -Werror=hint-conflict
stderr_has '"ruleId":"AKG0502","ruleIndex":1,"level":"error"'
stderr_has '"ruleId":"AKG0501","ruleIndex":0,"level":"warning"'
sarif AKG0502 AKG0501
expect 2 'sarif, a missing file' check missing.akg --diagnostics=sarif
sarif AKG0903
expect 2 'sarif, a wrong command line' check --frob --diagnostics sarif square.akg
stderr_has "unknown option '--frob'"
sarif
expect 2 'sarif, braces' run square.akg 'x={1}' --diagnostics=sarif
stderr_has '{{1}}'
sarif
cp warns.akg 'a name, 100% odd.akg'
expect 0 'sarif, an odd name' check 'a name, 100% odd.akg' --diagnostics=sarif
stderr_has '"uri":"a%20name%2C%20100%25%20odd.akg"'
expect 0 'sarif, a whole path' check "$PWD/warns.akg" --diagnostics=sarif
stderr_has '"uri":"file:///'
expect 2 'no such form' check square.akg --diagnostics=srif
stderr_has "did you mean 'sarif'?"
expect 2 'explain has no messages' explain --diagnostics=json
stderr_has 'does not take --diagnostics'

expect 0 'silent' check warns.akg -Wno-hint-conflict -Wno-read-before-write
stderr_empty
expect 0 'one is silent' check warns.akg -Wno-hint-conflict
stderr_has AKG0501
assert 'one is silent: it is not told' [ "$(grep -c AKG0502 stderr)" -eq 0 ]
expect 1 'one is an error' check warns.akg -Werror=read-before-write
stderr_has 'error: '
stderr_has 'warning: '
expect 1 'all are errors but the silent one' run warns.akg -Wno-hint-conflict -Werror 'x=[1]'
assert 'all but one: it is not told' [ "$(grep -c AKG0502 stderr)" -eq 0 ]
expect 0 'the later one counts: silent' check warns.akg -Werror=hint-conflict -Wno-hint-conflict
expect 1 'the later one counts: an error' check warns.akg -Wno-hint-conflict -Werror=hint-conflict
expect 3 'silent in a call that fails' run warns.akg -Wno-hint-conflict -Wno-read-before-write 'x=[[1]]'
assert 'silent in a call that fails: no warning' [ "$(grep -c warning: stderr)" -eq 0 ]
expect 3 'told once in a call that fails' run warns.akg 'x=[[1]]'
assert 'told once in a call that fails: each' [ "$(grep -c warning: stderr)" -eq 2 ]
expect 2 'no such warning' check square.akg -Wno-hint-conflcit
stderr_has "'hint-conflcit' is no warning [AKG0904]"
stderr_has "did you mean 'hint-conflict'?"
expect 2 'an error is no warning' check square.akg -Wno-syntax
stderr_has 'an error it stays'
expect 2 'nothing like it' check square.akg -Werror=frobnicate
stderr_has "'akgrun explain' lists the names"
expect 2 'no name' check square.akg -Wno-
expect 2 'emit warns of nothing' emit square.akg --stage ir -Wno-hint-conflict
stderr_has 'does not take -Wno-'

expect 0 'the list of messages' explain
stdout_has 'AKG0201  error    undefined-name'
stdout_has 'AKG0501  warning  read-before-write'
expect 0 'the list of messages as JSON' explain --json
stdout_has '{"code": "AKG0501", "severity": "warning", "name": "read-before-write"}'
json
finish

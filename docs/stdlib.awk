# stdlib.awk: tests/stdlib/operators.def and, behind it, stdlib/*.akg, to docs/stdlib.md (`make docs`): for each file what
# its docstring says, for each operator its signature, docstring, dtypes and the examples above it.

function finish_operator(    i)
{
    if (!name)
        return
    printf "\n### %s\n\n", name
    printf "`%s`\n\n", signature
    gsub(/\n    /, "\n", documentation)
    gsub(/[*]/, "\\*", documentation)
    gsub(/_/, "\\_", documentation)
    printf "%s\n\n", documentation
    printf "Tried with %s, %s; %s.\n", dtypes[name], bound[name] ? "to within " bound[name] : "exact", gradient[name]
    if (examples)
        printf "\n```text\n%s```\n", examples
    name = examples = ""
}

BEGIN {
    words["FLOATS"] = "the floats"
    words["SIGNED"] = "floats and signed integers"
    words["NUMBERS"] = "floats and integers"
    words["BITS"] = "integers and bools"
    words["ALL"] = "all dtypes"
    words["GRADIENT"] = "it has a gradient"
    words["COMPOSED"] = "its gradient is that of its parts"
    words["FLAT"] = "no gradient flows through it"
    words["NONE"] = "no gradient"
    print "# The standard library"
    print ""
    print "Operators written in akg, in `stdlib/`, each with its gradient beside it. They can be called by name from"
    print "every program that does not define that name itself, from C (`akg_registry_find`), and as `std:NAME` by akgrun."
    print "This page is made from their text and from the table of their tests (`make docs`). A bound is in units of the"
    print "dtype's machine epsilon, times the larger of 1 and the magnitude of the result; integers are exact."
}

# OPERATOR(name, dtypes, bound, gradient, cases, timed)
FILENAME ~ /\.def$/ {
    if (sub(/^OPERATOR\(/, "")) {
        split($0, field, /, */)
        dtypes[field[1]] = words[field[2]]
        bound[field[1]] = field[3]
        gradient[field[1]] = words[field[4]]
    }
    next
}

FNR == 1 {
    finish_operator()
    title = FILENAME
    sub(/.*\//, "", title)
    sub(/\.akg$/, "", title)
    printf "\n## %s%s\n\n", toupper(substr(title, 1, 1)), substr(title, 2)
    in_header = 1
}

in_header {
    closes = (FNR == 1 ? /""".*"""/ : /"""/)
    gsub(/"""/, "")
    gsub(/[*]/, "\\*")
    gsub(/[_]/, "\\_")
    if ($0 != "" || !closes)
        print
    if (closes)
        in_header = 0
    next
}

/^#: run / {
    finish_operator()
    sub(/^#: run /, "")
    command = $1
    quoted = "$ akgrun run std:" command
    for (i = 2; i <= NF; i++)
        quoted = quoted ($i ~ /[][()]/ ? " '" $i "'" : " " $i)
    examples = examples quoted "\n"
    next
}

/^#= / {
    examples = examples substr($0, 4) "\n"
    next
}

/^def / {
    finish_operator()
    in_signature = 1
    signature = ""
}

in_signature {
    line = $0
    sub(/^def /, "", line)
    sub(/^ +/, signature ~ /\($/ ? "" : " ", line)
    signature = signature line
    if (line !~ /:$/)
        next
    in_signature = 0
    sub(/:$/, "", signature)
    sub(/,\)$/, ")", signature)
    candidate = signature
    sub(/\(.*/, "", candidate)
    wants_text = candidate in dtypes
    next
}

wants_text {
    text = text (text == "" ? "" : "\n") $0
    if (gsub(/"""/, "\"\"\"", text) < 2)
        next
    sub(/^ *"""/, "", text)
    sub(/\n* *"""$/, "", text)
    documentation = text
    name = candidate
    text = ""
    wants_text = 0
}

END {
    finish_operator()
}

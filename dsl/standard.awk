# standard.awk: stdlib/*.akg, any number of them, to rows FILE("name", "text") and
# OPERATOR("name", number of the file, whether programs may know it) of C, for standard.c.

function finish(    i)
{
    if (!open)
        return
    print ")"
    for (i = 1; i <= count; i++)
        printf "OPERATOR(\"%s\", %d, %s)\n", defined[i], files - 1, public[i]
}

FNR == 1 {
    finish()
    open = 1
    files++
    count = 0
    printf "FILE(\"%s\",\n", FILENAME
}

/^def [A-Za-z_]/ {
    name = $2
    sub(/\(.*/, "", name)
    defined[++count] = name
    public[count] = name ~ /^_/ || gradient ? "false" : "true"
    gradient = 0
}

/^@bprop/ {
    gradient = 1
}

{
    gsub(/[\\"?]/, "\\\\&") # the question mark because of trigraphs
    printf " \"%s\\n\"\n", $0
}

END {
    finish()
}

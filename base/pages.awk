# pages.awk: docs/errors/NAME.md, any number of them, to rows {"NAME", "text"}, of C, for explain.c.

function finish()
{
    if (open)
        print "},"
}

FNR == 1 {
    finish()
    open = 1
    name = FILENAME
    sub(/.*\//, "", name)
    sub(/\.md$/, "", name)
    printf "{\"%s\",\n", name
}

{
    gsub(/[\\"?]/, "\\\\&") # the question mark because of trigraphs
    printf " \"%s\\n\"\n", $0
}

END {
    finish()
}

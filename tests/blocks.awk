# blocks.awk: the fenced blocks of a Markdown page, as files for tests/run.
#
# Writes base "block" N for each block, base "block" N ".line" with the number of its first line, and base "blocks"
# with one line "KIND FILE REST" for each, where KIND and REST are the words behind the fence. A block that is
# marked "output: NAME", behind the fence or as its first line, is written to base "output." NAME instead.

/^```/ && !inside {
    inside = 1
    first = 1
    info = substr($0, 4)
    kind = info
    sub(/ .*/, "", kind)
    rest = substr(info, length(kind) + 2)
    file = "block" ++count
    if (rest ~ /^output: /)
        target = base "output." substr(rest, 9)
    else
        target = base file
    next
}

/^```/ {
    inside = 0
    if (first)
        printf "" > target
    if (target == base file) {
        print (kind == "" ? "none" : kind), file, rest > (base "blocks")
        print line > (target ".line")
    }
    close(target)
    next
}

inside && first {
    first = 0
    line = NR
    if (/^output: /) {
        target = base "output." substr($0, 9)
        printf "" > target
        next
    }
}

inside {
    print > target
}

END {
    printf "" >> (base "blocks")
}

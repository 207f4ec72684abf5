# coverage.awk: what `gcov -n` printed to a table: lines of each source file and how many of them the tests executed;
# then the total of dsl/ and of the analyses of jit/, and the total of all. What flex and bison generate is not counted,
# the actions in lexer.l and parser.y are. A header is counted as in the file that uses most of it.

/^File / {
    file = substr($0, 7, length($0) - 7)
}

/^Lines executed:/ && file ~ /^(base|ir|dsl|jit|runtime|tools)\// {
    split($0, part, /[:% ]+/)
    lines = $NF
    hit = part[3] * lines / 100
    if (lines > count[file])
        count[file] = lines
    if (hit > done[file])
        done[file] = hit
}

/^Lines executed:/ {
    file = ""
}

function row(hit, lines, name)
{
    return sprintf("%6.1f%% of %5d  %s", 100 * hit / lines, lines, name)
}

END {
    front = "^dsl/|^jit/(linear|prover|context|bounds|boxes|initialisation|hints|dependence|integer_system|certificate)[a-z_]*[.]"
    for (file in count) {
        print row(done[file], count[file], file) | "sort -k4"
        all_count += count[file]
        all_done += done[file]
        if (file ~ front) {
            front_count += count[file]
            front_done += done[file]
        }
    }
    close("sort -k4")
    if (!all_count)
        exit 1
    print row(front_done, front_count, "dsl and the analyses of jit")
    print row(all_done, all_count, "in all")
}

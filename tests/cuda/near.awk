# near.awk: whether two outputs of akgrun are the same but for rounding: awk -f near.awk EXPECTED ACTUAL. Lines "name
# dtype[shape] = elements" may differ by so many units of the dtype's machine epsilon, times the larger of 1 and the
# magnitude; all else must be equal. Prints the first difference, and exits with 1.

BEGIN {
    units = 64
    epsilon["float16"] = 2 ^ -10
    epsilon["bfloat16"] = 2 ^ -7
    epsilon["float32"] = 2 ^ -23
    epsilon["float64"] = 2 ^ -52
}

FILENAME == ARGV[1] {
    expected[++count] = $0
    next
}

# Whether two lines agree; dtype[...] stands second in both.
function agree(a, b,    x, y, n, k, dtype, most) {
    if (a == b)
        return 1
    n = split(a, x, /[][, ]+/)
    if (split(b, y, /[][, ]+/) != n || x[2] != y[2] || !(x[2] in epsilon))
        return 0
    for (k = 1; k <= n; k++) {
        if (x[k] == y[k])
            continue
        if (x[k] !~ /^-?[0-9]/ || y[k] !~ /^-?[0-9]/)
            return 0
        most = x[k] < 0 ? -x[k] : x[k] + 0
        if (most < 1)
            most = 1
        if (x[k] - y[k] > units * epsilon[x[2]] * most || y[k] - x[k] > units * epsilon[x[2]] * most)
            return 0
    }
    return 1
}

{
    if (!agree(expected[++lines], $0)) {
        print "expected " expected[lines]
        print "is       " $0
        wrong = 1
        exit
    }
}

END {
    if (!wrong && lines != count) {
        print "expected " count " lines, not " lines + 0
        wrong = 1
    }
    exit wrong
}

# cases.awk: the drivers in the comments of an .akg file, as files for tests/run.
#
#   #: run square x=[1,2,3]          subcommand and arguments of akgrun; the file's name is put after the
#                                    subcommand. Quotes group words; {folder} is the folder of the source
#   #= y float32[3] = [1, 4, 9]      expected standard output, all of it
#   #~ text                          a piece of it, where it is not given whole
#   #? text                          a piece of standard error
#   #! 3                             expected exit status, default 0
#
# A driver's expectations stand below it. `run` is done with each backend unless it names one. Standard output must be
# empty if neither #= nor #~ is given, except that it may be anything where #? is and the status is 0;
# standard error must be empty if the status is 0 and no #? is given. Writes base N.words (quoted for the shell),
# N.status, N.twice, N.stdout, N.pieces and N.stderr for N = 0, 1, ...; wants base, file, folder.

function quoted(word)
{
    gsub(/'/, "'\\''", word)
    return "'" word "'"
}

# The words of a line, split at blanks outside quotes, quoted for the shell; the file goes in after the first.
function words(line,    result, word, started, quote, i, c, count)
{
    gsub(/[{]folder[}]/, folder, line)
    for (i = 1; i <= length(line) + 1; i++) {
        c = i > length(line) ? " " : substr(line, i, 1)
        if (quote != "") {
            if (c == quote)
                quote = ""
            else
                word = word c
        } else if (c == "'" || c == "\"") {
            quote = c
            started = 1
        } else if (c != " " && c != "\t") {
            word = word c
            started = 1
        } else if (started) {
            result = result quoted(word) " "
            if (count++ == 0)
                result = result quoted(file) " "
            word = ""
            started = 0
        }
    }
    return result
}

function finish(    name)
{
    if (number < 0)
        return
    name = base number
    print command > (name ".words")
    print status > (name ".status")
    if (command ~ /^'run' / && command !~ /'--backend/)
        printf "" > (name ".twice")
    if (has_stdout || (!has_pieces && !(has_stderr && status == 0)))
        printf "%s", stdout > (name ".stdout")
    if (has_pieces)
        printf "%s", pieces > (name ".pieces")
    if (has_stderr || status == 0)
        printf "%s", stderr > (name ".stderr")
}

BEGIN {
    number = -1
}

{
    text = substr($0, 4)
}

/^#: / {
    finish()
    number++
    command = words(text)
    status = 0
    stdout = pieces = stderr = ""
    has_stdout = has_pieces = has_stderr = 0
}

/^#=/ {
    has_stdout = 1
    stdout = stdout text "\n"
}

/^#~ / {
    has_pieces = 1
    pieces = pieces text "\n"
}

/^#\? / {
    has_stderr = 1
    stderr = stderr text "\n"
}

/^#! / {
    status = text + 0
}

END {
    finish()
}

# errors.awk: base/messages.def and, behind it, the pages docs/errors/NAME.md, to docs/errors.md (`make docs`): a table
# of all messages by section, then the pages in the order of the table.

function escaped(text)
{
    gsub(/[|]/, "\\|", text)
    return text
}

FNR == 1 {
    page = FILENAME
    sub(/.*\//, "", page)
    sub(/\.md$/, "", page)
}

FILENAME ~ /messages\.def$/ && /^\/\* -- / {
    title = $0
    sub(/^\/\* -- /, "", title)
    sub(/ -*[ ]*\*\/$/, "", title)
    section[++sections] = title
    next
}

# X(ID, NUMBER, SEVERITY, "NAME", "TEXT")
FILENAME ~ /messages\.def$/ && /^X\(/ {
    split($0, field, /, */)
    split($0, quoted, /"/)
    text = $0
    sub(/^[^"]*"[^"]*", "/, "", text)
    sub(/"\)$/, "", text)
    gsub(/%s/, "…", text)
    gsub(/\\\\/, "\\", text)
    name[++count] = quoted[2]
    code[count] = sprintf("AKG%04d", field[2])
    severity[count] = field[3]
    message[count] = text
    within[count] = sections
    next
}

FILENAME ~ /messages\.def$/ {
    next
}

# The title is a heading of the second level here, and names the page for links.
FNR == 1 {
    sub(/^# /, "## ")
}

{
    text_of[page] = text_of[page] $0 "\n"
}

END {
    print "# Messages\n"
    print "<!-- Made by `make docs` from base/messages.def and docs/errors/: change those. -->\n"
    print "Every message of akg, with its page. `akgrun explain CODE` prints the same page; the examples of the pages are run"
    print "by the tests. `…` stands for names, numbers and texts of the program."
    for (i = 1; i <= count; i++) {
        if (within[i] != within[i - 1]) {
            print "\n**" section[within[i]] "**\n"
            print "| code | name | message |"
            print "|---|---|---|"
        }
        printf "| [%s](#%s-%s) | %s | %s%s |\n", code[i], tolower(code[i]), name[i], name[i],
            severity[i] == "warning" ? "warning: " : "", escaped(message[i])
    }
    for (i = 1; i <= count; i++)
        printf "\n%s", text_of[name[i]]
}

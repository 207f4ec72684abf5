# documents.sh: docs/architecture.md names every source file and no other, the documents' links lead somewhere, the
# man page is complete, and the folders include each other in one direction.
. "$ROOT/tests/packaging/check.sh"
cd "$ROOT" || exit

# In docs/architecture.md; headers are meant with their .c file.
names_files()
{
    grep -o '[a-z]*/[a-z0-9_]*\.[a-z]*' docs/architecture.md | sort -u >"$here/named"
    find base ir dsl jit runtime tools -name '*.[cly]' ! -name 'command_*' | sort >"$here/there"
    for file in $(cat "$here/there"); do
        grep -qxF "$file" "$here/named" || { echo "$file is not named" && false; } || return
    done
}

names_nothing_else()
{
    for file in $(grep -E '^(base|ir|dsl|jit|runtime|tools|include)/' "$here/named"); do
        [ -f "$file" ] || { echo "there is no $file" && false; } || return
    done
}

# links FILE: those into the tree
links()
{
    for link in $(grep -o '](\([^)#:]*\)[#)]' "$1" | sed 's/^](//; s/[#)]$//'); do
        [ -e "$(dirname "$1")/$link" ] || { echo "there is no $link" && false; } || return
    done
}

# includes FOLDER ALLOWED: no file of FOLDER includes one of a folder that is not ALLOWED
includes()
{
    ! grep -nE '#include "\.\./' "$1"/*.[chly] | grep -vE "#include \"\.\./($2)/"
}

# made by make docs
generated()
{
    awk -f docs/stdlib.awk tests/stdlib/operators.def stdlib/*.akg >"$here/stdlib.md"
    diff -u docs/stdlib.md "$here/stdlib.md" | head -n 20 >"$here/difference"
    [ ! -s "$here/difference" ] || { cat "$here/difference" && false; }
}

# Every subcommand and option that --help knows
man_page()
{
    sed 's/\\-/-/g' docs/akgrun.1 >"$here/page"
    for subcommand in $(akgrun --help | sed -n 's/^  \([a-z][a-z]*\)  .*/\1/p'); do
        grep -q "^\.B akgrun $subcommand\$" "$here/page" || [ "$subcommand" = run ] ||
            { echo "no $subcommand" && false; } || return
        for option in $(akgrun "$subcommand" --help | sed -n 's/^  \(--*[A-Za-z-]*\).*/\1/p'); do
            grep -q "^\.BI* $option" "$here/page" || grep -q "^\.BR $option" "$here/page" ||
                { echo "no $option of $subcommand" && false; } || return
        done
    done
}

here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
check "docs/stdlib.md is up to date" generated
check "docs/architecture.md names every source file" names_files
check "and none that is not there" names_nothing_else
for page in README.md CONTRIBUTING.md docs/*.md; do
    check "links of $page" links "$page"
done
check "the man page names every subcommand and option" man_page
check "base includes nothing above it" includes base include
check "ir" includes ir 'include|base'
check "dsl" includes dsl 'include|base|ir'
check "jit" includes jit 'include|base|ir|dsl'
check "runtime" includes runtime 'include|base|ir|dsl|jit'
check "tools see the public header only" includes tools include
check_done

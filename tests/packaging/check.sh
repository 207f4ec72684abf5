# check.sh: what a test script needs; sourced. Wants ROOT and BUILD; runs in a directory of its own.
# A failed check prints its name and what the command printed; check_done prints the count.
# shellcheck shell=sh disable=SC1091
set -u
. "$BUILD/settings"
check_passed=0 check_failed=0
check_log=$PWD/check.log # wherever the script goes to

# check NAME COMMAND...: the command succeeds
check()
{
    check_name=$1
    shift
    if "$@" >"$check_log" 2>&1; then
        check_passed=$((check_passed + 1))
    else
        check_failed=$((check_failed + 1))
        echo "failed: $check_name"
        sed 's/^/    /' "$check_log"
    fi
}

# check_status NAME STATUS COMMAND...: the command ends with that exit status
check_status()
{
    check_name=$1 check_wanted=$2
    shift 2
    check "$check_name" ends_with "$check_wanted" "$@"
}

ends_with()
{
    check_wanted=$1
    shift
    "$@"
    check_status=$?
    [ $check_status = "$check_wanted" ] || { echo "exit status $check_status, should be $check_wanted" && false; }
}

refute()
{
    ! "$@"
}

same()
{
    [ "$1" = "$2" ] || { printf 'is     %s\nshould %s\n' "$1" "$2" && false; }
}

check_done()
{
    echo "$check_passed passed, $check_failed failed"
    [ $check_failed = 0 ]
}

# training.sh: the programs of examples/training build against the library and train until their loss is under the
# value that they state.
. "$ROOT/tests/packaging/check.sh"

for program in mlp convnet; do
    check "$program is built" $CC -std=c11 -O1 -Wall -Wextra -Werror -I "$ROOT/include" \
        "$ROOT/examples/training/$program.c" "$BUILD/libakg.a" $LINK_FLAGS $LIBS -lm -o "$program"
    check "$program reaches its loss" sh -c "./$program >$program.out"
    check "$program tells of its losses" grep -q '^loss [0-9.]* after 1 step, [0-9.]* after [0-9]*$' "$program.out"
done
check_done

#!/usr/bin/env bash
# The demo tells right from wrong: green with the extension as it is, red with a build in which ack ignores the claim.
# If this failed, the numbers of `make demo` would prove nothing.
#
# Each build goes into an installation of its own: a copy of the server's programs and files, which the server finds
# by the place of its own binary. Nothing of the machine's installation is touched. PG_CONFIG names the server to copy.
set -euo pipefail
source_tree=$(cd "$(dirname "$0")/../.." && pwd)
pg_config=${PG_CONFIG:-pg_config}
work=$(mktemp -d -p /tmp --suffix=.x_jobs_demo_test)
chmod 755 "$work"
trap 'rm -rf "$work"' EXIT
test=0
failed=0

# ok STATUS NAME LOG: one test result; the log is shown if it failed.
ok() {
    test=$((test + 1))
    if [ "$1" = 0 ]; then
        echo "ok $test - $2"
    else
        failed=$((failed + 1))
        echo "not ok $test - $2"
        tail -n 40 "$3" | sed 's/^/# /'
    fi
}

# install_build NAME [MAKE ARGUMENT...]: builds the tree with these arguments into the installation $work/NAME; with
# any, from the start.
install_build() {
    local name=$1 place built=()
    shift
    [ $# = 0 ] || built=(--exclude='*.o' --exclude='*.so')
    mkdir -p "$work/$name/tree"
    for place in --bindir --pkglibdir --sharedir; do
        place=$("$pg_config" "$place")
        mkdir -p "$work/$name$place"
        cp -a "$place/." "$work/$name$place/"
    done
    rm -rf "$work/$name$("$pg_config" --pkglibdir)"/{bitcode,x_jobs.so}
    tar -C "$source_tree" --exclude=.git "${built[@]}" -cf - . | tar -C "$work/$name/tree" -xf -
    make -C "$work/$name/tree" -j2 PG_CONFIG="$pg_config" "$@"
    make -C "$work/$name/tree" install PG_CONFIG="$pg_config" DESTDIR="$work/$name" "$@"
}

# run_demo NAME: the demo on that installation.
run_demo() {
    env -u MAKEFLAGS -u MAKELEVEL PG_CONFIG="$work/$1$("$pg_config" --bindir)/pg_config" DEMO_INSTALL=no \
        "$work/$1/tree/demo/run"
}

# The last lines of a log that the demo printed say where it kept its files, if it kept them.
clean_up() { sed -n 's/^Logs of the server and of the clients are kept in //p' "$1" | xargs -r rm -rf; }

status=0
install_build right >"$work/build.log" 2>&1 || status=$?
ok "$status" "the extension builds and installs into a place of its own" "$work/build.log"
status=0
run_demo right >"$work/right.log" 2>&1 || status=$?
ok "$status" "C-029 ACK-8 BURY-10 WORK-26: the demo's report is right" "$work/right.log"
clean_up "$work/right.log"

status=0
install_build broken CPPFLAGS=-DX_JOBS_BREAK_FENCE >"$work/build.log" 2>&1 || status=$?
ok "$status" "a build whose ack ignores the claim can be made" "$work/build.log"
status=0
run_demo broken >"$work/broken.log" 2>&1 || status=$?
{ [ "$status" = 1 ] && grep -q '^The report is NOT right' "$work/broken.log"; } && status=0 || status=1
ok "$status" "ACK-2 ACK-8: with that build the demo's report is red" "$work/broken.log"
status=0
grep -Eq '^ *late settles that landed +[1-9].*<-- WRONG' "$work/broken.log" || status=1
ok "$status" "ACK-2 ACK-8: and says that late settles landed" "$work/broken.log"
clean_up "$work/broken.log"

echo "1..$test"
[ "$failed" = 0 ]

#!/usr/bin/env bash
# The least that is a worker: psql, and a command that is run for each job.
#
#   worker.sh QUEUE COMMAND [ARGUMENT...]
#
# psql connects as the PG* variables say (PGDATABASE, PGHOST, ...). The command gets the job's input (JSON) on its
# standard input, and JOB_ID, JOB_NAME and JOB_ATTEMPT in its environment. It ends with 0: the job is done. It ends
# with anything else: the attempt failed, and the end of its error output is recorded. The lease is renewed while it
# runs; a renewal that answers false stops it. After SIGTERM the running command may finish, then the worker ends.
#
# A lost connection is tried again for ever, the first one ten times. A claim that the server refuses (no extension in
# the database, no grant) ends the worker.
set -euo pipefail

[ $# -ge 2 ] || { echo "usage: $0 QUEUE COMMAND [ARGUMENT...]" >&2; exit 2; }
queue=$1
shift
worker="$(hostname):$$:$RANDOM"
lease=30
errors=$(mktemp)
draining=
tries=10
trap 'draining=yes' TERM INT
trap 'rm -f "$errors"' EXIT

# Runs the statement on standard input; its arguments are variables for it (name=value).
query() {
    local variable assignments=(-v "queue=$queue" -v "worker=$worker" -v "lease=$lease s")
    for variable; do assignments+=(-v "$variable"); done
    psql -XAtq -F $'\t' -v ON_ERROR_STOP=1 "${assignments[@]}"
}

stop() {
    echo "$0: $*" >&2
    exit 1
}

# Renews the lease of job $1, claim $2, until it is lost; then stops process $3.
renew() {
    trap 'kill $!; exit' TERM
    while sleep $((lease / 3)) & wait $!; do
        held=$(query "id=$1" "claim=$2" <<<"SELECT x_jobs.heartbeat(:'id', :'worker', :claim, :'lease')") || continue
        [ "$held" = t ] || { kill "$3"; return; }
    done
}

while [ -z "$draining" ]; do
    job=$(query <<<"SELECT id, claim, attempt, name, input
                      FROM x_jobs.claim(ARRAY[:'queue'], :'worker', visibility_timeout => :'lease', wait => '5 s')") || {
        status=$?
        [ -z "$draining" ] || break
        # psql ends with 2 when it has no connection, with 3 when the statement failed.
        [ "$status" = 2 ] || stop "cannot claim, see the message above: is the extension x_jobs missing here," \
            "or the right that x_jobs.grant_worker gives?"
        [ "$tries" != 1 ] || stop "cannot connect: see the messages above"
        [ "$tries" = 0 ] || tries=$((tries - 1))
        sleep 1
        continue
    }
    tries=0
    [ -n "$job" ] || continue
    IFS=$'\t' read -r id claim attempt name input <<<"$job"

    JOB_ID=$id JOB_NAME=$name JOB_ATTEMPT=$attempt "$@" <<<"$input" 2>"$errors" &
    command=$!
    renew "$id" "$claim" "$command" &
    renewing=$!
    status=0
    # A trapped signal ends `wait` early; the command goes on, so wait again until it is gone.
    while wait "$command" && status=0 || status=$?; kill -0 "$command" 2>/dev/null; do :; done
    kill "$renewing" 2>/dev/null || true
    wait "$renewing" 2>/dev/null || true

    if [ "$status" = 0 ]; then
        landed=$(query "id=$id" "claim=$claim" <<<"SELECT x_jobs.ack(:'id', :'worker', :claim)") || landed=unknown
    else
        error=$(tail -c 2000 "$errors" | tr -d '\0')
        landed=$(query "id=$id" "claim=$claim" "error=${error:-status $status}" "code=$status" \
            <<<"SELECT landed FROM x_jobs.fail(:'id', :'worker', :claim, error => :'error', code => :'code')") || landed=unknown
    fi
    echo "$name $id claim=$claim attempt=$attempt status=$status landed=$landed"
done

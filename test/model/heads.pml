/*
 * The protocol between those who make jobs claimable, those who claim, and those who sleep: src/core/heads, src/heads and
 * src/wake, each step as small as another process can see it. If spin finds a way to break the claims at the end, there is
 * an order of events in which a job lies in the table and nobody looks where it stands, or a worker sleeps beside it.
 *
 * Every place holds at most one row here, and a claim takes one. What happens under a lock of shared memory is one step; to
 * read a row and to write it are two. Sets of places are masks.
 *
 * Defined by the run: PRODUCERS, CLAIMERS, WAITERS, LOCKERS, LOOKS (of each claimer). BROKEN_... takes one rule away, and
 * spin must then find the fault: see test/model/run.
 */
#ifndef PRODUCERS
#define PRODUCERS 2
#endif
#ifndef CLAIMERS
#define CLAIMERS 2
#endif
#ifndef WAITERS
#define WAITERS 1
#endif
#ifndef LOCKERS
#define LOCKERS 0
#endif
#ifndef LOOKS
#define LOOKS 1
#endif

#define PLACES PRODUCERS
#define SCANS (CLAIMERS + WAITERS)
#define EVERYWHERE ((1 << PLACES) - 1)
#define NOTHING PLACES

/* The number of the process among those that scan, and among those that wait. */
#define scan (_pid - PRODUCERS)
#define self (_pid - PRODUCERS - CLAIMERS)

/* What the table says of a row. An insert that has not been committed is no row for the others. */
#define ABSENT 0
#define READY 1
#define HELD 2 /* a claim has written it and has not ended, or somebody has locked it */
#define GONE 3

/* What a waiter says of itself. */
#define IDLE 0
#define WAITING 1
#define WOKEN 2

byte row[PLACES];
byte open = EVERYWHERE;

bool scanning[SCANS];
byte meanwhile[SCANS];

byte waiting;
#if WAITERS
byte state[WAITERS];
bool asleep[WAITERS];
#endif

/* Opens a place, and lets the scans know that are on their way. */
inline lower(place) {
    d_step {
        open = open | (1 << place);
        i = 0;
        do
        :: i < SCANS ->
            if
            :: scanning[i] -> meanwhile[i] = meanwhile[i] | (1 << place)
            :: else
            fi;
            i++
        :: else -> break
        od;
        i = 0
    }
}

/* Wakes one who sleeps: first a glance whether there is any, then one after another. */
inline wake() {
#if WAITERS
    if
    :: waiting == 0
    :: else ->
        do
        :: atomic {
            i == WAITERS || state[i] == WAITING ->
            if
            :: i < WAITERS -> state[i] = WOKEN
            :: else
            fi;
            i = 0;
            break
        }
        :: atomic { i < WAITERS && state[i] != WAITING -> i++ }
        od
    fi
#else
    skip
#endif
}

/* What a transaction owes to the others once they can see what it did. */
inline tell(place) {
#ifdef BROKEN_WAKE_BEFORE_LOWERING
    wake();
    lower(place)
#else
    lower(place);
    wake()
#endif
}

/* Closes what the scan went through, for itself and for the others: but for what was opened since it began. */
inline close_covered() {
#ifndef BROKEN_MEANWHILE_FORGOTTEN
    covered = covered & ~meanwhile[scan];
#endif
    open = open & ~covered;
    i = 0;
    do
    :: i < SCANS -> meanwhile[i] = meanwhile[i] & ~covered; i++
    :: else -> break
    od;
    i = 0;
    covered = 0
}

/* Takes a place that is open, so that no two try the same row; then what is open no more is somebody else's. */
inline take(place) {
    d_step {
        if
        :: open & (1 << place) ->
            close_covered();
            covered = 1 << place;
            open = open & ~covered;
            do
            :: i < SCANS -> meanwhile[i] = meanwhile[i] & ~covered; i++
            :: else -> break
            od;
            i = 0;
            covered = 0;
            mine = true
        :: else
        fi
    }
}

/* Gives a place back whose row somebody had who knows nothing of places. */
inline give_back(place) {
#ifdef BROKEN_NOT_GIVEN_BACK
    skip
#else
#ifdef BROKEN_GIVEN_BACK_IN_SILENCE
    open = open | (1 << place)
#else
    lower(place)
#endif
#endif
}

/* One look at the queue: `taken` is the place of what it took, or NOTHING. */
inline look_once() {
    if
    :: open == 0 /* one read, and no scan */
    :: else ->
        d_step {
            look = open;
#ifndef BROKEN_REGISTERED_TOO_LATE
            scanning[scan] = true
#endif
        };
        do
        :: atomic {
            p < PLACES && taken == NOTHING && (look & (1 << p)) ->
            covered = covered | (1 << p);
            found = row[p] == READY || row[p] == HELD
        }
            /* What stands in no open place is another's by now, who opens it again if it comes to nothing. */
            if
            :: found ->
                found = false;
                take(p);
                if
                :: mine ->
                    mine = false;
                    if
                    :: atomic { row[p] == READY -> row[p] = HELD; taken = p }
                    :: atomic { row[p] != READY -> skip }
                        give_back(p)
                    fi
                :: else
                fi
            :: else
            fi;
            p++
        :: atomic { p < PLACES && taken == NOTHING && !(look & (1 << p)) -> p++ }
        :: atomic { (p == PLACES || taken != NOTHING) -> break }
        od;
#ifdef BROKEN_REGISTERED_TOO_LATE
        scanning[scan] = true;
#else
        skip;
#endif
        d_step {
            close_covered();
            meanwhile[scan] = 0;
            scanning[scan] = false;
            look = 0;
            p = 0
        }
    fi
}

/* How the transaction of a claim ends. */
inline end_claim() {
    if
    :: row[taken] = GONE
    :: row[taken] = READY;
#ifndef BROKEN_ABORT_TELLS_NOBODY
        tell(taken)
#endif
    fi;
    taken = NOTHING
}

/* Its row is written already, and is committed; one that is rolled back would be nobody. */
active [PRODUCERS] proctype producer() {
    byte i;
#ifdef BROKEN_LOWERED_BEFORE_VISIBLE
    lower(_pid);
    row[_pid] = READY;
    wake()
#else
    row[_pid] = READY;
    tell(_pid)
#endif
}

#define LOCALS \
    byte i, p, look, covered; \
    byte taken = NOTHING; \
    bool found, mine;

#if CLAIMERS
active [CLAIMERS] proctype claimer() {
    LOCALS
    byte looks;
    do
    :: atomic { looks < LOOKS -> looks++ };
        look_once();
        if
        :: taken != NOTHING -> end_claim()
        :: else
        fi
    :: atomic { looks == LOOKS -> break }
    od
}
#endif

#if WAITERS
/*
 * Sleeps until it got a job; or it is one of those that will be cancelled, asleep, or woken and before it has looked. Only
 * who is never cancelled can be found asleep at the end; where there is but one, it is not.
 */
active [WAITERS] proctype waiter() {
    LOCALS
    bool answering, doomed;
#if WAITERS > 1
    if
    :: doomed = true
    :: skip
    fi;
#endif
#ifdef BROKEN_LOOKS_BEFORE_IT_WAITS
    look_once();
    if
    :: taken != NOTHING -> end_claim(); goto done
    :: else
    fi;
    d_step { state[self] = WAITING; waiting++ };
    goto sleep;
#else
    d_step { state[self] = WAITING; waiting++ };
#endif
again:
    if
    :: look_once();
        answering = false;
        if
        :: taken != NOTHING -> goto leave
        :: else
        fi
    :: doomed -> goto leave
    fi;
sleep:
    asleep[self] = true;
    if
    :: d_step { state[self] == WOKEN -> asleep[self] = false; state[self] = WAITING; answering = true }
        goto again
    :: doomed -> asleep[self] = false
    fi;
leave:
    waiting--;
    d_step {
        answering = answering || state[self] == WOKEN;
        state[self] = IDLE
    };
#ifndef BROKEN_WAKE_NOT_PASSED_ON
    if
    :: answering -> answering = false; wake()
    :: else
    fi;
#endif
    if
    :: taken != NOTHING -> end_claim()
    :: else
    fi;
done:
    skip
}
#endif

#if LOCKERS
/* Somebody who knows nothing of all this locks the first row, and lets it go. */
active [LOCKERS] proctype locker() {
    if
    :: atomic { row[0] == READY -> row[0] = HELD };
        row[0] = READY
    :: skip
    fi
}
#endif

/* When nobody can move any more: what may be claimed stands in an open place, and nobody sleeps beside it. */
active proctype at_the_end() {
    byte p;
    timeout;
    d_step {
        do
        :: p < PLACES ->
            assert(row[p] != READY || (open & (1 << p)));
#if WAITERS && !LOCKERS
            assert(row[p] != READY || !asleep[0]);
#if WAITERS > 1
            assert(row[p] != READY || !asleep[1]);
#endif
#endif
            p++
        :: else -> break
        od
    }
}

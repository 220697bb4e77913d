// See bars.hpp. A bar is counted before the statement looks for other sessions; the server itself
// waits five more seconds for those that it finds.
#include "fleet/bars.hpp"

#include <algorithm>

#include "fleet/registry.hpp"
#include "pg/array.hpp"
#include "pg/compat.hpp"

namespace x_jobs::fleet {

namespace {

constexpr int kMost = 4;

// A few databases that the transaction has to do with; more are not remembered, and cost a look at
// all.
struct Databases {
    std::array<Oid, kMost> oids{};
    int count = 0;

    void add(Oid database) {
        if (count < kMost) {
            oids[static_cast<std::size_t>(count++)] = database;
        }
    }
};

Databases barred;
Databases to_look_at;
bool list_changed = false;
bool scheduler_wanted = false;
// The extension was made here as a restore makes it.
bool restores = false;

bool has_option(const List *options, const char *name) {
    ListCell *cell = nullptr;
    foreach (cell, options) {
        if (std::strcmp(lfirst_node(DefElem, cell)->defname, name) == 0) {
            return true;
        }
    }
    return false;
}

const char *template_of(const CreatedbStmt *statement) {
    ListCell *cell = nullptr;
    foreach (cell, statement->options) {
        DefElem *option = lfirst_node(DefElem, cell);
        if (std::strcmp(option->defname, "template") == 0 && option->arg != nullptr) {
            return defGetString(option);
        }
    }
    return "template1";
}

bool may_create_databases() {
    HeapTuple tuple = SearchSysCache1(AUTHOID, ObjectIdGetDatum(GetUserId()));
    const bool may =
        HeapTupleIsValid(tuple) && reinterpret_cast<Form_pg_authid>(GETSTRUCT(tuple))->rolcreatedb;
    if (HeapTupleIsValid(tuple)) {
        ReleaseSysCache(tuple);
    }
    return superuser() || may;
}

// The scheduler's process once it is gone, and has not been asked for.
struct Leaving {
    bool gone;
    int pid;
};

Leaving leaving(Oid database) {
    return locked(LW_SHARED, [&](const shmem::Fleet &) {
        const DatabaseSlot *slot = slot_of(database);
        const bool gone =
            slot == nullptr || (slot->pid == 0 && slot->state != SchedulerState::starting);
        return Leaving{gone, slot == nullptr ? 0 : slot->pid};
    });
}

// It goes by itself where it is idle; what it is doing is interrupted.
void wait_until_gone(Oid database) {
    constexpr int kTurns = 250;
    constexpr int kPatience = 50;
    for (int turn = 0; turn < kTurns; ++turn) {
        const Leaving scheduler = leaving(database);
        if (scheduler.gone) {
            return;
        }
        if (turn == kPatience && scheduler.pid != 0) {
            kill(scheduler.pid, SIGTERM);
        }
        static_cast<void>(WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, 20,
                                    PG_WAIT_EXTENSION));
        ResetLatch(MyLatch);
        CHECK_FOR_INTERRUPTS();
    }
}

void bar(Oid database) {
    if (!OidIsValid(database) || barred.count == kMost) {
        return;
    }
    barred.add(database);
    locked(LW_EXCLUSIVE, [&](shmem::Fleet &) {
        if (DatabaseSlot *slot = slot_made_for(database)) {
            ++slot->bars;
            slot->look_again = slot->pid != 0;
            set_latch(slot->pid, slot->process);
        }
    });
    wait_until_gone(database);
}

// A role that may not do it must not stop anything by trying.
void bar_named(const char *name) {
    const Oid database = get_database_oid(name, true);
    if (OidIsValid(database) && pg::compat::owns_database(database)) {
        bar(database);
    }
}

bool is_ours(const char *extension) {
    return std::strcmp(extension, "x_jobs") == 0;
}

bool drops_ours(const DropStmt *statement) {
    ListCell *cell = nullptr;
    if (statement->removeType == OBJECT_EXTENSION) {
        foreach (cell, statement->objects) {
            if (is_ours(strVal(lfirst(cell)))) {
                return true;
            }
        }
    }
    return false;
}

bool is_template(Oid database) {
    HeapTuple tuple = SearchSysCache1(DATABASEOID, ObjectIdGetDatum(database));
    const bool is = HeapTupleIsValid(tuple) &&
                    reinterpret_cast<Form_pg_database>(GETSTRUCT(tuple))->datistemplate;
    if (HeapTupleIsValid(tuple)) {
        ReleaseSysCache(tuple);
    }
    return is;
}

void bar_template(const char *name) {
    const Oid database = get_database_oid(name, true);
    if (OidIsValid(database) && may_create_databases() &&
        (is_template(database) || pg::compat::owns_database(database))) {
        bar(database);
    }
}

void bar_for(const Node *statement) {
    switch (nodeTag(statement)) {
        case T_DropdbStmt:
            bar_named(castNode(DropdbStmt, const_cast<Node *>(statement))->dbname);
            list_changed = true;
            break;
        case T_CreatedbStmt:
            bar_template(template_of(castNode(CreatedbStmt, const_cast<Node *>(statement))));
            list_changed = true;
            break;
        case T_RenameStmt: {
            const auto *rename = castNode(RenameStmt, const_cast<Node *>(statement));
            if (rename->renameType == OBJECT_DATABASE) {
                bar_named(rename->subname);
            }
            break;
        }
        case T_AlterDatabaseStmt: {
            const auto *alter = castNode(AlterDatabaseStmt, const_cast<Node *>(statement));
            if (has_option(alter->options, "tablespace")) {
                bar_named(alter->dbname);
            }
            list_changed = true;
            break;
        }
        case T_DropStmt:
            // The drop takes one lock after the other: with a scheduler at work it would be a
            // deadlock. Only a superuser can have made the extension.
            if (superuser() && drops_ours(castNode(DropStmt, const_cast<Node *>(statement)))) {
                bar(MyDatabaseId);
            }
            break;
        default:
            break;
    }
}

void look_for(const Node *statement) {
    switch (nodeTag(statement)) {
        case T_CreateExtensionStmt: {
            const auto *create = castNode(CreateExtensionStmt, const_cast<Node *>(statement));
            if (is_ours(create->extname)) {
                to_look_at.add(MyDatabaseId);
                // The form that pg_dump writes, and hardly anybody else.
                restores = create->if_not_exists && has_option(create->options, "schema") &&
                           !OidIsValid(get_extension_oid("x_jobs", true));
            }
            break;
        }
        case T_AlterExtensionStmt:
            if (is_ours(castNode(AlterExtensionStmt, const_cast<Node *>(statement))->extname)) {
                to_look_at.add(MyDatabaseId);
            }
            break;
        case T_DropStmt:
            if (castNode(DropStmt, const_cast<Node *>(statement))->removeType == OBJECT_EXTENSION) {
                to_look_at.add(MyDatabaseId);
            }
            break;
        case T_DropOwnedStmt:
            to_look_at.add(MyDatabaseId);
            break;
        case T_AlterDatabaseSetStmt:
            to_look_at.add(get_database_oid(
                castNode(AlterDatabaseSetStmt, const_cast<Node *>(statement))->dbname, true));
            break;
        default:
            break;
    }
}

void lift_bars() {
    for (int i = 0; i < barred.count; ++i) {
        const Oid database = barred.oids[static_cast<std::size_t>(i)];
        locked(LW_EXCLUSIVE, [&](shmem::Fleet &fleet) {
            if (DatabaseSlot *slot = slot_of(database); slot != nullptr && slot->bars > 0) {
                --slot->bars;
            }
            set_latch(fleet.launcher_pid, fleet.launcher_process);
        });
    }
    barred.count = 0;
}

void forget() {
    to_look_at.count = 0;
    list_changed = false;
    restores = false;
    scheduler_wanted = false;
}

}  // namespace

void before_statement(const Node *statement) {
    if (shmem::fleet() != nullptr && IsTransactionState()) {
        look_for(statement);
        bar_for(statement);
    }
}

void after_commit() {
    if (barred.count > 0) {
        lift_bars();
    }
    if (list_changed) {
        poke_launcher();
    }
    if (scheduler_wanted) {
        poke_scheduler();
    }
    if (restores) {
        locked(LW_EXCLUSIVE, [](shmem::Fleet &) {
            if (DatabaseSlot *slot = slot_made_for(MyDatabaseId)) {
                slot->restored_by = MyProcPid;
            }
        });
    }
    for (int i = 0; i < to_look_at.count; ++i) {
        look_again(to_look_at.oids[static_cast<std::size_t>(i)]);
    }
    forget();
}

void poke_at_commit() {
    scheduler_wanted = true;
}

void after_prepared_end() {
    look_again(MyDatabaseId);
}

void after_abort() {
    if (barred.count > 0) {
        lift_bars();
    }
    forget();
}

}  // namespace x_jobs::fleet

// The extension's relations by name. What a name stands for is kept until the server says that a
// relation has changed: REINDEX CONCURRENTLY and a new CREATE EXTENSION give it another meaning.
#pragma once

#include <string_view>

#include "pg/postgres.hpp"

namespace x_jobs::store {

// Registers the invalidation callbacks; called once, from _PG_init.
void initialise();

// The schema _x_jobs; raises X_NOT_INSTALLED when it, or what is looked for in it, is missing.
Oid schema();

// The extension's owner, as the owner of the schema.
Oid owner();

Oid relation_named(const char *name);

// An index of one key column and no predicate on the first column, of a leaf whose index names the
// server chose.
Oid id_index_of(Relation leaf);

// Opens a table for writing; raises X_VERSION_MISMATCH unless it has `columns` columns.
Relation open_for_write(const char *name, int columns);

}  // namespace x_jobs::store

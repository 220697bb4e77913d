// The extension's relations by name. Names are looked up at each call through the server's caches,
// never kept: REINDEX CONCURRENTLY and a new CREATE EXTENSION change what they stand for.
#pragma once

#include <string_view>

#include "pg/postgres.hpp"

namespace x_jobs::store {

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

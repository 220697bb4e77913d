// See relations.hpp.
#include "store/relations.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "errors/errors.hpp"

namespace x_jobs::store {

namespace {

struct Known {
    NameData name;
    Oid relation;
};

// As many as there are relations that the library opens by name.
std::array<Known, 64> known;
std::size_t known_count = 0;

void forget_relation(Datum, Oid relation) {
    const auto *end = known.begin() + known_count;
    if (!OidIsValid(relation) || std::any_of(known.cbegin(), end, [&](const Known &one) {
            return one.relation == relation;
        })) {
        known_count = 0;
    }
}

void forget_schema(Datum, int, uint32) {
    known_count = 0;
}

}  // namespace

void initialise() {
    CacheRegisterRelcacheCallback(forget_relation, Datum{0});
    CacheRegisterSyscacheCallback(NAMESPACEOID, forget_schema, Datum{0});
}

Oid schema() {
    const Oid schema = get_namespace_oid("_x_jobs", true);
    if (!OidIsValid(schema)) {
        errors::raise(errors::Code::not_installed);
    }
    return schema;
}

Oid owner() {
    HeapTuple tuple = SearchSysCache1(NAMESPACEOID, ObjectIdGetDatum(schema()));
    if (!HeapTupleIsValid(tuple)) {
        errors::raise(errors::Code::not_installed);
    }
    const Oid owner = (reinterpret_cast<Form_pg_namespace>(GETSTRUCT(tuple)))->nspowner;
    ReleaseSysCache(tuple);
    return owner;
}

Oid relation_named(const char *name) {
    for (std::size_t i = 0; i < known_count; ++i) {
        if (std::strcmp(NameStr(known[i].name), name) == 0) {
            return known[i].relation;
        }
    }
    const Oid relation = get_relname_relid(name, schema());
    if (!OidIsValid(relation)) {
        errors::raise(errors::Code::not_installed);
    }
    if (known_count < known.size()) {
        namestrcpy(&known[known_count].name, name);
        known[known_count].relation = relation;
        ++known_count;
    }
    return relation;
}

Oid id_index_of(Relation leaf) {
    Oid found = InvalidOid;
    List *indexes = RelationGetIndexList(leaf);
    ListCell *cell = nullptr;
    foreach (cell, indexes) {
        Relation index = index_open(lfirst_oid(cell), AccessShareLock);
        const bool on_id = index->rd_index->indnkeyatts == 1 &&
                           index->rd_index->indkey.values[0] == 1 && index->rd_index->indisvalid &&
                           RelationGetIndexPredicate(index) == NIL;
        index_close(index, AccessShareLock);
        if (on_id) {
            found = lfirst_oid(cell);
            break;
        }
    }
    list_free(indexes);
    if (!OidIsValid(found)) {
        errors::raise(errors::Code::version_mismatch, {RelationGetRelationName(leaf)});
    }
    return found;
}

Relation open_for_write(const char *name, int columns) {
    Relation relation = table_open(relation_named(name), RowExclusiveLock);
    if (RelationGetNumberOfAttributes(relation) != columns) {
        errors::raise(errors::Code::version_mismatch, {name});
    }
    return relation;
}

}  // namespace x_jobs::store

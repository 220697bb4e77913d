// See relations.hpp.
#include "store/relations.hpp"

#include "errors/errors.hpp"

namespace x_jobs::store {

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
    const Oid relation = get_relname_relid(name, schema());
    if (!OidIsValid(relation)) {
        errors::raise(errors::Code::not_installed);
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

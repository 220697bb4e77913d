// The fields of a composite value that a caller passed.
#pragma once

#include "errors/errors.hpp"
#include "pg/array.hpp"

namespace x_jobs::arguments {

// Raises X_VERSION_MISMATCH unless the type has `count` fields.
inline pg::Elements fields_of(Datum composite, int count, const char *type_name) {
    HeapTupleHeader header = DatumGetHeapTupleHeader(composite);
    TupleDesc descriptor =
        lookup_rowtype_tupdesc(HeapTupleHeaderGetTypeId(header), HeapTupleHeaderGetTypMod(header));
    if (descriptor->natts != count) {
        errors::raise(errors::Code::version_mismatch, {type_name});
    }
    HeapTupleData tuple;
    tuple.t_len = HeapTupleHeaderGetDatumLength(header);
    ItemPointerSetInvalid(&tuple.t_self);
    tuple.t_tableOid = InvalidOid;
    tuple.t_data = header;
    const auto size = static_cast<std::size_t>(count);
    auto *values = static_cast<Datum *>(palloc(size * sizeof(Datum)));
    auto *nulls = static_cast<bool *>(palloc(size * sizeof(bool)));
    heap_deform_tuple(&tuple, descriptor, values, nulls);
    ReleaseTupleDesc(descriptor);
    return {{values, size}, {nulls, size}};
}

}  // namespace x_jobs::arguments

// Rows as the answer of a SQL function: many, by a tuplestore, or one, as a composite value.
#pragma once

#include <span>

#include "pg/function.hpp"

namespace x_jobs::pg {

// Raises unless the declared type has the columns that this library writes: between an update of
// the extension and the restart that loads its library they may differ.
inline void require_columns(TupleDesc descriptor, std::size_t columns) {
    if (descriptor->natts != static_cast<int>(columns)) {
        ereport(ERROR, errcode(ERRCODE_DATATYPE_MISMATCH),
                errmsg("the library and the installed types of x_jobs differ"),
                errhint("Restart the server if the extension has been updated, or run ALTER "
                        "EXTENSION x_jobs UPDATE."));
    }
}

// What the rows of an answer are made of.
enum class RowShape : bits32 { composite = 0, single_value = MAT_SRF_USE_EXPECTED_DESC };

// Answers rows of the function's declared type. Made once per call, before the first row.
class RowWriter {
   public:
    explicit RowWriter(Call call, RowShape shape = RowShape::composite) : info_(call.info) {
        InitMaterializedSRF(info_, static_cast<bits32>(shape));
    }

    void write(std::span<const NullableValue> columns) {
        auto *result = reinterpret_cast<ReturnSetInfo *>(info_->resultinfo);
        require_columns(result->setDesc, columns.size());
        Datum values[MaxTupleAttributeNumber];
        bool nulls[MaxTupleAttributeNumber];
        for (std::size_t i = 0; i < columns.size(); ++i) {
            values[i] = columns[i].datum;
            nulls[i] = columns[i].is_null;
        }
        tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
    }

   private:
    FunctionCallInfo info_;
};

// Makes one row of the function's declared composite type.
inline Datum make_row(Call call, std::span<const NullableValue> columns) {
    TupleDesc descriptor = nullptr;
    if (get_call_result_type(call.info, nullptr, &descriptor) != TYPEFUNC_COMPOSITE) {
        elog(ERROR, "function returns no composite type");
    }
    require_columns(descriptor, columns.size());
    Datum values[MaxTupleAttributeNumber];
    bool nulls[MaxTupleAttributeNumber];
    for (std::size_t i = 0; i < columns.size(); ++i) {
        values[i] = columns[i].datum;
        nulls[i] = columns[i].is_null;
    }
    return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(descriptor), values, nulls));
}

inline Datum answer_null(Call call) {
    call.info->isnull = true;
    return Datum{0};
}

}  // namespace x_jobs::pg

// Index scan keys in the C collation, in which all text of the extension's indexes is kept; and the
// entries that a scan finds.
#pragma once

#include <cstring>

#include "pg/postgres.hpp"

extern "C" {
#include "access/relscan.h"
#include "access/skey.h"
#include "access/stratnum.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_type.h"
#include "utils/fmgroids.h"
}

namespace x_jobs::pg {

inline ScanKeyData scan_key(AttrNumber attribute, StrategyNumber strategy, RegProcedure procedure,
                            Oid type, Datum value) {
    ScanKeyData key;
    ScanKeyEntryInitialize(&key, 0, attribute, strategy, InvalidOid,
                           type == TEXTOID ? C_COLLATION_OID : InvalidOid, procedure, value);
    return key;
}

inline ScanKeyData key_equal(AttrNumber attribute, RegProcedure procedure, Oid type, Datum value) {
    return scan_key(attribute, BTEqualStrategyNumber, procedure, type, value);
}

// A member of a comparison of rows, by its comparison function; row_from() makes the whole.
inline ScanKeyData row_member(AttrNumber attribute, RegProcedure comparison, Datum value,
                              Oid type = InvalidOid) {
    ScanKeyData key;
    ScanKeyEntryInitialize(&key, SK_ROW_MEMBER, attribute, BTGreaterEqualStrategyNumber, InvalidOid,
                           type == TEXTOID ? C_COLLATION_OID : InvalidOid, comparison, value);
    return key;
}

// (a, b, …) >= the members' values. The members must live as long as the scan.
inline ScanKeyData row_from(ScanKeyData *members, int count) {
    members[count - 1].sk_flags |= SK_ROW_END;
    ScanKeyData key;
    std::memset(&key, 0, sizeof key);
    key.sk_flags = SK_ROW_HEADER;
    key.sk_attno = members[0].sk_attno;
    key.sk_strategy = BTGreaterEqualStrategyNumber;
    key.sk_argument = PointerGetDatum(members);
    return key;
}

// A column, never null, of the index entry that a scan has come to, if it wants the entries.
inline Datum entry_column(IndexScanDesc scan, AttrNumber column) {
    bool is_null = false;
    return index_getattr(scan->xs_itup, column, scan->xs_itupdesc, &is_null);
}

}  // namespace x_jobs::pg

// Index scan keys in the C collation, in which all text of the extension's indexes is kept.
#pragma once

#include "pg/postgres.hpp"

extern "C" {
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

}  // namespace x_jobs::pg

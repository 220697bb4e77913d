// Statements of _x_jobs in a worker's transaction. They run as the owner of the extension, as those
// behind a gate do.
#pragma once

#include <span>

#include "pg/datum.hpp"
#include "store/relations.hpp"
#include "surface/as_role.hpp"

namespace x_jobs::workers {

// Whether the database has the extension; asked inside a transaction.
bool is_installed();

// The same outside of one: what failed because the extension was dropped meanwhile is not worth a
// word.
bool is_installed_still();

// A text argument, or a number.
struct Argument {
    Oid type;
    Datum value;
};
Argument text_argument(const char *value);
Argument number_argument(std::int32_t value);

// Runs the statement and calls `read(tuple, descriptor)` for each row it answers.
template <typename Read>
void run_statement(const char *statement, std::span<const Argument> arguments, Read read) {
    static_cast<void>(surface::as_role(store::owner(), "pg_catalog, pg_temp", [&] {
        Oid types[4];
        Datum values[4];
        for (std::size_t i = 0; i < arguments.size(); ++i) {
            types[i] = arguments[i].type;
            values[i] = arguments[i].value;
        }
        SPI_connect();
        const int outcome = SPI_execute_with_args(statement, static_cast<int>(arguments.size()),
                                                  types, values, nullptr, false, 0);
        if (outcome < 0) {
            elog(ERROR, "a statement of a worker failed: %s", SPI_result_code_string(outcome));
        }
        for (std::uint64_t i = 0; i < SPI_processed && SPI_tuptable != nullptr; ++i) {
            read(SPI_tuptable->vals[i], SPI_tuptable->tupdesc);
        }
        SPI_finish();
        return Datum{0};
    }));
}

// A column of a row; nothing where it is NULL.
template <typename T>
std::optional<T> column(HeapTuple tuple, TupleDesc descriptor, int number) {
    bool is_null = true;
    const Datum value = SPI_getbinval(tuple, descriptor, number, &is_null);
    return is_null ? std::nullopt : std::optional<T>{pg::DatumOf<T>::read(value)};
}

}  // namespace x_jobs::workers

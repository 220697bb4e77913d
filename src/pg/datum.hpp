// Typed values in and out of Datum. One trait per type; nothing here knows about jobs. Values that
// stand for memory of the server (text, jsonb, arrays) are views: they live as long as what they
// were read from.
#pragma once

#include <cstring>
#include <optional>
#include <string_view>

#include "core/values.hpp"
#include "pg/compat.hpp"
#include "pg/postgres.hpp"

namespace x_jobs::pg {

using core::Duration;
using core::Timestamp;
using core::Uuid;

// A jsonb, interval or array that is passed on without being looked into.
struct Jsonb {
    Datum datum;
};
struct IntervalRef {
    Datum datum;
};
struct ArrayRef {
    Datum datum;
};

template <typename T>
struct DatumOf;

template <>
struct DatumOf<bool> {
    static bool read(Datum datum) { return DatumGetBool(datum); }
    static Datum make(bool value) { return BoolGetDatum(value); }
};
template <>
struct DatumOf<std::int16_t> {
    static std::int16_t read(Datum datum) { return DatumGetInt16(datum); }
    static Datum make(std::int16_t value) { return Int16GetDatum(value); }
};
template <>
struct DatumOf<std::int32_t> {
    static std::int32_t read(Datum datum) { return DatumGetInt32(datum); }
    static Datum make(std::int32_t value) { return Int32GetDatum(value); }
};
template <>
struct DatumOf<std::int64_t> {
    static std::int64_t read(Datum datum) { return DatumGetInt64(datum); }
    static Datum make(std::int64_t value) { return Int64GetDatum(value); }
};
template <>
struct DatumOf<double> {
    static double read(Datum datum) { return DatumGetFloat8(datum); }
    static Datum make(double value) { return Float8GetDatum(value); }
};
template <>
struct DatumOf<char> {
    static Datum make(char value) { return CharGetDatum(value); }
};
template <>
struct DatumOf<Timestamp> {
    static Timestamp read(Datum datum) { return Timestamp{DatumGetTimestampTz(datum)}; }
    static Datum make(Timestamp value) { return TimestampTzGetDatum(value.micros); }
};
template <>
struct DatumOf<Uuid> {
    static Uuid read(Datum datum) {
        Uuid id;
        std::memcpy(id.bytes.data(), DatumGetUUIDP(datum)->data, UUID_LEN);
        return id;
    }
    static Datum make(const Uuid &id) {
        auto *copy = static_cast<pg_uuid_t *>(palloc(sizeof(pg_uuid_t)));
        std::memcpy(copy->data, id.bytes.data(), UUID_LEN);
        return UUIDPGetDatum(copy);
    }
};
template <>
struct DatumOf<std::string_view> {
    static std::string_view read(Datum datum) {
        const text *value = DatumGetTextPP(datum);
        return {VARDATA_ANY(value), VARSIZE_ANY_EXHDR(value)};
    }
    static Datum make(std::string_view value) {
        return PointerGetDatum(
            cstring_to_text_with_len(value.data(), static_cast<int>(value.size())));
    }
};
template <>
struct DatumOf<Jsonb> {
    static Jsonb read(Datum datum) { return Jsonb{datum}; }
    static Datum make(Jsonb value) { return value.datum; }
};
template <>
struct DatumOf<IntervalRef> {
    static IntervalRef read(Datum datum) { return IntervalRef{datum}; }
    static Datum make(IntervalRef value) { return value.datum; }
};
template <>
struct DatumOf<ArrayRef> {
    static ArrayRef read(Datum datum) { return ArrayRef{datum}; }
    static Datum make(ArrayRef value) { return value.datum; }
};

// A value that may be SQL NULL, ready for a tuple.
struct NullableValue {
    Datum datum = 0;
    bool is_null = true;
};

template <typename T>
NullableValue to_nullable(const std::optional<T> &value) {
    if (!value) {
        return {};
    }
    return {DatumOf<T>::make(*value), false};
}

}  // namespace x_jobs::pg

// See arguments.hpp.
#include "arguments/arguments.hpp"

#include "clock/clock.hpp"
#include "core/identity.hpp"
#include "errors/errors.hpp"
#include "settings/settings.hpp"

namespace x_jobs::arguments {

namespace {

// 9999-12-31 24:00 UTC: later instants are mistakes, and leave no room for arithmetic.
constexpr core::Timestamp kLatestInstant{INT64CONST(252455616000000000)};

// Makes the sentence of a bound in memory of the call.
std::string_view sentence(const char *format, long long least, long long most) {
    return psprintf(format, least, most);
}

}  // namespace

void raise_missing(std::string_view argument) {
    errors::invariant(argument, "must not be NULL");
}

void raise_missing_element(std::string_view argument) {
    errors::invariant(argument, "must not contain NULL");
}

std::string_view text(std::optional<std::string_view> value, std::string_view argument,
                      std::size_t bytes) {
    const std::string_view given = required(value, argument);
    if (given.empty() || given.size() > bytes) {
        errors::invariant(argument, sentence("must be a text of %lld to %lld bytes", 1,
                                             static_cast<long long>(bytes)));
    }
    return given;
}

std::optional<std::string_view> optional_text(std::optional<std::string_view> value,
                                              std::string_view argument, std::size_t bytes) {
    if (value && value->size() > bytes) {
        errors::invariant(argument, sentence("must be a text of %lld to %lld bytes", 0,
                                             static_cast<long long>(bytes)));
    }
    return value;
}

int count(std::optional<std::int32_t> value, std::string_view argument, int least, int most) {
    const int given = required(value, argument);
    if (given < least || given > most) {
        errors::invariant(argument,
                          sentence("must be a whole number from %lld to %lld", least, most));
    }
    return given;
}

core::Duration duration(std::optional<pg::IntervalRef> value, std::string_view argument,
                        core::Duration most, core::Timestamp base) {
    const std::optional<core::Duration> span =
        clock::span_after(base, required(value, argument), most);
    if (!span || *span < core::Duration::zero()) {
        const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(most).count();
        errors::invariant(argument,
                          sentence("must be an interval from %lld to %lld seconds", 0, seconds));
    }
    return *span;
}

std::optional<core::Duration> optional_duration(std::optional<pg::IntervalRef> value,
                                                std::string_view argument, core::Duration most,
                                                core::Timestamp base) {
    if (!value) {
        return std::nullopt;
    }
    return duration(value, argument, most, base);
}

std::optional<core::Timestamp> optional_instant(std::optional<core::Timestamp> value,
                                                std::string_view argument) {
    if (value && (TIMESTAMP_NOT_FINITE(value->micros) || *value >= kLatestInstant)) {
        errors::invariant(argument, "must be a finite instant before the year 10000");
    }
    return value;
}

pg::Array<std::string_view> names(pg::ArrayRef value, std::string_view argument) {
    pg::Array<std::string_view> result;
    const pg::Elements elements = pg::elements_of(value);
    for (std::size_t i = 0; i < elements.size(); ++i) {
        result.push(text(element(elements.get<std::string_view>(i), argument), argument));
    }
    return result;
}

pg::Jsonb payload(pg::Jsonb value, std::string_view argument) {
    // Measured without reading a stored value; what is given by a client is in memory already.
    const std::size_t size = toast_raw_datum_size(value.datum) - VARHDRSZ;
    if (size > settings::max_input_size()) {
        errors::invariant(
            argument, sentence("must have %lld to %lld bytes as jsonb (x_jobs.max_input_size)", 0,
                               static_cast<long long>(settings::max_input_size())));
    }
    return pg::Jsonb{PointerGetDatum(PG_DETOAST_DATUM_PACKED(value.datum))};
}

std::optional<core::Uuid> optional_id(std::optional<core::Uuid> value, std::string_view argument) {
    if (value && !core::is_uuid7(*value)) {
        errors::raise(errors::Code::id_invalid, {argument});
    }
    return value;
}

}  // namespace x_jobs::arguments

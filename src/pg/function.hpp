// SQL functions from C++ signatures. X_JOBS_SQL_FUNCTION(symbol, function) makes the C entry point:
// each parameter is a std::optional (the argument may be NULL), a pg::Call goes through as it is,
// and the result is void, a value, an optional, or a raw Datum. A frame of an entry point holds
// nothing that a raised error could leak.
#pragma once

#include <optional>
#include <type_traits>
#include <utility>

#include "pg/datum.hpp"

namespace x_jobs::pg {

// The call as the server made it: for functions with many arguments, and for those that answer
// rows.
struct Call {
    FunctionCallInfo info;

    template <typename T>
    std::optional<T> argument(int n) const {
        if (n >= info->nargs || info->args[n].isnull) {
            return std::nullopt;
        }
        return DatumOf<T>::read(info->args[n].value);
    }
};

namespace binding {

template <typename Parameter>
struct Argument;

template <typename T>
struct Argument<std::optional<T>> {
    static_assert(std::is_trivially_destructible_v<std::optional<T>>);
    static std::optional<T> get(Call call, int n) { return call.argument<T>(n); }
};
template <>
struct Argument<Call> {
    static Call get(Call call, int) { return call; }
};

template <typename Result>
Datum answer(Call call, const Result &result) {
    if constexpr (std::is_same_v<Result, Datum>) {
        return result;
    } else {
        static_assert(std::is_trivially_destructible_v<Result>);
        if constexpr (requires { result.has_value(); }) {
            const NullableValue value = to_nullable(result);
            call.info->isnull = value.is_null;
            return value.datum;
        } else {
            return DatumOf<Result>::make(result);
        }
    }
}

template <typename Result, typename... Parameters, std::size_t... N>
Datum call(Result (*function)(Parameters...), Call call, std::index_sequence<N...>) {
    if constexpr (std::is_void_v<Result>) {
        function(Argument<Parameters>::get(call, static_cast<int>(N))...);
        return Datum{0};
    } else {
        return answer<Result>(call,
                              function(Argument<Parameters>::get(call, static_cast<int>(N))...));
    }
}

template <typename Result, typename... Parameters>
Datum call(Result (*function)(Parameters...), Call info) {
    return call(function, info, std::index_sequence_for<Parameters...>{});
}

}  // namespace binding

}  // namespace x_jobs::pg

#define X_JOBS_SQL_FUNCTION(symbol, function)                                    \
    extern "C" {                                                                 \
    PG_FUNCTION_INFO_V1(symbol);                                                 \
    Datum symbol(PG_FUNCTION_ARGS) {                                             \
        return x_jobs::pg::binding::call(&(function), x_jobs::pg::Call{fcinfo}); \
    }                                                                            \
    }

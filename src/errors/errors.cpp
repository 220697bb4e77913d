// See errors.hpp. The texts are templates expanded here, so that one table serves the raise, the
// documentation and the test that prints it.
#include "errors/errors.hpp"

#include <array>
#include <span>

#include "pg/array.hpp"
#include "pg/rows.hpp"
#include "pg/text.hpp"

namespace x_jobs::errors {

namespace {

struct Entry {
    std::string_view name;
    std::string_view sqlstate;
    std::string_view message;
    std::string_view detail;
    std::string_view hint;
};

constexpr std::array kCatalog{
#define X(identifier, name, sqlstate, message, detail, hint) \
    Entry{name, sqlstate, message, detail, hint},
#include "errors/catalog.def"
#undef X
};

using Arguments = std::span<const std::string_view>;

void expand(StringInfo into, std::string_view text, Arguments arguments) {
    for (std::size_t i = 0; i < text.size(); ++i) {
        const bool placeholder = text[i] == '{' && i + 2 < text.size() && text[i + 2] == '}';
        if (!placeholder) {
            appendStringInfoChar(into, text[i]);
            continue;
        }
        const auto n = static_cast<std::size_t>(text[i + 1] - '0');
        if (n < arguments.size()) {
            appendBinaryStringInfo(into, arguments[n].data(),
                                   static_cast<int>(arguments[n].size()));
        }
        i += 2;
    }
}

char *expanded(std::string_view prefix, std::string_view text, Arguments arguments) {
    StringInfoData result;
    initStringInfo(&result);
    appendBinaryStringInfo(&result, prefix.data(), static_cast<int>(prefix.size()));
    expand(&result, text, arguments);
    return result.data;
}

int packed(std::string_view state) {
    return MAKE_SQLSTATE(state[0], state[1], state[2], state[3], state[4]);
}

void report(int level, const Entry &entry, Arguments arguments, std::source_location where) {
    const char *message = expanded("", entry.message, arguments);
    StringInfoData prefix;
    initStringInfo(&prefix);
    appendBinaryStringInfo(&prefix, entry.name.data(), static_cast<int>(entry.name.size()));
    appendStringInfoString(&prefix, ": ");
    const char *detail = expanded(prefix.data, entry.detail, arguments);
    const char *hint = expanded("", entry.hint, arguments);
    if (errstart(level, TEXTDOMAIN)) {
        errcode(packed(entry.sqlstate));
        errmsg_internal("%s", message);
        errdetail_internal("%s", detail);
        errhint("%s", hint);
        errfinish(where.file_name(), static_cast<int>(where.line()), where.function_name());
    }
}

}  // namespace

void raise(Code code, std::initializer_list<std::string_view> arguments,
           std::source_location where) {
    report(ERROR, kCatalog[static_cast<std::size_t>(code)], {arguments.begin(), arguments.size()},
           where);
    pg_unreachable();
}

void invariant(std::string_view argument, std::string_view problem, std::source_location where) {
    raise(Code::invariant, {argument, problem}, where);
}

void permission_denied(std::string_view what, std::string_view hint, std::source_location where) {
    const char *object = pg::to_c_string(what);
    const char *advice = pg::to_c_string(hint);
    if (errstart(ERROR, TEXTDOMAIN)) {
        errcode(ERRCODE_INSUFFICIENT_PRIVILEGE);
        errmsg_internal("permission denied for %s", object);
        errhint("%s", advice);
        errfinish(where.file_name(), static_cast<int>(where.line()), where.function_name());
    }
    pg_unreachable();
}

namespace {

Datum list_catalog(pg::Call call) {
    pg::RowWriter rows(call);
    for (const Entry &entry : kCatalog) {
        const std::array<pg::NullableValue, 5> columns{
            pg::to_nullable(std::optional{entry.name}),
            pg::to_nullable(std::optional{entry.sqlstate}),
            pg::to_nullable(std::optional{entry.message}),
            pg::to_nullable(std::optional{entry.detail}),
            pg::to_nullable(std::optional{entry.hint})};
        rows.write(columns);
    }
    return Datum{0};
}

// For the functions of the install script: the same table, by name.
void raise_by_name(std::optional<std::string_view> name, std::optional<pg::ArrayRef> arguments,
                   std::optional<std::string_view> severity) {
    const pg::Elements given = pg::elements_of(*arguments);
    std::array<std::string_view, 4> texts{};
    const std::size_t count = given.size() < texts.size() ? given.size() : texts.size();
    for (std::size_t i = 0; i < count; ++i) {
        texts[i] = given.get<std::string_view>(i).value_or(std::string_view{});
    }
    for (const Entry &entry : kCatalog) {
        if (entry.name == *name) {
            report(*severity == "warning" ? WARNING : ERROR, entry, {texts.data(), count},
                   std::source_location::current());
            return;
        }
    }
    elog(ERROR, "unknown error name \"%s\"", pg::to_c_string(*name));
}

}  // namespace

X_JOBS_SQL_FUNCTION(x_jobs_error_catalog, list_catalog)
X_JOBS_SQL_FUNCTION(x_jobs_raise, raise_by_name)

}  // namespace x_jobs::errors

// See text.hpp. The server's encoding functions find the character borders.
#include "pg/text.hpp"

#include "pg/postgres.hpp"

namespace x_jobs::pg {

namespace {

constexpr std::string_view kHiddenMark = "[?]";

bool must_be_hidden(char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte < 0x20 && c != '\t' && c != '\n' && c != '\r') || byte == 0x7F;
}

std::string_view without_controls(std::string_view value) {
    std::size_t hidden = 0;
    for (const char c : value) {
        hidden += must_be_hidden(c) ? 1 : 0;
    }
    if (hidden == 0) {
        return value;
    }
    StringInfoData cleaned;
    initStringInfo(&cleaned);
    for (const char c : value) {
        if (must_be_hidden(c)) {
            appendBinaryStringInfo(&cleaned, kHiddenMark.data(),
                                   static_cast<int>(kHiddenMark.size()));
        } else {
            appendStringInfoChar(&cleaned, c);
        }
    }
    return {cleaned.data, static_cast<std::size_t>(cleaned.len)};
}

std::string_view with_mark(std::string_view kept) {
    StringInfoData marked;
    initStringInfo(&marked);
    appendBinaryStringInfo(&marked, kept.data(), static_cast<int>(kept.size()));
    appendBinaryStringInfo(&marked, kCutMark.data(), static_cast<int>(kCutMark.size()));
    return {marked.data, static_cast<std::size_t>(marked.len)};
}

}  // namespace

std::string_view storable(std::string_view value, std::size_t bytes) {
    // Cut first: what is hidden may grow, so the bound is applied again afterwards.
    const std::string_view cleaned = without_controls(value.substr(0, bytes * 2));
    if (cleaned.size() <= bytes && value.size() <= bytes * 2) {
        return cleaned;
    }
    const int kept = pg_mbcliplen(cleaned.data(), static_cast<int>(cleaned.size()),
                                  static_cast<int>(bytes - kCutMark.size()));
    return with_mark(cleaned.substr(0, static_cast<std::size_t>(kept)));
}

std::string_view storable_characters(std::string_view value, int characters) {
    const std::string_view cleaned = without_controls(value);
    if (pg_mbstrlen_with_len(cleaned.data(), static_cast<int>(cleaned.size())) <= characters) {
        return cleaned;
    }
    const int kept = pg_mbcharcliplen(cleaned.data(), static_cast<int>(cleaned.size()),
                                      characters - static_cast<int>(kCutMark.size()));
    return with_mark(cleaned.substr(0, static_cast<std::size_t>(kept)));
}

char *to_c_string(std::string_view value) {
    return pnstrdup(value.data(), value.size());
}

}  // namespace x_jobs::pg

// One item of a field: a value, a star, a range, a step or a mark.
#pragma once

#include "core/cron.hpp"

namespace x_jobs::core::cron {

// Whether a text is this word, in whatever case; the word is given in lower case.
bool is_word(std::string_view text, std::string_view word);

// A text before and behind the first of some characters; all of it is the head if there is none.
struct Cut {
    bool found;
    std::string_view head;
    std::string_view tail;
};
Cut cut(std::string_view text, std::string_view at_any_of);

// Puts what an item says into the schedule, or tells why it says nothing.
Problem add_item(Schedule &schedule, Field field, std::string_view item);

}  // namespace x_jobs::core::cron

// Breaks what .clang-tidy guards: a header that is out, a name in the wrong case, a branch without braces.
#include <string>

int BadName(int value);
int BadName(int value) {
    if (value > 1)
        return 1;
    return 0;
}

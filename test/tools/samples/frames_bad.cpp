// A string that lives across a server call: an error raised by the call would leak it.
#include <string>

extern "C" void *palloc(unsigned long);
extern void use(const std::string &);

void leaks_across_a_call();
void leaks_across_a_call() {
    std::string text(100, 'x');
    palloc(10);
    use(text);
}

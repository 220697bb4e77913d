// A noexcept body that makes a server call: under a spinlock it may not.
extern "C" void *palloc(unsigned long);

void *promises_too_much() noexcept;
void *promises_too_much() noexcept { return palloc(10); }

// A value without a destructor may live across anything.
struct Plain {
    int value;
};

extern "C" void *palloc(unsigned long);

int stays_plain(int value);
int stays_plain(int value) {
    const Plain plain{value};
    palloc(10);
    return plain.value;
}

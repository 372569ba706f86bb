/* Which instructions of x86-64 access memory, as far as their first bytes tell. It decides only what is cheap to leave
   out and where instructions are counted; QEMU tells of the accesses themselves. */
#include "recorder.h"

/* Skips prefixes. `*rex` is the REX prefix, or 0. */
static size_t opcode_at(const uint8_t *b, size_t n, uint8_t *rex, bool *repeats)
{
    size_t i = 0;
    *rex = 0;
    *repeats = false;
    while (i < n && (b[i] == 0x66 || b[i] == 0xf0 || b[i] == 0xf2 || b[i] == 0xf3 || b[i] == 0x64 || b[i] == 0x65)) {
        *repeats |= b[i] == 0xf2 || b[i] == 0xf3;
        i++;
    }
    if (i < n && (b[i] & 0xf0) == 0x40)
        *rex = b[i++];
    return i;
}

/* An access to the top of the stack: push, pop, call, ret, and [rsp + constant]. Such lines are in the core nearly
   always, and no other thread uses them. */
bool decode_is_stack(const uint8_t *b, size_t n)
{
    uint8_t rex;
    bool repeats;
    size_t i = opcode_at(b, n, &rex, &repeats);
    if (i >= n)
        return false;
    uint8_t op = b[i];
    if ((op >= 0x50 && op <= 0x5f) || op == 0x68 || op == 0x6a || op == 0xc3 || op == 0xc9 || op == 0xe8)
        return true;
    /* Opcodes with a ModRM byte and no implied memory. */
    bool long_form = op == 0x0f;
    if (long_form && ++i < n)
        op = b[i];
    bool has_modrm = long_form ? (op & 0xf0) != 0x80 && op != 0x05 && op != 0xa2 && (op & 0xf8) != 0xc8
                               : op < 0x40 ? (op & 7) < 4 : op == 0x63 || op == 0x69 || op == 0x6b || (op >= 0x80 && op <= 0x8f)
                                                            || op == 0xc0 || op == 0xc1 || op == 0xc6 || op == 0xc7
                                                            || (op >= 0xd0 && op <= 0xd3) || op == 0xf6 || op == 0xf7;
    if (!has_modrm || i + 2 >= n)
        return false;
    uint8_t modrm = b[i + 1], sib = b[i + 2];
    return (modrm & 0xc0) != 0xc0 && (modrm & 7) == 4 && sib == 0x24 && !(rex & 1);
}

/* A string instruction that repeats itself (rep movs, rep stos). QEMU runs each repetition as a block; it is one
   instruction of the program all the same. */
bool decode_is_repeated(const uint8_t *b, size_t n)
{
    uint8_t rex;
    bool repeats;
    size_t i = opcode_at(b, n, &rex, &repeats);
    return repeats && i < n && ((b[i] >= 0xa4 && b[i] <= 0xa7) || (b[i] >= 0xaa && b[i] <= 0xaf));
}

/* An instruction that surely makes one access, which is no part of a longer one: loads, stores, comparisons. */
bool decode_is_single(const uint8_t *b, size_t n)
{
    uint8_t rex;
    bool repeats;
    size_t i = opcode_at(b, n, &rex, &repeats);
    if (i + 1 >= n)
        return false;
    uint8_t op = b[i], modrm = b[i + 1];
    bool is_single = op < 0x40 ? (op & 7) == 2 || (op & 7) == 3 || op == 0x38 || op == 0x39
                               : op == 0x63 || op == 0x84 || op == 0x85 || (op >= 0x88 && op <= 0x8b) || op == 0xc6 || op == 0xc7
                                     || (op == 0x83 && (modrm & 0x38) == 0x38) || (op == 0x80 && (modrm & 0x38) == 0x38);
    if (op == 0x0f && i + 2 < n) {
        op = b[i + 1];
        modrm = b[i + 2];
        /* QEMU makes two accesses of one of 16 bytes, so only those to a single number count. */
        bool is_scalar = repeats && (op == 0x10 || op == 0x11 || op == 0x58 || op == 0x59 || op == 0x5c);
        is_single = is_scalar || op == 0xb6 || op == 0xb7 || op == 0xbe || op == 0xbf || op == 0x6e || op == 0xd6;
    }
    return is_single && (modrm & 0xc0) != 0xc0;
}

/* The memory operand of an instruction of x86-64, and the registers that the instruction changes. It decides only which
   reads of a block are known to meet lines that others of the block meet too (access.c). What is not known here has no
   operand, and changes all registers. */
#include "recorder.h"

enum { RSP = 1 << 4, RBP = 1 << 5, RAX = 1, RCX = 1 << 1, RDX = 1 << 2, ALL = 0xffff };

/* What an instruction does with its operands: reads or writes the one that may be memory, changes the other register. */
enum does { READS = 1, WRITES = 2, CHANGES = 4, NO_MEMORY = 8, BYTE = 16, UNKNOWN = 32 };

static unsigned does_short(uint8_t op, unsigned reg)
{
    if (op < 0x40) {
        bool compares = op >= 0x38;
        switch (op & 7) {
        case 0: case 1: return (op & 1 ? 0 : BYTE) | (compares ? READS : WRITES);
        case 2: case 3: return (op & 1 ? 0 : BYTE) | READS | (compares ? 0 : CHANGES);
        default: return UNKNOWN;
        }
    }
    switch (op) {
    case 0x63: case 0x69: case 0x6b: case 0x8b: return READS | CHANGES;
    case 0x8a: return READS | CHANGES | BYTE;
    case 0x8d: return NO_MEMORY | CHANGES;
    case 0x80: return BYTE | (reg == 7 ? READS : WRITES);
    case 0x81: case 0x83: return reg == 7 ? READS : WRITES;
    case 0x84: return READS | BYTE;
    case 0x85: return READS;
    case 0x86: return WRITES | CHANGES | BYTE;
    case 0x87: return WRITES | CHANGES;
    case 0x88: case 0xc0: case 0xc6: case 0xd0: case 0xd2: return WRITES | BYTE;
    case 0x89: case 0xc1: case 0xc7: case 0xd1: case 0xd3: return WRITES;
    case 0xf6: return BYTE | (reg < 2 ? READS : reg < 4 ? WRITES : UNKNOWN);
    case 0xf7: return reg < 2 ? READS : reg < 4 ? WRITES : UNKNOWN;
    case 0xfe: return reg < 2 ? WRITES | BYTE : UNKNOWN;
    case 0xff: return reg < 2 ? WRITES : UNKNOWN;
    default: return UNKNOWN;
    }
}

/* Opcodes that begin with 0f. */
static unsigned does_long(uint8_t op)
{
    if (op >= 0x40 && op <= 0x4f)
        return READS | CHANGES;
    if (op >= 0x90 && op <= 0x9f)
        return WRITES | BYTE;
    if (op >= 0x18 && op <= 0x1f)
        return NO_MEMORY;
    switch (op) {
    case 0xaf: case 0xb6: case 0xb7: case 0xbc: case 0xbd: case 0xbe: case 0xbf: case 0x2c: case 0x2d: return READS | CHANGES;
    case 0x10: case 0x12: case 0x14: case 0x15: case 0x16: case 0x28: case 0x2a: case 0x2e: case 0x2f: case 0x6e: return READS;
    case 0x11: case 0x13: case 0x17: case 0x29: case 0x2b: case 0x7f: case 0xd6: case 0xe7: case 0xc3: return WRITES;
    case 0x50: case 0xc5: case 0xd7: return NO_MEMORY | CHANGES;
    case 0xf7: return UNKNOWN;
    default: return (op >= 0x51 && op <= 0x6f) || (op >= 0x74 && op <= 0x76) || op == 0x70 || op == 0xc2 || op == 0xc6
            || op >= 0xd0 ? READS : UNKNOWN;
    }
}

/* Instructions without a byte for operands: the registers that they change; 0 if it is none of them. */
static unsigned changes_without(uint8_t op, unsigned rex)
{
    unsigned low = 1u << ((op & 7) | (rex & 1) << 3);
    if (op >= 0x50 && op <= 0x57)
        return RSP;
    if (op >= 0x58 && op <= 0x5f)
        return RSP | low;
    if (op >= 0xb8 && op <= 0xbf)
        return low;
    if (op >= 0xb0 && op <= 0xb7)
        return low | low >> 4;
    switch (op) {
    case 0x04: case 0x05: case 0x0c: case 0x0d: case 0x24: case 0x25: case 0x2c: case 0x2d: case 0x34: case 0x35: case 0x98: return RAX;
    case 0x99: return RDX;
    case 0x68: case 0x6a: return RSP;
    case 0xc9: return RSP | RBP;
    default: return 0;
    }
}

/* Instructions that change nothing and have no operand in memory: jumps, comparisons with a constant. */
static bool changes_nothing(uint8_t op) { return (op >= 0x70 && op <= 0x7f) || op == 0x3c || op == 0x3d || op == 0xa8 || op == 0xa9; }

struct operand decode_operand(const uint8_t *b, size_t n)
{
    struct operand none = {.changes = ALL};
    size_t i = 0;
    while (i < n && (b[i] == 0x66 || b[i] == 0xf2 || b[i] == 0xf3))
        i++;
    unsigned rex = i < n && (b[i] & 0xf0) == 0x40 ? b[i++] : 0;
    if (i >= n)
        return none;
    bool is_long = b[i] == 0x0f;
    uint8_t op = b[i++];
    if (is_long) {
        if (i >= n)
            return none;
        op = b[i++];
        if (op >= 0x80 && op <= 0x8f)
            return (struct operand){.changes = 0};
    } else if (changes_nothing(op)) {
        return (struct operand){.changes = 0};
    } else if (changes_without(op, rex)) {
        return (struct operand){.changes = changes_without(op, rex)};
    }
    if (i >= n)
        return none;
    uint8_t modrm = b[i++];
    unsigned reg = (modrm >> 3 & 7) | (rex & 4) << 1, rm = (modrm & 7) | (rex & 1) << 3, mod = modrm >> 6;
    unsigned does = is_long ? does_long(op) : does_short(op, modrm >> 3 & 7);
    if (does & UNKNOWN)
        return none;
    bool exchanges = !is_long && (op == 0x86 || op == 0x87);
    struct operand o = {.writes = (does & WRITES) != 0, .exchanges = exchanges, .base = 255, .index = 255};
    /* Without a prefix four registers of a byte are the upper halves of the first four. */
    unsigned more = does & BYTE ? 4 : 0;
    if (does & CHANGES)
        o.changes |= 1u << reg | (reg >= more ? 1u << (reg - more) : 0);
    /* SSE's own registers are taken for those of the same number, which costs a place and nothing else. */
    if (mod == 3) {
        o.changes |= does & WRITES ? 1u << rm | (rm >= more ? 1u << (rm - more) : 0) : 0;
        return o;
    }
    if (does & NO_MEMORY)
        return o;
    o.is_memory = true;
    o.base = (uint8_t)rm;
    if ((modrm & 7) == 4) {
        if (i >= n)
            return none;
        uint8_t sib = b[i++];
        o.base = (uint8_t)((sib & 7) | (rex & 1) << 3);
        o.index = (uint8_t)((sib >> 3 & 7) | (rex & 2) << 2);
        o.scale = sib >> 6;
        o.index = o.index == 4 ? 255 : o.index;
        if ((sib & 7) == 5 && mod == 0)
            return none;
    } else if ((modrm & 7) == 5 && mod == 0) {
        /* Beside the next instruction: each has a base of its own. */
        o.is_memory = false;
        return o;
    }
    size_t bytes = mod == 1 ? 1 : mod == 2 ? 4 : 0;
    if (i + bytes > n)
        return none;
    for (size_t at = 0; at < bytes; at++)
        o.offset |= (int32_t)((uint32_t)b[i + at] << 8 * at);
    o.offset = bytes == 1 ? (int8_t)o.offset : o.offset;
    return o;
}

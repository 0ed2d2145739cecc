#include "tests/support/amx_emulator.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "tests/support/amx_tiles.h"

/* An instruction of AMX: C4, the rest of the VEX prefix, opcode, ModRM, memory operand. */
struct instruction {
    int prefix; /* 0: none, 1: 66, 2: F3, 3: F2 */
    int opcode;
    bool is_memory;
    int reg, rm, vvvv;
    char *address;
    ptrdiff_t stride; /* of rows: the index register, scaled */
    int n_bytes;
};

/* The first byte of every instruction of AMX, and of those that trap (see trap_next_time). */
enum { THREE_BYTE_VEX = 0xc4, BREAKPOINT = 0xcc };
enum { NONE, P66, PF3, PF2 };
enum { OP_CONFIG = 0x49, OP_MOVE = 0x4b, OP_BF16 = 0x5c, OP_BYTES = 0x5e };

static _Thread_local struct amx_tiles tiles;
static atomic_ulong n_executed;

/* ---- decoding ---- */

static int64_t register_of(const ucontext_t *at, int number)
{
    static const int places[] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP,
                                 REG_RSI, REG_RDI, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                 REG_R12, REG_R13, REG_R14, REG_R15};
    return at->uc_mcontext.gregs[places[number]];
}

/* The displacement at code[i], by ModRM's mod; returns what follows it. */
static int decode_displacement(const uint8_t *code, int i, int n_bytes, int64_t *displacement)
{
    int32_t wide;
    if (n_bytes == 1)
        *displacement = (int8_t)code[i];
    if (n_bytes == 4) {
        memcpy(&wide, code + i, sizeof wide);
        *displacement = wide;
    }
    return i + n_bytes;
}

/* The memory operand of the ModRM byte at code[i]; base and index are the prefix's high bits of
 * their registers' numbers. */
static void decode_memory(struct instruction *in, const uint8_t *code, int i, int base, int index,
                          const ucontext_t *at)
{
    static const int displacement_bytes[] = {0, 1, 4};
    int mod = code[i] >> 6, n_bytes = displacement_bytes[mod];
    bool has_base = true, by_rip = false;
    int64_t displacement = 0, address = 0;
    base |= code[i++] & 7;
    if ((base & 7) == 4) {
        int sib = code[i++];
        base = (base & 8) | (sib & 7);
        index |= sib >> 3 & 7;
        in->stride = index == 4 ? 0 : (ptrdiff_t)(register_of(at, index) * (1 << (sib >> 6)));
        has_base = mod || (base & 7) != 5;
    } else {
        by_rip = !mod && (base & 7) == 5;
    }
    if (!has_base || by_rip)
        n_bytes = 4;
    in->n_bytes = decode_displacement(code, i, n_bytes, &displacement);
    if (by_rip)
        address = (int64_t)(intptr_t)code + in->n_bytes;
    else if (has_base)
        address = register_of(at, base);
    in->address = (char *)(intptr_t)(address + displacement);
}

/* False: none of AMX's. */
static bool decode(struct instruction *in, const uint8_t *code, const ucontext_t *at)
{
    enum { MAP_0F38 = 2, MODRM = 4 };
    if ((code[0] != THREE_BYTE_VEX && code[0] != BREAKPOINT) || (code[1] & 31) != MAP_0F38 ||
        code[2] & 0x84 /* W, L */)
        return false;
    *in = (struct instruction){.prefix = code[2] & 3,
                               .opcode = code[3],
                               .vvvv = ~code[2] >> 3 & 15,
                               .is_memory = code[MODRM] >> 6 != 3,
                               .reg = (code[MODRM] >> 3 & 7) | (code[1] & 0x80 ? 0 : 8),
                               .rm = code[MODRM] & 7,
                               .n_bytes = MODRM + 1};
    if (in->is_memory)
        decode_memory(in, code, MODRM, code[1] & 0x20 ? 0 : 8, code[1] & 0x40 ? 0 : 8, at);
    return in->reg < AMX_TILES && in->vvvv < AMX_TILES;
}

/* ---- executing ---- */

static const char *const unknown = "none of the instructions of AMX that are emulated";

static const char *execute_config(const struct instruction *in)
{
    if (in->is_memory && in->prefix == NONE)
        return amx_configure(&tiles, (const uint8_t *)in->address);
    if (in->is_memory && in->prefix == P66)
        amx_store_config(&tiles, (uint8_t *)in->address);
    else if (!in->is_memory && in->prefix == NONE && !in->reg && !in->rm)
        amx_release(&tiles);
    else if (!in->is_memory && in->prefix == PF2 && !in->rm)
        return amx_zero(&tiles, in->reg);
    else
        return unknown;
    return NULL;
}

static const char *execute_move(const struct instruction *in)
{
    enum { SIB_FOLLOWS = 4 };
    if (!in->is_memory || in->rm != SIB_FOLLOWS)
        return unknown;
    if (in->prefix == PF2 || in->prefix == P66)
        return amx_load(&tiles, in->reg, in->address, in->stride);
    if (in->prefix == PF3)
        return amx_store(&tiles, in->reg, in->address, in->stride);
    return unknown;
}

static const char *execute(const struct instruction *in)
{
    static const enum amx_product of_bytes[] = {
        [NONE] = AMX_UUD, [P66] = AMX_USD, [PF3] = AMX_SUD, [PF2] = AMX_SSD};
    if (in->opcode == OP_CONFIG)
        return execute_config(in);
    if (in->opcode == OP_MOVE)
        return execute_move(in);
    if (in->opcode == OP_BF16 && in->prefix == PF3 && !in->is_memory)
        return amx_multiply(&tiles, AMX_BF16, in->reg, in->rm, in->vvvv);
    if (in->opcode == OP_BYTES && !in->is_memory)
        return amx_multiply(&tiles, of_bytes[in->prefix], in->reg, in->rm, in->vvvv);
    return unknown;
}

static _Noreturn void refuse(const uint8_t *code, const char *problem)
{
    char text[160];
    int n =
        snprintf(text, sizeof text, "illegal instruction %02x %02x %02x %02x %02x %02x at %p: %s\n",
                 code[0], code[1], code[2], code[3], code[4], code[5], (const void *)code, problem);
    if (write(STDERR_FILENO, text, (size_t)n) != n)
        _exit(1);
    abort();
}

/* Hypervisors have themselves called at every illegal instruction, but at no breakpoint: one in the
 * first byte's place costs a quarter. Other threads see the whole of either byte. */
static void trap_next_time(uint8_t *code)
{
    uintptr_t page_bytes = (uintptr_t)sysconf(_SC_PAGESIZE);
    void *page = (void *)((uintptr_t)code & ~(page_bytes - 1));
    if (mprotect(page, page_bytes, PROT_READ | PROT_WRITE | PROT_EXEC) == 0)
        *(volatile uint8_t *)code = BREAKPOINT;
}

/* A signal costs microseconds: those that follow at once are executed with the first. */
static void on_instruction(int signal_number, siginfo_t *info, void *context)
{
    ucontext_t *at = context;
    uint8_t *first = (uint8_t *)(intptr_t)at->uc_mcontext.gregs[REG_RIP];
    const uint8_t *code = signal_number == SIGTRAP ? --first : first;
    struct instruction in;
    unsigned long n = 0;
    (void)info;
    for (; decode(&in, code, at); code += in.n_bytes, n++) {
        const char *problem = execute(&in);
        if (problem)
            refuse(code, problem);
    }
    if (!n)
        refuse(code, unknown);
    if (signal_number == SIGILL)
        trap_next_time(first);
    at->uc_mcontext.gregs[REG_RIP] = (intptr_t)code;
    atomic_fetch_add_explicit(&n_executed, n, memory_order_relaxed);
}

bool amx_emulator_install(void)
{
    struct sigaction action = {.sa_sigaction = on_instruction, .sa_flags = SA_SIGINFO};
    (void)sigemptyset(&action.sa_mask);
    return __builtin_cpu_supports("avx512f") && sigaction(SIGILL, &action, NULL) == 0 &&
           sigaction(SIGTRAP, &action, NULL) == 0;
}

bool amx_emulator_is_configured(void)
{
    return tiles.is_configured;
}

unsigned long amx_emulator_count(void)
{
    return atomic_load_explicit(&n_executed, memory_order_relaxed);
}

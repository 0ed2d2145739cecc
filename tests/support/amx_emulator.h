/* AMX on CPUs without it, for test programs only: a handler of SIGILL that decodes the instruction
 * at fault, executes it on tiles in software just as Intel's manual says, and goes on behind it. So
 * the very machine code of the kernels is tested wherever there is AVX-512. An instruction that was
 * executed once has a breakpoint for its first byte, which is cheaper, and SIGTRAP leads here.
 *
 * Known: LDTILECFG, STTILECFG, TILERELEASE, TILEZERO, TILELOADD, TILELOADDT1, TILESTORED,
 * TDPBF16PS, TDPBSSD, TDPBSUD, TDPBUSD, TDPBUUD. What a CPU would refuse (tiles that are not
 * configured, shapes that do not fit) and every other illegal instruction end the process with a
 * message.
 *
 * Ownership: nothing.
 * Threading: every thread has its own tiles, as on a CPU.
 * Errors:    abort.
 */
#ifndef BATON_TESTS_SUPPORT_AMX_EMULATOR_H
#define BATON_TESTS_SUPPORT_AMX_EMULATOR_H

#include <stdbool.h>

/* False: this CPU lacks the AVX-512 that the emulator computes with. */
bool amx_emulator_install(void);

/* Whether the calling thread's tiles are configured. */
bool amx_emulator_is_configured(void);

/* Instructions executed by all threads. */
unsigned long amx_emulator_count(void);

#endif

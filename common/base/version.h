/* Which Baton this is: the release, and the commit it was built from.
 *
 * Ownership: nothing.
 * Threading: any thread.
 * Errors:    none.
 */
#ifndef BATON_COMMON_BASE_VERSION_H
#define BATON_COMMON_BASE_VERSION_H

/* "0.2.0": the version of the build, CMakeLists.txt's project(). */
extern const char baton_release[];

/* The abbreviated commit, or "unknown": built outside git, or a test. */
extern const char baton_commit[];

/* "baton-load 0.2.0 (abc1234)" and a newline, on stdout. */
void baton_version_print(const char *program);

#endif

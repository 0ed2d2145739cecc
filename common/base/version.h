/* Identifies this build of Baton: the release, and the commit it was built from.
 *
 * Ownership: nothing.
 * Threading: any thread.
 * Errors:    none.
 */
#ifndef BATON_COMMON_BASE_VERSION_H
#define BATON_COMMON_BASE_VERSION_H

/* "0.2.0": the version of the build, from CMakeLists.txt's project(). */
extern const char baton_release[];

/* The abbreviated commit; "unknown" in a test, or when built outside git. */
extern const char baton_commit[];

/* Prints "baton-load 0.2.0 (abc1234)" and a newline. */
void baton_version_print(const char *program);

#endif

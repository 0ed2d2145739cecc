/* Requests to a worker that are begun and given up at arbitrary moments, in arbitrary order, one in
 * a thousand by the loss of their gateway (worker_rig.h). Every few hundred, and in the end, the
 * worker must know whose its blocks are.
 *
 * Ownership: nothing; the test keeps its requests by their place.
 * Threading: the test's thread.
 * Errors:    a fault of the worker's account fails the test.
 */
#ifndef BATON_TESTS_SUPPORT_WORKER_ABORTS_H
#define BATON_TESTS_SUPPORT_WORKER_ABORTS_H

enum { N_ABORTS = 100000, MAX_LIVE = 64 };

struct aborts {
    int n_live; /* places, up to MAX_LIVE */
    void (*begin)(int place);
    void (*end)(int place);
};

/* 0..n - 1: the same numbers in every run. */
int draw(int n);

/* Begins and ends until *n_done is N_ABORTS, or with n_done NULL that many have been ended; then
 * ends all that live. */
void run_aborts(const struct aborts *aborts, const int *n_done);

#endif

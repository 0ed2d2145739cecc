"""Progress of an experiment on stderr: one line rewritten on a terminal, else one per cell."""
import sys
import time


def clock(seconds):
    minutes, seconds = divmod(max(0, round(seconds)), 60)
    return (f"{minutes // 60}:{minutes % 60:02}:{seconds:02}" if minutes >= 60
            else f"{minutes}:{seconds:02}")


class Progress:
    def __init__(self, n_cells, guess_s):
        """guess_s: the expected time of a cell, until the mean of finished ones counts."""
        self.n_cells, self.guess_s, self.n_done, self.spent_s = n_cells, guess_s, 0, 0.0
        self.on_terminal = sys.stderr.isatty()
        self.began_s = time.monotonic()

    def left_s(self):
        each_s = self.spent_s / self.n_done if self.n_done else self.guess_s
        return each_s * (self.n_cells - self.n_done)

    def doing(self, what):
        if self.on_terminal:
            self.say(f"[{self.n_done + 1}/{self.n_cells}] {what} ... {clock(self.left_s())} left",
                     "")

    def done(self, what):
        """Ends the cell that began when the one before ended: starting fleets counts."""
        self.n_done += 1
        self.spent_s = time.monotonic() - self.began_s
        self.say(f"[{self.n_done}/{self.n_cells}] {what}; {clock(self.left_s())} left", "\n")

    def say(self, line, end):
        print(("\r\x1b[K" if self.on_terminal else "") + line, end=end, file=sys.stderr, flush=True)

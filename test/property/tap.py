"""Test results in TAP: `ok N - name`, diagnostics as comments, the plan at the end."""

import sys


class Tap:
    SHOWN = 10  # findings shown for one failed test

    def __init__(self):
        self.run = 0
        self.failed = 0

    def say(self, text):
        for line in str(text).splitlines() or [""]:
            print(f"# {line}", flush=True)

    def ok(self, right, name, findings=()):
        """Counts one test; `findings` say what was wrong."""
        self.run += 1
        self.failed += not right
        print(f"{'ok' if right else 'not ok'} {self.run} - {name}", flush=True)
        if not right:
            for finding in list(findings)[: self.SHOWN]:
                self.say(finding)
            if len(findings) > self.SHOWN:
                self.say(f"... and {len(findings) - self.SHOWN} more")
        return right

    def none(self, findings, name):
        """Passes if there is no finding."""
        findings = list(findings)
        return self.ok(not findings, name, findings)

    def end(self):
        """Prints the plan and leaves with the exit code."""
        print(f"1..{self.run}", flush=True)
        sys.exit(1 if self.failed else 0)

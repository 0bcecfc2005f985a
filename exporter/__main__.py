"""The way into the program, as a command and as `python -m exporter`.

The imports take most of a second, in which a supervisor or a person may want the process gone:
signals are heeded first, with next to nothing imported.
"""

import os
import signal
import sys
from collections.abc import Iterable

_ONE_SHOT = {"check", "once", "bundle", "healthcheck"}
_INTERRUPTED = 130


def run() -> None:
    """Run the command line, and leave at once and quietly where a signal says so.

    A daemon that is told to stop has done well. A command that was to find something out has
    not: it is ended by SIGTERM as by default, and by SIGINT with the code that shells expect.
    """
    if sys.stderr is None:  # closed; what is logged would end up in the next file that is opened
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115, PTH123 - for good, and early
    one_shot = not _ONE_SHOT.isdisjoint(sys.argv[1:])
    if one_shot:
        _leave_on([signal.SIGINT], _INTERRUPTED)
    else:
        _leave_on([signal.SIGTERM, signal.SIGINT], 0)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)  # it is to reload, and there is nothing yet

    if sys.argv[1:2] == ["healthcheck"]:
        from exporter import healthcheck  # noqa: PLC0415 - see above

        sys.exit(healthcheck.main(sys.argv[1:]))

    from exporter.cli import main  # noqa: PLC0415 - the same
    from exporter.threads import all_ended  # noqa: PLC0415 - the same

    code = main()
    _leave_on([signal.SIGTERM, signal.SIGINT], code)
    if not all_ended():  # one that reads an endless answer would be waited for
        os._exit(code)
    sys.exit(code)


def _leave_on(signals: Iterable[signal.Signals], code: int) -> None:
    def leave(*_: object) -> None:
        os._exit(code)

    for number in signals:
        signal.signal(number, leave)


if __name__ == "__main__":
    run()

"""The thresholds that several panels share: each step's lower bound and its colour."""

from boards.states import BAD, GOOD, WARN

ALARMING = ((None, GOOD), (1, BAD))
"""Of what there should be none, and one is a failure."""

DOUBTFUL = ((None, GOOD), (1, WARN))
"""Of what there may be some on purpose."""

AGES = ((None, GOOD), (120, WARN), (300, BAD))
"""Of the age of values in seconds: by default they are polled every 30, and dropped at 300."""

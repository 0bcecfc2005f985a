"""All dashboards, in the order in which one reads them."""

from boards.fabric import FABRIC_BOARD
from boards.fleet import FLEET
from boards.health import HEALTH_BOARD
from boards.node import NODE_BOARD
from boards.runs import RUNS_BOARD

BOARDS = (FLEET, FABRIC_BOARD, NODE_BOARD, RUNS_BOARD, HEALTH_BOARD)

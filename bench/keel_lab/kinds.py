"""The kinds of experiments, by the `kind` of their files."""

from keel_lab.clients import Clients
from keel_lab.compile import Compile
from keel_lab.counts import Counts
from keel_lab.figures import Figures
from keel_lab.load import Capacity, OpenLoop
from keel_lab.micro import Micro
from keel_lab.pairs import Pairs
from keel_lab.stages import Stages
from keel_lab.start import Start
from keel_lab.sustained import Sustained

KINDS = {kind.name: kind() for kind in (Pairs, Micro, Counts, Start, Stages, Sustained, OpenLoop, Capacity, Clients,
                                        Compile, Figures)}
